package module_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/golden"
	"github.com/berth-scheduler/berth/runtime/internal/wat"
)

const vectors = "../../abi/vectors"

// TestVectors: this host gives the expected results in abi/vectors. -rewrite writes them, and
// assembles abi/vectors/modules/*.wat.
func TestVectors(t *testing.T) {
	t.Run("manifests", func(t *testing.T) {
		rewriteVectors(t, "manifests.json", func(v *manifestVector) {
			v.Canonical, v.Errors = "", nil
			m, err := wire.DecodeManifest([]byte(v.Manifest))
			if err == nil {
				err = m.Validate()
			}
			if err == nil {
				v.Canonical = string(wire.EncodeManifest(m))
			}
			v.Errors = mistakes(err)
		})
	})
	t.Run("modules", func(t *testing.T) {
		seen := map[string]bool{}
		rewriteVectors(t, "modules.json", func(v *moduleVector) {
			source := filepath.Join(vectors, "modules", v.Name+".wat")
			seen[source] = true
			data := wat.Compile(t, source, "")
			m, err := wire.ReadModule(data)
			if err != nil {
				t.Fatalf("%s: %v", v.Name, err)
			}
			man, err := wire.DecodeManifest(v.Manifest)
			if err == nil {
				err = man.Validate()
			}
			if err != nil {
				t.Fatalf("%s: %v", v.Name, err)
			}
			v.Hex = hex.EncodeToString(data)
			v.Errors = mistakes(wire.Check(m, man, ""))
			v.Warnings = wire.Warnings(m, man)
		})
		files, err := filepath.Glob(filepath.Join(vectors, "modules", "*.wat"))
		if err != nil || len(files) != len(seen) {
			t.Errorf("%d sources and %d vectors (%v)", len(files), len(seen), err)
		}
	})
	t.Run("malformed", func(t *testing.T) {
		rewriteVectors(t, "malformed.json", func(v *malformedVector) {
			data, err := hex.DecodeString(v.Hex)
			if err != nil {
				t.Fatal(err)
			}
			_, err = wire.ReadModule(data)
			var wrong *wire.ModuleError
			if !errors.As(err, &wrong) {
				t.Fatalf("%s: got %v, want a *wire.ModuleError", v.Name, err)
			}
			v.Offset, v.Section, v.Text = wrong.Offset, wrong.Section, err.Error()
		})
	})
}

type manifestVector struct {
	Name      string    `json:"name"`
	Manifest  string    `json:"manifest"`
	Canonical string    `json:"canonical,omitempty"`
	Errors    []mistake `json:"errors,omitempty"`
}

type moduleVector struct {
	Name     string          `json:"name"`
	Hex      string          `json:"hex"`
	Manifest json.RawMessage `json:"manifest"`
	Errors   []mistake       `json:"errors,omitempty"`
	Warnings []string        `json:"warnings,omitempty"`
}

type malformedVector struct {
	Name    string `json:"name"`
	Hex     string `json:"hex"`
	Offset  int    `json:"offset"`
	Section string `json:"section,omitempty"`
	Text    string `json:"text"`
}

// mistake is where an error is and which sentence it cites; the text is this host's.
type mistake struct {
	What  string `json:"what,omitempty"`
	Where string `json:"where,omitempty"`
	Rule  string `json:"rule,omitempty"`
	Text  string `json:"text"`
}

func mistakes(err error) []mistake {
	var out []mistake
	for _, e := range unjoin(err) {
		next := mistake{Text: e.Error()}
		var inManifest *wire.ManifestError
		var inModule *wire.CheckError
		switch {
		case errors.As(e, &inManifest):
			next.Where, next.Rule = inManifest.Path, inManifest.Rule
		case errors.As(e, &inModule):
			next.What, next.Where, next.Rule = inModule.What, inModule.Name, inModule.Rule
		}
		out = append(out, next)
	}
	return out
}

func unjoin(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// rewriteVectors computes the expected half of each vector of a file and compares the result
// with the file.
func rewriteVectors[V any](t *testing.T, name string, fill func(*V)) {
	t.Helper()
	path := filepath.Join(vectors, name)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []V
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for i := range all {
		fill(&all[i])
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(all); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, path, out.Bytes())
}
