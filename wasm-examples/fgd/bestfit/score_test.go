package bestfit

import (
	"testing"

	"github.com/berth-scheduler/berth/wasm-examples/fgd/gpushare"
)

// TestScore: values computed by hand, including the floor of a remainder that is not a whole
// percent.
func TestScore(t *testing.T) {
	for _, c := range []struct{ cpu, gpu, want int64 }{
		{0, 0, 100}, {128_000, 8000, 0}, {64_000, 4000, 50}, {0, 8000, 50}, {128_000, 0, 50}, {2560, 0, 99}, {2561, 0, 98},
		{0, 161, 98}, {256_000, 8000, -50}, {256_001, 8000, -51},
	} {
		if got := score(c.cpu, c.gpu); got != c.want {
			t.Errorf("%d milli-CPU and %d milli-GPU remain: %d, want %d", c.cpu, c.gpu, got, c.want)
		}
	}
}

// TestFullest: the GPU with the least left that has enough, the first of equals.
func TestFullest(t *testing.T) {
	n := gpushare.Node{N: 4, Free: [gpushare.Most]int16{1000, 600, 300, 600}}
	for milli, want := range map[int64]int{300: 2, 301: 1, 600: 1, 601: 0, 1000: 0} {
		if got := fullest(&n, milli); got != want {
			t.Errorf("for %d it is GPU %d, want %d", milli, got, want)
		}
	}
}
