package app

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRestReadmeTutorial makes the plugin of the README's tutorial from the text, tests it and
// schedules the demo cluster through it.
func TestRestReadmeTutorial(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	demo, err := filepath.Abs("../berth/demo/cluster")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	berth := func(args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if status := run(context.Background(), args, &out, &errs); status != 0 {
			t.Fatalf("berth %q: status %d: %s\n%s", args, status, errs.String(), out.String())
		}
		return out.String()
	}
	berth("plugin", "new", "quiet", "--lang", "go")
	write(t, "quiet/manifest.json", block(t, string(readme), "```json\n"))
	write(t, "quiet/quiet.go", block(t, string(readme), "```go\n"))
	write(t, "quiet/testdata/nodes.txt", block(t, string(readme), "```text\n"))
	write(t, "quiet/config.json", `{"percent": 40}`)
	t.Setenv("GOFLAGS", "-mod=mod -trimpath")
	t.Setenv("GOPROXY", "off")
	if out := berth("plugin", "test", "quiet"); !strings.Contains(out, "ok    natively: go test .\n") {
		t.Errorf("the plugin is not tested natively:\n%s", out)
	}
	berth("plugin", "bench", "quiet", "--config", "quiet/config.json", "--nodes", "10", "--time", "5ms")
	berth("plugin", "build", "quiet", "-o", "quiet.wasm")
	if out := berth("plugin", "inspect", "quiet.wasm"); !strings.Contains(out, "quiet 0.1.0") {
		t.Errorf("inspect does not name the plugin:\n%s", out)
	}
	out := berth("simulate", "--cluster", demo, "--plugin", "quiet.wasm?config=quiet/config.json")
	if !strings.Contains(strings.Join(strings.Fields(out), " "), "were already busy") {
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
