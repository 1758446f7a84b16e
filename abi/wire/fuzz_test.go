package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
)

// FuzzReadModule: for any bytes, ReadModule returns a module whose indices all resolve, or an
// error with an offset in the file; Check does not panic, and adding and removing a section
// restores the file.
func FuzzReadModule(f *testing.F) {
	for _, file := range []string{"modules.json", "malformed.json"} {
		for _, v := range vectors(f, file) {
			f.Add(v.bytes(f))
		}
	}
	man := &wire.Manifest{Points: wire.ManifestPoints{Filter: &wire.ManifestPoint{}}}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := wire.ReadModule(data)
		if err != nil {
			var wrong *wire.ModuleError
			if !errors.As(err, &wrong) || wrong.Offset < 0 || wrong.Offset > len(data) {
				t.Fatalf("got %v for %d bytes", err, len(data))
			}
			return
		}
		for _, e := range m.Exports {
			if _, ok := m.FuncType(e.Index); e.Kind == wire.KindFunc && !ok {
				t.Errorf("export %q has no type", e.Name)
			}
		}
		_ = wire.Check(m, man, "fuzz")
		wire.Warnings(m, man)
		_, without, err := removed(data, "fuzz.section")
		if err != nil {
			t.Fatal(err)
		}
		with, err := wire.AppendCustomSection(without, "fuzz.section", []byte("payload"))
		if err != nil {
			t.Fatal(err)
		}
		if n, back, err := removed(with, "fuzz.section"); err != nil || n != 1 || !bytes.Equal(back, without) {
			t.Errorf("removed %d (%v): %x, want %x", n, err, back, without)
		}
	})
}

func removed(data []byte, name string) (int, []byte, error) {
	out, n, err := wire.RemoveCustomSection(data, name)
	return n, out, err
}

// FuzzDecodeManifest: what is accepted is JSON and reads the same after it is written; what is
// refused has an error with a path; Validate does not panic.
func FuzzDecodeManifest(f *testing.F) {
	for _, v := range vectors(f, "manifests.json") {
		f.Add(v.text())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := wire.DecodeManifest(data)
		if err != nil {
			var wrong *wire.ManifestError
			if !errors.As(err, &wrong) {
				t.Fatalf("got %T: %v", err, err)
			}
			return
		}
		if !json.Valid(data) {
			t.Fatalf("accepted what is not JSON: %q", data)
		}
		_ = m.Validate()
		out := wire.EncodeManifest(m)
		if !json.Valid(out) {
			t.Fatalf("wrote what is not JSON: %s", out)
		}
		if len(out) > abi.MaxManifestSize {
			return
		}
		again, err := wire.DecodeManifest(out)
		if err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		if diff := cmp.Diff(m, again, cmp.Transformer("empty", func(s []string) string {
			b, _ := json.Marshal(append([]string{}, s...))
			return string(b)
		})); diff != "" {
			t.Errorf("read again (-want +got):\n%s", diff)
		}
	})
}
