package debughttp_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/debughttp"
	"github.com/berth-scheduler/berth/runtime/report"
)

// TestLargeAttempts: of attempts with very many reasons only the last are kept whole. Their
// total size is bounded, and other attempts are not dropped for them.
func TestLargeAttempts(t *testing.T) {
	const pods = 200
	r := debughttp.NewRecorder(2*pods, nil)
	name := func(row uint32) string { return fmt.Sprint("n", row) }
	attempt := func(pod string, groups int) {
		a := &report.Attempt{Namespace: "ns", Pod: pod, Message: pod}
		for i := range groups {
			a.Rejections = append(a.Rejections, report.Rejection{Reasons: []string{strings.Repeat(pod[:1], 1000) + fmt.Sprint(i)}, Rows: []uint32{uint32(i)}})
		}
		r.Attempted(a, name)
	}
	for round := range 3 {
		for i := range pods {
			attempt(fmt.Sprint("small", i), 2)
			attempt(fmt.Sprint("large", i), 400)
		}
		size := 0
		for i := range pods {
			for _, kind := range []string{"small", "large"} {
				last, ok := r.Last(types.NamespacedName{Namespace: "ns", Name: fmt.Sprint(kind, i)})
				if !ok {
					t.Fatalf("round %d: %s%d is forgotten", round, kind, i)
				}
				size += last.Attempt.Size()
				if kind == "small" && len(last.Attempt.Rejections) != 2 || i == pods-1 && kind == "large" && len(last.Attempt.Rejections) != 400 {
					t.Errorf("round %d: %s%d has %d groups", round, kind, i, len(last.Attempt.Rejections))
				}
			}
		}
		if most := 16<<20 + 2*pods*6<<10; size > most {
			t.Errorf("round %d: %d attempts of %d bytes, at most %d", round, 2*pods, size, most)
		}
	}
	attempt("giant", 20_000)
	last, _ := r.Last(types.NamespacedName{Namespace: "ns", Name: "giant"})
	if n := last.Attempt.Size(); n > 1<<20 || len(last.Attempt.Rejections) < 500 {
		t.Errorf("one attempt of %d bytes, %d groups", n, len(last.Attempt.Rejections))
	}
}
