package scenariotest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/internal/scenario/scenariotest"
)

// TestFile: a file is run by its path and must exist.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(path, []byte("say a\n----\na\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	scenariotest.Test(t, path, func(_ testing.TB, log *scenario.Log) scenario.Commands {
		return scenario.Commands{"say WORD": func(a scenario.Args) error { log.Printf("%s", a.Name(0)); return nil }}
	})
}
