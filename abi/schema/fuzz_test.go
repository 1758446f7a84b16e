package schema

import (
	"errors"
	"os"
	"path/filepath"
	"runtime/metrics"
	"testing"

	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/abi"
)

// spends fails if do allocates more than most bytes. It reads a counter and does not stop the
// world, so that fuzzing tries thousands of inputs per second.
func spends(t *testing.T, most int, do func()) {
	t.Helper()
	counter := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(counter)
	before := counter[0].Value.Uint64()
	do()
	metrics.Read(counter)
	if n := counter[0].Value.Uint64() - before; n > uint64(most) {
		t.Errorf("%d bytes were allocated, want at most %d", n, most)
	}
}

// short fails if an error is not of this package, or has texts that are not cut.
func short(t *testing.T, errs ...error) {
	t.Helper()
	if len(errs) > MaxProblems {
		t.Errorf("%d errors", len(errs))
	}
	for _, e := range errs {
		var known *Problem
		if !errors.As(e, &known) {
			t.Errorf("%T: %v", e, e)
		} else if n := len(known.Path + known.Detail + known.Fix); n > 4*MaxProblem {
			t.Errorf("%d bytes of text: %v", n, e)
		}
	}
}

// FuzzConfig: for any schema and configuration, loading and checking stay within their limits
// of steps and bytes, do not panic, and give short texts. An accepted configuration is
// unchanged when it is checked again.
func FuzzConfig(f *testing.F) {
	archives, err := filepath.Glob("../../runtime/module/testdata/config/*.txtar")
	if err != nil || len(archives) == 0 {
		f.Fatalf("no cases: %v", err)
	}
	schema := ""
	for _, path := range archives {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range txtar.Parse(text).Files {
			switch {
			case file.Name == "schema.json":
				schema = string(file.Data)
			case filepath.Ext(file.Name) == ".json":
				f.Add(schema, string(file.Data))
			}
			f.Add(schema, `{"a": [1, {"b": null}]}`)
		}
	}
	for _, a := range attacks() {
		if schema, config := a.schema(), a.config(); len(schema)+len(config) < 4096 {
			f.Add(schema, config)
		}
	}
	f.Fuzz(func(t *testing.T, schemaText, config string) {
		if len(schemaText) > abi.MaxManifestSize || len(config) > abi.MaxConfigSize {
			return
		}
		spends(t, mostAtLoad+mostAtCheck, func() {
			s, remarks, err := New([]byte(schemaText))
			if err != nil {
				short(t, err)
				return
			}
			if len(remarks) > MaxProblems+1 {
				t.Errorf("%d remarks", len(remarks))
			}
			out, err := s.Check([]byte(config))
			if err != nil {
				short(t, flatten(err)...)
				return
			}
			again, err := s.Check(out)
			if err != nil || string(again) != string(out) {
				t.Errorf("%s was accepted first, then %s (%v)", out, again, err)
			}
		})
	})
}

func flatten(err error) []error {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		return joined.Unwrap()
	}
	return []error{err}
}

// FuzzSchema draws schemas and values, and compares this package with google/jsonschema-go.
func FuzzSchema(f *testing.F) { f.Fuzz(rapid.MakeFuzz(asLibrary(kept+" "+ignored, new([2]int)))) }
