package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/berth-scheduler/berth/abi/wire"
)

const top = "../../.."

// checker returns the schema, which the library compiles.
func checker(t *testing.T) func(manifest []byte) error {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(manifestSchema()), &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return func(manifest []byte) error {
		var value any
		if err := json.Unmarshal(manifest, &value); err != nil {
			return err
		}
		return resolved.Validate(value)
	}
}

// readByHost returns the mistakes that package wire finds.
func readByHost(text []byte) error {
	m, err := wire.DecodeManifest(text)
	if err != nil {
		return err
	}
	return m.Validate()
}

// beyond are the vectors whose mistakes a schema cannot express, with the reason.
func beyond() map[string]string {
	return map[string]string{
		"a key published and cycle-local":              "a value of one list must not be in another",
		"fixed names after those of the configuration": "the order of the elements of a list",
	}
}

// TestSchemaIsTheHosts: the schema accepts what the host accepts and refuses what it refuses, for each vector and each manifest of the
// repository.
func TestSchemaIsTheHosts(t *testing.T) {
	check := checker(t)
	file, err := os.ReadFile(filepath.Join(top, "abi/vectors/manifests.json"))
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Name     string
		Manifest json.RawMessage
	}
	if err := json.Unmarshal(file, &vectors); err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, v := range vectors {
		text := []byte(v.Manifest)
		var s string
		if json.Unmarshal(v.Manifest, &s) == nil {
			text = []byte(s)
		}
		host, schema := readByHost(text), check(text)
		switch _, known := beyond()[v.Name]; {
		case known && host != nil && schema == nil:
			used[v.Name] = true
		case (host == nil) != (schema == nil):
			t.Errorf("%s: the host says %v\nand the schema %v", v.Name, host, schema)
		}
	}
	manifests := 0
	err = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != top {
			return fs.SkipDir
		}
		if ok, _ := filepath.Match("manifest*.json", d.Name()); !ok || d.Name() == "manifest.schema.json" || d.Name() == "manifests.json" || err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		manifests++
		if host, schema := readByHost(text), check(text); host != nil || schema != nil {
			t.Errorf("%s: the host says %v\nand the schema %v", path, host, schema)
		}
		return err
	})
	if err != nil || manifests < 10 {
		t.Errorf("%d manifests in the repository: %v", manifests, err)
	}
	for name := range beyond() {
		if !used[name] {
			t.Errorf("%s: the schema refuses it: remove it from the list", name)
		}
	}
}

// TestStructure: the tables here have each field, point, name and directive that package wire has, and no other.
func TestStructure(t *testing.T) {
	lower := func(of reflect.Type) (out []string) {
		for i := range of.NumField() {
			name := of.Field(i).Name
			out = append(out, strings.ToLower(name[:1])+name[1:])
		}
		return out
	}
	var have []string
	for _, p := range parts() {
		have = append(have, strings.Replace(p.name, "abi", "aBI", 1))
		null := readByHost([]byte(`{"abi": "1.0", "` + p.name + `": null}`))
		if p.name != "abi" && (null == nil || !strings.Contains(null.Error(), p.name+": expected")) {
			t.Errorf("%s is not read: %v", p.name, null)
		}
	}
	same(t, "fields", append(lower(reflect.TypeFor[wire.Manifest]()), "objects"), have[1:]) // which are among what is read
	have = nil
	for _, p := range points() {
		have = append(have, p.name)
		if p.meaning == "" {
			t.Errorf("%s has no meaning", p.name)
		}
	}
	same(t, "points", lower(reflect.TypeFor[wire.ManifestPoints]()), have)
	have, _ = directives()
	same(t, "directives", lower(reflect.TypeFor[wire.ManifestDirectives]()), append(have, "objects")) // which no manifest has there
	for _, f := range functions() {
		if f.meaning == "" {
			t.Errorf("%s has no meaning", f.name)
		}
	}
}

func same(t *testing.T, what string, want, have []string) {
	t.Helper()
	slices.Sort(want)
	slices.Sort(have)
	if !slices.Equal(want, have) {
		t.Errorf("%s: package wire has %v, here are %v", what, want, have)
	}
}

// TestSchemaRefuses: one mistake in a manifest that is right, in each place that the schema knows.
func TestSchemaRefuses(t *testing.T) {
	check := checker(t)
	const right = `{"name": "a", "version": "1.0.0", "abi": "1.1", "points": {"preFilter": {}, "addPod": {}, "removePod": {}, "filter": {}, "score": {}},
		"reads": {"node": ["allocatable"], "nodeLabels": ["a.b/c", {"fromConfig": "/keys"}], "resources": ["cpu"], "feeds": ["node.cpu:milli"],
		"pod": ["now"], "resolution": ["60s"]}, "host": ["log"], "events": [{"resource": "Node", "actions": ["UpdateNodeLabel"]}],
		"directives": {"labels": ["example.com/a-"]}, "config": {"properties": {"keys": {"items": {"type": "string"}}}}}`
	if host, schema := readByHost([]byte(right)), check([]byte(right)); host != nil || schema != nil {
		t.Fatalf("the host says %v\nand the schema %v", host, schema)
	}
	for _, change := range [][2]string{
		{`"name": "a"`, `"name": "A"`}, {`"name": "a", `, ``}, {`1.0.0`, `1.0`}, {`"1.1"`, `"1.0"`}, {`"1.1"`, `"1.99"`}, {`"1.1"`, `1.1`},
		{`"preFilter": {}, `, ``}, {`"removePod": {}, `, ``}, {`"filter": {}`, `"filter": {"scope": "node"}`}, {`"filter": {}`, `"filtr": {}`},
		{`"score": {}`, `"score": {"normalize": "mean"}`}, {`"score": {}`, `"normalize": {}`}, {`"score": {}`, `"unreserve": {}`},
		{`"score": {}`, `"bind": {}`}, {`"score": {}`, `"reserve": {"scope": "node"}`}, {`["allocatable"]`, `["allocateable"]`},
		{`["allocatable"]`, `["name", "name"]`}, {`["allocatable"]`, `["nominated"]`}, {`, "resources": ["cpu"]`, ``}, {`a.b/c`, `a b`}, {`"/keys"`, `"keys"`}, {`fromConfig`, `from`},
		{`node.cpu:milli`, `node.cpu`}, {`"60s"`, `"60m"`}, {`"60s"`, `"60s", "30s"`}, {`, "resolution": ["60s"]`, ``}, {`"pod": ["now"]`, `"pod": []`},
		{`"log"`, `"print"`}, {`"Node"`, `"Nodes"`}, {`"Node"`, `"Pod"`}, {`"UpdateNodeLabel"`, ``}, {`example.com/a-`, `example.com`},
		{`example.com/a-`, `k8s.io/a-`}, {`"labels"`, `"label"`}, {`"reads"`, `"read"`},
	} {
		text := []byte(strings.Replace(right, change[0], change[1], 1))
		if host, schema := readByHost(text), check(text); host == nil || schema == nil {
			t.Errorf("%s for %s: the host says %v\nand the schema %v", change[1], change[0], host, schema)
		}
	}
	for _, config := range []string{`{"type": "text"}`, `{"required": "a"}`, `{"properties": {"a": 1}}`, `{"minLength": -1}`, `{"items": {"pattern": 1}}`} {
		if check([]byte(strings.Replace(right, `{"properties": {"keys": {"items": {"type": "string"}}}}`, config, 1))) == nil {
			t.Errorf("the schema accepts the configuration's schema %s", config)
		}
	}
}
