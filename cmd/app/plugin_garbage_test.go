package app

import (
	"path/filepath"
	"testing"
)

// TestRestGarbage: a plugin in Go that makes garbage in each call stays within its memory for as long as an instance lives. It
// did not while calls returned to the host before the worker of the garbage collector had a turn.
func TestRestGarbage(t *testing.T) {
	const at = "everypoint.berth.dev/"
	dir, module := filepath.Join("..", "..", "wasm-examples", "internal", "everypoint"), filepath.Join(t.TempDir(), "everypoint.wasm")
	for _, args := range [][]string{
		{"build", dir, "--manifest=" + filepath.Join(dir, "manifest.json"), "-o", module},
		{
			"conformance", module, "--cycles=8", "--hint=" + at + "pre-filter=set k {sight}", "--hint=" + at + "filter=* success",
			"--hint=" + at + "score=* 7",
			"--hint=" + at + "reserve=annotate " + at + "seen {sight}", "--hint=" + at + "permit=wait 5s",
			"--hint=" + at + "pre-bind=annotate " + at + "seen {state:k}",
		},
	} {
		if stdout, stderr, err := pluginCommand(t, args...); err != nil {
			t.Fatalf("%s: %v\n%s\n%s", args[0], err, stdout, stderr)
		}
	}
}
