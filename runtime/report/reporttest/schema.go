// Package reporttest has what tests of explanations share.
package reporttest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema returns the published JSON Schema of explanations, from the repository that the test runs in.
func Schema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	var text []byte
	for {
		if text, err = os.ReadFile(filepath.Join(dir, "docs", "explanation.schema.json")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Fatal(err)
		}
		dir = filepath.Dir(dir)
	}
	s := &jsonschema.Schema{}
	if err := json.Unmarshal(text, s); err != nil {
		t.Fatal(err)
	}
	return s
}

// Validate fails the test unless a text is an explanation by the schema.
func Validate(t testing.TB, text []byte) {
	t.Helper()
	resolved, err := Schema(t).Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if err := resolved.Validate(value); err != nil {
		t.Errorf("%s\n%v", text, err)
	}
}
