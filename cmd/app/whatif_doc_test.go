package app

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/berth-scheduler/berth/runtime/whatif"
)

// TestWhatIfDoc: the commands of docs/whatif.md print what the page says, and its question can
// be read.
func TestWhatIfDoc(t *testing.T) {
	doc, err := os.ReadFile("../../docs/whatif.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```\n\n?.*?```\n(.*?)```").FindAllSubmatch(doc, -1)
	if len(blocks) != 4 {
		t.Fatalf("the page has %d commands with what they print", len(blocks))
	}
	for _, b := range blocks {
		// testscript.Main has put a berth into the path.
		sh := exec.CommandContext(t.Context(), "sh", "-c", "set -eu\n"+string(b[1]))
		sh.Dir, sh.Stderr, sh.Env = dir, os.Stderr, append(os.Environ(), "COLUMNS=100")
		out, err := sh.Output()
		if err != nil || string(out) != string(b[2]) {
			t.Errorf("%s\n%v, prints\n%s\nnot\n%s", b[1], err, out, b[2])
		}
	}
	question := regexp.MustCompile("(?s)```json\n(.*?)```").FindSubmatch(doc)
	if question == nil || !json.Valid(question[1]) {
		t.Fatal("the page has no question in JSON")
	}
	if r, err := whatif.Decode(t.Context(), question[1]); err != nil || len(r.Pods)+len(r.AddNodes)+len(r.RemoveNodes) != 3 {
		t.Errorf("%+v, %v", r, err)
	}
}
