package app

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRestMigrateDoc: the plugin of docs/migrate.md is built and passes its tests as the page shows.
func TestRestMigrateDoc(t *testing.T) {
	text, err := os.ReadFile("../../docs/migrate.md")
	if err != nil {
		t.Fatal(err)
	}
	block := func(language string) string {
		found := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindSubmatch(text)
		if found == nil {
			t.Fatalf("docs/migrate.md has no block of %q", language)
		}
		return string(found[1])
	}
	dir := t.TempDir()
	command := regexp.MustCompile("`berth (plugin new [^`]*)`").FindSubmatch(text)
	if command == nil {
		t.Fatal("docs/migrate.md does not say how to begin")
	}
	if _, stderr, err := process(t, dir, strings.Fields(string(command[1]))...); err != nil {
		t.Fatal(stderr)
	}
	writeFiles(t, filepath.Join(dir, "pod-state"), map[string]string{
		"manifest.json": block("json"), "pod_state.go": block("go"), "testdata/nodes.txt": block("text"),
	})
	shown := regexp.MustCompile("(?s)```\n\\$ berth ([^\n]*)\n(.*?)```").FindSubmatch(text)
	if shown == nil {
		t.Fatal("docs/migrate.md does not show a test")
	}
	want := string(shown[2])
	stdout, stderr, err := process(t, dir, strings.Fields(string(shown[1]))...)
	numbers := regexp.MustCompile(`\d+(\.\d+)?`)
	if got, want := numbers.ReplaceAllString(stdout, "N"), numbers.ReplaceAllString(want, "N"); err != nil || got != want {
		t.Errorf("it says\n%s%s\nand not\n%s", stdout, stderr, want)
	}
}
