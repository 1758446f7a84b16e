package app

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// TestRestRolloutsDoc: the command of docs/rollouts.md prints what the page says.
func TestRestRolloutsDoc(t *testing.T) {
	doc, err := os.ReadFile("../../docs/rollouts.md")
	if err != nil {
		t.Fatal(err)
	}
	b := regexp.MustCompile("(?s)```sh\n(.*?)```\n\n```\n(.*?)```").FindSubmatch(doc)
	if b == nil {
		t.Fatal("the page has no command with what it prints")
	}
	vars, err := compile(t)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	berth, err := exec.LookPath("berth") // testscript.Main has put one into the path
	if err != nil {
		t.Fatal(err)
	}
	for to, from := range map[string]string{
		filepath.Join(bin, "berth"): berth, filepath.Join(bin, "plugins"): vars["MODULES"], filepath.Join(dir, "cmd"): "../../cmd",
	} {
		if from, err = filepath.Abs(from); err == nil {
			err = os.Symlink(from, to)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	sh := exec.CommandContext(t.Context(), "sh", "-c", "set -eu\n"+string(b[1]))
	sh.Dir, sh.Stderr, sh.Env = dir, os.Stderr, append(os.Environ(), "COLUMNS=150")
	out, err := sh.Output()
	if err != nil || string(out) != string(b[2]) {
		t.Errorf("%s\n%v, prints\n%s\nnot\n%s", b[1], err, out, b[2])
	}
}
