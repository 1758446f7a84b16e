package module_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/golden"
	"github.com/berth-scheduler/berth/runtime/internal/wat"
	"github.com/berth-scheduler/berth/runtime/module"
)

const goodWat = vectors + "/modules/good-all-points.wat"

// goodManifest is the manifest of the module goodWat.
const goodManifest = `{"name":"guest","version":"1.0.0","publisher":"p","license":"Apache-2.0","description":"d","abi":"1.0",
"points":{"preFilter":{},"filter":{"scope":"node"},"preScore":{},"score":{},"normalize":{}},
"host":["log","state_get","state_set"],"events":[{"resource":"Node","actions":["Add"]}]%s}`

// write writes a file to the test's folder, which is also the working directory, so that
// messages have no random paths.
func write(t *testing.T, name, text string) string {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestConfigs runs testdata/config/*.txtar: a schema, and cases, each a configuration file
// followed by the expected output.
func TestConfigs(t *testing.T) {
	files, err := filepath.Glob("testdata/config/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			file, err := filepath.Abs(file)
			if err != nil {
				t.Fatal(err)
			}
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			source, err := filepath.Abs(goodWat)
			if err != nil {
				t.Fatal(err)
			}
			t.Chdir(t.TempDir())
			out := &txtar.Archive{Comment: archive.Comment}
			path := ""
			for _, f := range archive.Files {
				if strings.HasSuffix(f.Name, ".out") {
					continue
				}
				out.Files = append(out.Files, f)
				if f.Name == "schema.json" {
					schema := ""
					if text := strings.TrimSpace(string(f.Data)); text != "" {
						schema = `,"config":` + text
					}
					path = write(t, "guest.wasm", string(wat.Compile(t, source, fmt.Sprintf(goodManifest, schema))))
					l, err := module.Read(path)
					text := message(err)
					if err == nil {
						text = strings.Join(l.Warnings, "\n")
					}
					out.Files = append(out.Files, result(f.Name, text))
					continue
				}
				l, err := module.Load(module.Reference{Path: path, ConfigFile: write(t, f.Name, string(f.Data))})
				text := message(err)
				if err == nil {
					text = string(l.Config)
				}
				out.Files = append(out.Files, result(f.Name, text))
			}
			golden.Check(t, file, txtar.Format(out))
		})
	}
}

func result(name, text string) txtar.File {
	if text != "" {
		text += "\n"
	}
	return txtar.File{Name: name + ".out", Data: []byte(text)}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestLoad(t *testing.T) {
	source, err := filepath.Abs(goodWat)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	data := wat.Compile(t, source, fmt.Sprintf(goodManifest, `,"config":{"type":"object"}`))
	path := write(t, "guest.wasm", string(data))
	l, err := module.Load(module.Reference{Path: path, Name: "mine", Config: []byte(`{"b":1.50,"a":"<"}`), Digest: module.Digest(data)})
	if err != nil {
		t.Fatal(err)
	}
	if l.Name != "mine" || string(l.Config) != `{"a":"<","b":1.50}` || l.Digest != module.Digest(data) || len(l.Bytes) != len(data) || l.Manifest.Name != "guest" {
		t.Errorf("got %s with %s, %s", l.Name, l.Config, l.Digest)
	}
	if l, err = module.Load(module.Reference{Path: path}); err != nil || l.Name != "guest" || string(l.Config) != "{}" {
		t.Errorf("got %v, %v", l, err)
	}
	write(t, "text.wasm", "hello, world")
	write(t, "bare.wasm", string(wat.Compile(t, source, "")))
	write(t, "broken.wasm", string(wat.Compile(t, source, `{"name": "x"`)))
	write(t, "lying.wasm", string(wat.Compile(t, source, `{"name":"x","version":"1.0.0","abi":"1.0","points":{"filter":{}},"host":["log","state_get","state_set"]}`)))
	write(t, "big.yaml", strings.Repeat("#", abi.MaxConfigSize+1))
	cases := []struct {
		ref  module.Reference
		want string
	}{
		{module.Reference{Path: "none.wasm"}, "none.wasm: module: no such file or directory; name a file that can be read"},
		{module.Reference{Path: "."}, ".: module: it is not a regular file; name a file"},
		{module.Reference{Path: "text.wasm"}, `text.wasm: module: offset 0x0: this is not a WebAssembly module: it does not begin with "\0asm"; name a file that a compiler made for wasm32`},
		{module.Reference{Path: "bare.wasm"}, `bare.wasm: section "berth.manifest": the module has no manifest; add manifest.json with berth plugin build (ABI-1.5)`},
		{module.Reference{Path: "broken.wasm"}, `broken.wasm: manifest: line 1, column 13: expected a comma or }`},
		{module.Reference{Path: "lying.wasm"}, `lying.wasm: export "berth_normalize": the manifest does not declare the point normalize; add points.normalize, or remove the export (ABI-9.3)
lying.wasm: export "berth_pre_filter": the manifest does not declare the point preFilter; add points.preFilter, or remove the export (ABI-9.3)
lying.wasm: export "berth_pre_score": the manifest does not declare the point preScore; add points.preScore, or remove the export (ABI-9.3)
lying.wasm: export "berth_score": the manifest does not declare the point score; add points.score, or remove the export (ABI-9.3)`},
		{module.Reference{Path: path, Digest: module.Digest(nil)}, "guest.wasm: digest: the module has " + module.Digest(data) + ", expected " + module.Digest(nil) + "; get the module that was meant, or change the digest if the new one is trusted"},
		{module.Reference{Path: path, ConfigFile: "none.yaml"}, "none.yaml: config: no such file or directory; name a file that can be read"},
		{module.Reference{Path: path, ConfigFile: "big.yaml"}, "big.yaml: config: 1048577 bytes, at most 1048576 are allowed"},
		{module.Reference{Path: path, Config: []byte(`[1`)}, "guest.wasm: config: invalid JSON: the text ends too early"},
	}
	for _, c := range cases {
		_, err := module.Load(c.ref)
		if diff := cmp.Diff(c.want, message(err)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.ref, diff)
		}
		var typed *module.Error
		if !errors.As(err, &typed) || typed.File == "" {
			t.Errorf("%+v: got a %T", c.ref, err)
		}
	}
}
