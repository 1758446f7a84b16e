package input

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestPathBesideLongKeys: to say where a mistake is, only the path to it is written, not those of
// its neighbours.
func TestPathBesideLongKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	text := "apiVersion: v1\nkind: Node\nmetadata:\n  name: a\n  annotations:\n    ? " + strings.Repeat("k", 100_000) + "\n    : [" + strings.Repeat("x,", 20_000) + "]\n  labels: {a: b, a: c}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := LoadCluster(context.Background(), []string{path}, false)
	runtime.ReadMemStats(&after)
	if err == nil || !strings.Contains(err.Error(), "metadata.labels.a: ") {
		t.Errorf("%.200v", err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 128<<20 {
		t.Errorf("%d bytes allocated for %d", used, len(text))
	}
}
