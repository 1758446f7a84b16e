package openapi_test

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/spec3"

	"github.com/berth-scheduler/berth/abi/fieldpath"
	"github.com/berth-scheduler/berth/runtime/kube/openapi"
)

// document is what an API server publishes of a custom resource and, shortened, of a built-in one.
const document = `{"openapi": "3.0.0", "info": {"title": "x", "version": "v1"},
"paths": {
  "/apis/example.com/v1/things/{name}": {"get": {"responses": {"200": {"description": "OK",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/com.example.v1.Thing"}}}}}}},
  "/apis/example.com/v1/namespaces/{namespace}/claims/{name}": {"get": {"responses": {"200": {"description": "OK",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/com.example.v1.Claim"}}}}}}},
  "/apis/example.com/v1/things": {}
},
"components": {"schemas": {
  "com.example.v1.Claim": {"type": "object", "properties": {"spec": {"type": "object"}}},
  "com.example.v1.Meta": {"type": "object", "properties": {"name": {"type": "string"},
    "labels": {"type": "object", "additionalProperties": {"type": "string", "default": ""}}}},
  "com.example.v1.Quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
  "com.example.v1.Thing": {"type": "object", "properties": {
    "metadata": {"allOf": [{"$ref": "#/components/schemas/com.example.v1.Meta"}], "default": {}},
    "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"known": {"type": "string"}}},
    "nodes": {"type": "array", "items": {"type": "object", "properties": {
      "name": {"type": "string"}, "used": {"x-kubernetes-int-or-string": true},
      "capacity": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/com.example.v1.Quantity"}}}}},
    "loop": {"$ref": "#/components/schemas/com.example.v1.Loop"}}},
  "com.example.v1.Loop": {"$ref": "#/components/schemas/com.example.v1.Loop"}
}}}`

// TestCheck: what a schema says of paths.
func TestCheck(t *testing.T) {
	var doc spec3.OpenAPI
	if err := json.Unmarshal([]byte(document), &doc); err != nil {
		t.Fatal(err)
	}
	thing := openapi.Object(&doc, fieldpath.Resource{Plural: "things", Group: "example.com", Version: "v1"})
	if thing == nil || openapi.Object(&doc, fieldpath.Resource{Plural: "claims", Group: "example.com", Version: "v1"}) == nil {
		t.Fatal("a resource has no schema")
	}
	if openapi.Object(&doc, fieldpath.Resource{Plural: "others", Group: "example.com", Version: "v1"}) != nil {
		t.Error("a resource that is not there has a schema")
	}
	for _, test := range []struct{ path, want string }{
		{".metadata.name", ""},
		{`.metadata.labels["a/b"]`, ""},
		{".metadata.labels[*]", ""},
		{`.nodes[*].capacity["nvidia.com/gpu"]`, ""},
		{".nodes[name=x].used", ""},
		{".open.known", ""},
		{".open.anything.at[*].all", ""},
		{".loop.what", ""},
		{".metadata.nam", `.metadata.nam: there is no such field: did you mean "name"?`},
		{".zzzzzzzz", "known are loop, metadata, nodes, open"},
		{".nodes.name", "it is a list: write [*]"},
		{".nodes[nam=x].used", `did you mean "name"?`},
		{".nodes[*].name.first", "string, which has no fields"},
		{".metadata[*]", "it is no list (it has labels, name)"},
		{".metadata.name[*]", "it is no list"},
		{".nodes", "goes on: it is of the type array"},
		{".metadata", "goes on: it is of the type object, and a number or a text is needed: go on to one of its fields (it has labels, name)"},
	} {
		p, err := fieldpath.Parse(test.path)
		if err != nil {
			t.Fatal(err)
		}
		at, err := openapi.Check(&doc, thing, p)
		got := ""
		if err != nil {
			got = err.Error()
		} else if err := openapi.Scalar(at); err != nil {
			got = "goes on: " + err.Error()
		}
		if (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: got %q, want %q", test.path, got, test.want)
		}
	}
}
