// Package scenariotest runs scenario files as tests. Only tests import it.
package scenariotest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/internal/golden"
	"github.com/berth-scheduler/berth/internal/scenario"
)

// Test runs the files that match a pattern, each as a subtest. world makes the commands of a
// new world.
func Test(t *testing.T, pattern string, world func(t testing.TB, log *scenario.Log) scenario.Commands) {
	t.Helper()
	for _, path := range Files(t, pattern) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			log := &scenario.Log{}
			golden.Check(t, path, Run(t, path, log, func() scenario.Commands { return world(t, log) }))
		})
	}
}

// Files returns the files that match a pattern. It fails the test if there are none.
func Files(t testing.TB, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no scenarios (%v)", pattern, err)
	}
	return files
}

// Run returns the text of a file with the outputs replaced by what its commands print to log.
// world makes the commands of a new world.
func Run(t testing.TB, path string, log *scenario.Log, world func() scenario.Commands) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out, err := scenario.Play(path, string(text), log, world)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(out)
}
