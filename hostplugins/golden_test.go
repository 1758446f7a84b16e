package hostplugins_test

import (
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/berth-scheduler/berth/internal/golden"
)

// eachScenario runs every file that matches a pattern. run returns the expected text of the
// section named result, ending in a newline.
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
			setResult(archive, run(t, func(name string) []byte { return known[name] }))
			golden.Check(t, file, txtar.Format(archive))
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
