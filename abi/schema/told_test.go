package schema_test

import (
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi/schema"
)

// TestRemarks: a required property is noted if no schema about the same value describes it, and no other.
func TestRemarks(t *testing.T) {
	for text, want := range map[string]string{
		`{"properties": {"a": {}}, "required": ["a"]}`:                                                            "",
		`{"properties": {"a": {}}, "required": ["b"]}`:                                                            `required: requires "b"`,
		`{"properties": {"a": {}, "b": {}}, "allOf": [{"properties": {"a": {"const": 1}}, "required": ["b"]}]}`:   "",
		`{"properties": {"a": {}, "b": {}}, "not": {"properties": {"a": {"const": 1}}, "required": ["b"]}}`:       "",
		`{"properties": {"a": {"properties": {"c": {}}, "required": ["b"]}, "b": {}}}`:                            `properties.a.required: requires "b"`,
		`{"properties": {"b": {}}, "items": {"anyOf": [{"properties": {"c": {}}, "required": ["b"]}]}}`:           `items.anyOf[0].required: requires "b"`,
		`{"properties": {"a": {}, "b": {}}, "allOf": [{"if": {"required": ["a"]}, "then": {"required": ["b"]}}]}`: `allOf[0].if: not a keyword`,
	} {
		_, remarks, err := schema.New([]byte(text))
		if err != nil || (want == "") != (len(remarks) == 0) || !strings.Contains(strings.Join(remarks, "\n"), want) {
			t.Errorf("%s: %v, %q, want %q", text, err, remarks, want)
		}
		for _, r := range remarks {
			if strings.Contains(want, "if") && strings.Contains(r, "requires") {
				t.Errorf("%s: %s", text, r)
			}
		}
	}
}

// TestMisspelt: where a required field is missing, one that is spelt almost like it is named.
func TestMisspelt(t *testing.T) {
	s, _, err := schema.New([]byte(`{"properties": {"percent": {}, "present": {}}, "required": ["percent"]}`))
	if err != nil {
		t.Fatal(err)
	}
	for config, want := range map[string]string{
		`{"precent": 1}`: `the field "percent" is missing; is it "precent", misspelt?`,
		`{"present": 1}`: `the field "percent" is missing`,
		`{"other": 1}`:   `the field "percent" is missing`,
		`{"percent": 1}`: "",
	} {
		got := ""
		if _, err := s.Check([]byte(config)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", config, got, want)
		}
	}
}
