package tenancy_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/internal/golden"
	"github.com/berth-scheduler/berth/runtime/tenancy"
)

// TestResolve resolves the objects of each file of testdata/resolve, with the images that it
// has and the plugins that its settings (stopped) disable, and compares what becomes of them with the file's result. It also lists for which images
// a registry would have been asked.
func TestResolve(t *testing.T) {
	files, err := filepath.Glob("testdata/resolve/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			archive := txtar.Parse(text)
			file := func(name string) *txtar.File {
				i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == name })
				if i < 0 {
					t.Fatalf("%s has no %s", path, name)
				}
				return &archive.Files[i]
			}
			w := newWorld(t)
			var images []pushed
			if err := yaml.UnmarshalStrict(file("images.yaml").Data, &images); err != nil {
				t.Fatal(err)
			}
			for i := range images {
				w.push(&images[i])
			}
			var stopped tenancy.Stopped
			if slices.ContainsFunc(archive.Files, func(f txtar.File) bool { return f.Name == "stopped" }) {
				if stopped, err = tenancy.ParseStopped(strings.Fields(string(file("stopped").Data))); err != nil {
					t.Fatal(err)
				}
			}
			r := tenancy.Resolve(w.objects(string(file("objects.yaml").Data)), tenancy.Config{
				Load: w.load, Now: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), Taken: []string{"NodeResourcesFit"}, Stopped: stopped,
			})
			got := show(r)
			for _, image := range slices.Sorted(maps.Keys(w.asked)) {
				got += fmt.Sprintf("asked for %s\n", image)
			}
			file("result").Data = []byte(got)
			golden.Check(t, path, txtar.Format(archive))
		})
	}
}
