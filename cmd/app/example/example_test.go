package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// top is the repository, in which the commands of the documentation are run.
const top = "../../.."

// TestLibrary runs the commands of docs/library.md as they are written. What they print is what the page shows, with
// the effects of the plugin that is compiled in and of the module beside it; the program and the configuration are
// those of the page.
func TestLibrary(t *testing.T) {
	page := read(t, top+"/docs/library.md")
	for _, file := range []string{"main.go", "scheduler.yaml"} {
		if !strings.Contains(page, "\n```"+file[strings.Index(file, ".")+1:]+"\n"+read(t, file)+"```\n") {
			t.Errorf("docs/library.md does not have %s as it is", file)
		}
	}
	blocks := regexp.MustCompile("(?s)\n```sh\n(.*?)```\n").FindAllStringSubmatch(page, -1)
	if len(blocks) != 2 {
		t.Fatalf("docs/library.md has %d blocks of commands", len(blocks))
	}
	t.Setenv("GOCACHE", goCache(t))
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // so that the module is compiled
	var out string
	for _, b := range blocks {
		command := exec.Command("bash", "-euo", "pipefail", "-c", b[1])
		command.Dir = top
		text, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%s%v\n%s", b[1], err, text)
		}
		out = string(text)
	}
	_, shown, _ := strings.Cut(page, "say why:\n\n```text\n")
	shown, _, _ = strings.Cut(shown, "```")
	for _, want := range []string{shown, "scheduler.yaml can be used: 1 profile", "\nPlaced 4 of 5 pods on 3 nodes", "\nAppSpread ", "\ntenant-pool "} {
		if want == "" || !strings.Contains(out, want) {
			t.Errorf("the commands print\n%s\nwithout\n%s", out, want)
		}
	}
}

// goCache is where Go keeps what it has built.
func goCache(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
