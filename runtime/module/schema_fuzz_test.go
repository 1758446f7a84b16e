package module_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/internal/wat"
	"github.com/berth-scheduler/berth/runtime/module"
)

// FuzzConfig: whatever the schema in a manifest and the configuration, loading
// and checking end, without a panic, and what is accepted stays the same when it
// is checked again.
func FuzzConfig(f *testing.F) {
	files, err := filepath.Glob("testdata/config/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		schema := ""
		for _, part := range txtar.Parse(text).Files {
			switch filepath.Ext(part.Name) {
			case ".out":
			case ".json":
				if part.Name == "schema.json" {
					schema = string(part.Data)
				}
				f.Add(schema, `{"a": [1, {"b": null}]}`)
				f.Add(schema, string(part.Data))
			}
		}
	}
	code := wat.Compile(f, goodWat, "")
	f.Fuzz(func(t *testing.T, schema, config string) {
		if len(schema) > abi.MaxManifestSize || len(config) > 4096 {
			return
		}
		data, err := wire.AppendCustomSection(code, abi.ManifestSection, fmt.Appendf(nil, goodManifest, `,"config":`+schema))
		if err != nil {
			t.Fatal(err)
		}
		l, err := module.Parse("fuzz.wasm", data)
		if err != nil {
			return
		}
		out, err := l.CheckConfig("fuzz.json", []byte(config))
		if err != nil {
			return
		}
		again, err := l.CheckConfig("fuzz.json", out)
		if err != nil || string(again) != string(out) {
			t.Errorf("%s was accepted, and then %s (%v)", out, again, err)
		}
	})
}
