package wire_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/abi/wire"
)

// vector has the fields of all files in abi/vectors, see the README there.
type vector struct {
	Name, Hex, Text, Section, Canonical string
	Manifest                            json.RawMessage
	Offset                              int
	Errors                              []struct{ What, Where, Rule, Text string }
	Warnings                            []string
}

func vectors(t testing.TB, name string) []vector {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "vectors", name))
	if err != nil {
		t.Fatal(err)
	}
	var out []vector
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	if len(out) == 0 {
		t.Fatalf("%s is empty", name)
	}
	return out
}

func (v *vector) texts() string {
	var out []string
	for _, e := range v.Errors {
		out = append(out, e.Text)
	}
	return strings.Join(out, "\n")
}

func (v *vector) bytes(t testing.TB) []byte {
	t.Helper()
	out, err := hex.DecodeString(v.Hex)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// text is the manifest of a vector: a JSON value, or a text.
func (v *vector) text() []byte {
	var s string
	if json.Unmarshal(v.Manifest, &s) == nil {
		return []byte(s)
	}
	return v.Manifest
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestManifestVectors: ABI-9.
func TestManifestVectors(t *testing.T) {
	for _, v := range vectors(t, "manifests.json") {
		t.Run(v.Name, func(t *testing.T) {
			m, err := wire.DecodeManifest(v.text())
			if err == nil {
				err = m.Validate()
			}
			if diff := cmp.Diff(v.texts(), message(err)); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			if err != nil {
				return
			}
			out, err := m.MarshalJSON()
			if err != nil || string(out) != v.Canonical {
				t.Errorf("got %s (%v)\nwant %s", out, err, v.Canonical)
			}
			again, err := wire.DecodeManifest(out)
			if diff := cmp.Diff(m, again); diff != "" || err != nil {
				t.Errorf("%v, read again (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestModuleVectors: ABI-1, ABI-5, ABI-9.3, ABI-9.6.
func TestModuleVectors(t *testing.T) {
	for _, v := range vectors(t, "modules.json") {
		t.Run(v.Name, func(t *testing.T) {
			m, err := wire.ReadModule(v.bytes(t))
			if err != nil {
				t.Fatal(err)
			}
			man, err := wire.DecodeManifest(v.text())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(v.texts(), message(wire.Check(m, man, ""))); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(v.Warnings, wire.Warnings(m, man)); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMalformedVectors: the error has the offset of the first mistake.
func TestMalformedVectors(t *testing.T) {
	for _, v := range vectors(t, "malformed.json") {
		_, err := wire.ReadModule(v.bytes(t))
		var wrong *wire.ModuleError
		if !errors.As(err, &wrong) || wrong.Offset != v.Offset || wrong.Section != v.Section || err.Error() != v.Text {
			t.Errorf("%s: got %v, want %s", v.Name, err, v.Text)
		}
	}
}

// TestCutOff: reading a prefix of a module never goes beyond its end and never panics.
func TestCutOff(t *testing.T) {
	for _, v := range vectors(t, "modules.json") {
		data := v.bytes(t)
		whole, err := wire.ReadModule(data)
		if err != nil {
			t.Fatal(err)
		}
		ends := map[int]bool{8: true}
		for _, s := range whole.Sections {
			ends[s.Offset+s.Size] = true
		}
		for n := range data {
			if _, err := wire.ReadModule(bytes.Clone(data[:n])); err == nil && !ends[n] {
				t.Errorf("%s: the first %d bytes of %d are a module", v.Name, n, len(data))
			}
		}
	}
}
