package module_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/runtime/module"
)

// TestNotRead: of a file that is larger than its plugin's memory, nothing is read. 20 files of 29 MiB take less than 1 MiB together.
func TestNotRead(t *testing.T) {
	t.Chdir(t.TempDir())
	for i := range 20 {
		if err := os.Truncate(write(t, fmt.Sprintf("m%d.wasm", i), ""), 29<<20); err != nil {
			t.Fatal(err)
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range 20 {
		_, err := module.Load(module.Reference{Path: fmt.Sprintf("m%d.wasm", i), Limits: module.Limits{MemoryTotal: 10 << 20}})
		if text := message(err); !strings.Contains(text, "30408704 bytes, at most 10485760 are allowed") ||
			!strings.Contains(text, "raise limits.memoryTotal") {
			t.Fatal(text)
		}
	}
	if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 1<<20 {
		t.Errorf("%d bytes were allocated", after.TotalAlloc-before.TotalAlloc)
	}
	if _, err := module.Load(module.Reference{Path: "m0.wasm"}); !strings.Contains(message(err), "not a WebAssembly module") {
		t.Errorf("without a limit it is read: %v", err)
	}
	if err := os.Truncate("m1.wasm", 65<<20); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&before)
	_, err := module.Load(module.Reference{Path: "m1.wasm"})
	if runtime.ReadMemStats(&after); err == nil || after.TotalAlloc-before.TotalAlloc > 1<<20 {
		t.Errorf("%v: %d bytes were allocated", err, after.TotalAlloc-before.TotalAlloc)
	}
}
