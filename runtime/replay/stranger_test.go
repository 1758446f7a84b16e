package replay_test

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/internal/wat"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/replay"
)

// configured is a module that takes any configuration.
func configured(t *testing.T) []byte {
	return wat.Compile(t, `(module
		(memory (export "memory") 40)
		(func (export "berth_abi") (result i32) (i32.const 0x10000))
		(func (export "berth_alloc") (param i32 i32) (result i32) (i32.const 65536))
		(func (export "berth_filter") (param i32 i32 i32) (result i32) (i32.const 0)))`,
		`{"name": "tiny", "version": "1.0.0", "abi": "1.0", "points": {"filter": {"scope": "node"}}, `+
			`"reads": {"node": ["generation"]}, "config": {"type": "object"}}`)
}

// TestStranger: a recording of a stranger may name URLs, images, and files of the user. A replay asks no server, reads no file, and
// refuses the recording, because a module is one of those in the recording.
func TestStranger(t *testing.T) {
	wasm, dir := configured(t), t.TempDir()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = w.Write(wasm)
	}))
	defer server.Close()
	own, secret := filepath.Join(dir, "own.wasm"), filepath.Join(dir, "secret.json")
	for path, text := range map[string]string{own: string(wasm), secret: `{"password":"x"}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := strings.TrimPrefix(module.Digest(wasm), "sha256:") + ".wasm"
	honest := startWith(t, wasm, module.Limits{}, 2)
	honest.place("ns", 1)
	configurations := honest.text()
	modules := assembly.NewModules(assembly.ModulesConfig{})
	defer func() { _ = modules.Close(t.Context()) }()
	m := loaded(t, modules, wasm, module.Reference{Name: "ns/tiny", Namespaces: []string{"ns"}, Tenant: "ns"})
	attached := startRecorded(t, assembly.Config{Scheduler: assembly.Default(), Modules: modules,
		Attached: []assembly.Attached{{Name: "ns/tiny", Module: m, Holds: true, Namespaces: []string{"ns"}}}}, 2)
	attached.place("ns", 1)
	objects := attached.text()
	for _, text := range []string{configurations, objects} {
		if _, err := run(t.Context(), t, text, replay.Config{Workers: 1}); err != nil {
			t.Fatal(err)
		}
	}
	up := strings.Repeat("../", 12) + strings.TrimPrefix(own, "/")
	registry := strings.TrimPrefix(server.URL, "http://")
	for what, c := range map[string]struct{ text, from, to string }{
		"a URL": {
			configurations, `"path":"` + file + `"`, fmt.Sprintf(`"url":"%s/x.wasm","digest":"%s"`, server.URL, module.Digest(wasm)),
		},
		"an image":        {configurations, `"path":"` + file + `"`, fmt.Sprintf(`"image":"%s/team/tiny:1"`, registry)},
		"a path upwards":  {configurations, `"path":"` + file + `"`, `"path":"` + up + `"`},
		"a path":          {configurations, `"path":"` + file + `"`, `"path":"` + own + `"`},
		"an object's URL": {objects, `"Path":"` + file + `","URL":""`, fmt.Sprintf(`"Path":"","URL":"%s/x.wasm"`, server.URL)},
		"an object's image": {
			objects, `"Path":"` + file + `","URL":"","Image":""`, fmt.Sprintf(`"Path":"","URL":"","Image":"%s/team/tiny:1"`, registry),
		},
		"an object's path": {objects, `"Path":"` + file + `"`, `"Path":"` + up + `"`},
		"an object's file": {objects, `"ConfigFile":""`, `"ConfigFile":"` + secret + `"`},
	} {
		from, to := c.from, c.to
		if c.text == configurations { // it is a quoted string there
			from, to = strings.ReplaceAll(from, `"`, `\"`), strings.ReplaceAll(to, `"`, `\"`)
		}
		text := strings.ReplaceAll(c.text, from, to)
		if text == c.text {
			t.Fatalf("%s: nothing is replaced in %.2000s", what, c.text)
		}
		_, err := run(t.Context(), t, text, replay.Config{Workers: 1})
		if err == nil || !strings.Contains(err.Error(), "not a module of the recording") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("%d requests", n)
	}
	other := regexp.MustCompile(`(?m)^module [0-9a-f]+\.wasm `).ReplaceAllString(configurations, "module other.wasm ")
	const want = "module other.wasm does not have the digest"
	if _, err := run(t.Context(), t, other, replay.Config{}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a module with another name: %v", err)
	}
}

// TestStrangersExtender: the files that a recorded configuration names for the TLS of an extender are not read.
func TestStrangersExtender(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "X", Bytes: []byte("no certificate")}), 0o600); err != nil {
		t.Fatal(err)
	}
	const url = "https://127.0.0.1:1"
	extenders := `{"extenders":[{"urlPrefix":"` + url + `","tlsConfig":{"caFile":"` + file + `"}}],"`
	text := strings.Replace(small(t), `{\"`, strings.ReplaceAll(extenders, `"`, `\"`), 1)
	if text == small(t) {
		t.Fatal("nothing is replaced")
	}
	if _, err := run(t.Context(), t, text, replay.Config{}); err != nil {
		t.Error(err)
	}
}
