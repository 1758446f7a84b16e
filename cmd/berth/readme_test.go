package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadmeTutorial builds the plugin of the README's tutorial from the text and
// schedules the demo cluster through it.
func TestReadmeTutorial(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	// The plugin imports the SDK, so its folder must be in this module.
	dir, err := os.MkdirTemp("testdata", "readme-tutorial-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	write(t, filepath.Join(dir, "manifest.json"), block(t, string(readme), "```json\n"))
	write(t, filepath.Join(dir, "main.go"), block(t, string(readme), "```go\n"))
	module, config := filepath.Join(dir, "quiet.wasm"), filepath.Join(dir, "quiet.json")
	write(t, config, `{"percent": 40}`)

	berth := func(args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if status := run(context.Background(), args, &out, &errs); status != 0 {
			t.Fatalf("berth %q: status %d: %s", args, status, errs.String())
		}
		return out.String()
	}
	berth("plugin", "build", dir, "-o", module)
	if out := berth("plugin", "inspect", module); !strings.Contains(out, "quiet 0.1.0") {
		t.Errorf("inspect does not name the plugin:\n%s", out)
	}
	out := berth("simulate", "--cluster", "demo/cluster", "--module-cache", t.TempDir(), "--plugin", module+"?config="+config)
	if !strings.Contains(strings.Join(strings.Fields(out), " "), "were busy already") {
		t.Errorf("no pod stays pending for the plugin's reason:\n%s", out)
	}
}

// block returns the first fenced block that begins so.
func block(t *testing.T, text, fence string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, fence)
	code, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatalf("README.md has no block %q", fence)
	}
	return code
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
