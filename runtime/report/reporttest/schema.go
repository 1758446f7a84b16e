// Package reporttest has what tests of explanations share.
package reporttest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema returns the published JSON Schema of explanations.
func Schema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	_, file, _, _ := runtime.Caller(0)
	text, err := os.ReadFile(filepath.Join(filepath.Dir(file), "..", "..", "..", "docs", "explanation.schema.json"))
	if err != nil {
		t.Fatal(err)
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
