package child_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// executable counts the pages of this process that have native code.
func executable(t *testing.T) (pages uint64) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var from, to uint64
		if strings.Contains(line, " r-xp ") {
			if _, err := fmt.Sscanf(line, "%x-%x", &from, &to); err != nil {
				t.Fatal(err)
			}
			pages += (to - from) / 4096
		}
	}
	return pages
}

// TestCodeIsFreed: the native code of a closed module leaves memory, however many come and go.
func TestCodeIsFreed(t *testing.T) {
	r, err := sandbox.NewRuntime(sandbox.RuntimeConfig{CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	before := executable(t)
	const modules = 100
	for n := range modules {
		m, err := r.Load(t.Context(), numbered(t, n))
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	left := uint64(0)
	for range 1000 { // wazero frees it in finalizers
		runtime.GC()
		if left = max(before, executable(t)) - before; left < modules {
			break
		}
	}
	if left >= modules {
		t.Errorf("%d pages of code are left of %d modules", left, modules)
	}
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
