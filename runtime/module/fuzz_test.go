package module

import (
	"errors"
	"os"
	"path/filepath"
	"runtime/metrics"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/berth-scheduler/berth/abi/schema"
)

// mostPerByte is the number of bytes that may be allocated per byte of YAML, besides one
// megabyte.
const mostPerByte = 600

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
func short(t *testing.T, err error) {
	t.Helper()
	errs := flatten(err)
	if len(errs) > schema.MaxProblems {
		t.Errorf("%d errors", len(errs))
	}
	for _, e := range errs {
		var known *Error
		if !errors.As(e, &known) {
			t.Errorf("%T: %v", e, e)
		} else if n := len(known.Path + known.Detail + known.Fix); n > 4*schema.MaxProblem {
			t.Errorf("%d bytes of text: %v", n, e)
		}
	}
}

// FuzzEntry: for any YAML file of a module in the plugin folder, reading stays within its limit
// of bytes and gives short texts. What is accepted reads the same after it is written as JSON.
func FuzzEntry(f *testing.F) {
	for _, text := range []string{
		"", "# nothing", "name: my-pool\nweight: 2\nconfig: {pools: {a: [1, 2.50]}}\nnamespaces: [team-b, team-a]\n",
		"failurePolicy: {filter: Fail, score: Ignore}\n", "failurePolicy: Ignore", "grants: {annotations: [example.com/], waiting: true}",
		"limits: {fuelPerRow: 5000, deadline: 2s, memory: 64Mi}", "a: &a {b: 1}\nc: *a\nd: {<<: *a}", "a: &a [*a]", "--- a\n--- b", "yes: no",
		`{"name": "x", "config": {"a": "\u0000"}}`, "a: &a \"x\"\nb: [*a, *a]", "? - a\n: b", "a: !!binary aGk=", "a: 0x10\nb: 1e3\nc: .inf",
	} {
		f.Add([]byte(text))
	}
	for _, file := range seeds(f, "testdata/config/*.txtar") {
		f.Add(file.Data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > maxEntry {
			return
		}
		spends(t, len(data)*mostPerByte+1<<20, func() {
			var first, second Entry
			raw, err := toJSON(data)
			if err == nil {
				err = first.decode("fuzz.yaml", data, raw)
			} else {
				err = wrap("fuzz.yaml", "", err)
			}
			if err != nil {
				short(t, err)
				return
			}
			if err := second.decode("fuzz.yaml", raw, raw); err != nil {
				t.Fatal(err)
			}
			a, b := first.Reference, second.Reference
			if string(a.Config) != string(b.Config) || a.Name != b.Name || a.Weight != b.Weight || a.Limits != b.Limits {
				t.Errorf("read %+v first, then %+v", a, b)
			}
		})
	})
}

// seeds returns the files of the archives.
func seeds(f *testing.F, pattern string) []txtar.File {
	f.Helper()
	archives, err := filepath.Glob(pattern)
	if err != nil || len(archives) == 0 {
		f.Fatalf("no cases: %v", err)
	}
	var out []txtar.File
	for _, path := range archives {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		out = append(out, txtar.Parse(text).Files...)
	}
	return out
}
