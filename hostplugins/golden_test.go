package hostplugins_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"
)

// rewrite is the flag of runtime/internal/golden, which only packages below
// runtime/ may import.
var rewrite = flag.Bool("rewrite", false, "write the expected output of scenario files instead of comparing with it")

// eachScenario runs every file of a pattern. run returns what the section named
// result has to be, its last line ended.
func eachScenario(t *testing.T, pattern string, run func(t *testing.T, section func(string) []byte) string) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no scenario files (%v)", pattern, err)
	}
	for _, file := range files {
		t.Run(filepath.ToSlash(file), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			known := map[string][]byte{}
			for _, f := range archive.Files {
				known[f.Name] = f.Data
			}
			got := run(t, func(name string) []byte { return known[name] })
			if *rewrite {
				setResult(archive, got)
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if want := known["result"]; !bytes.Equal(want, []byte(got)) {
				t.Errorf("run the test with -rewrite if the new text is right\nwant:\n%s\ngot:\n%s", want, got)
			}
		})
	}
}

func setResult(archive *txtar.Archive, text string) {
	for i := range archive.Files {
		if archive.Files[i].Name == "result" {
			archive.Files[i].Data = []byte(text)
			return
		}
	}
	archive.Files = append(archive.Files, txtar.File{Name: "result", Data: []byte(text)})
}
