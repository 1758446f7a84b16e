package app

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/module"
)

// TestLaterABI: each command that reads a module of a later minor version says which ABI the module needs, and does not
// mention fields that only that ABI has.
func TestLaterABI(t *testing.T) {
	const manifest = `{"wakes": ["tides"], "name": "rack-aware", "version": "9.0.0", "abi": "1.77", "points": {"postMortem": {"scope": "rack"}},
		"reads": {"node": ["humidity"], "moons": ["phase"]}, "directives": {"evict": true}}`
	s := newStall(t)
	code, err := vector("good")
	if err != nil {
		t.Fatal(err)
	}
	bare, _, err := wire.RemoveCustomSection(code, abi.ManifestSection)
	if err != nil {
		t.Fatal(err)
	}
	later, err := wire.AppendCustomSection(bare, abi.ManifestSection, []byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	announced := &wire.Manifest{Name: "rack-aware", Version: "9.0.0", ABI: "1.77"}
	if _, err := s.open("team/rack-aware").Push(t.Context(), later, announced); err != nil {
		t.Fatal(err)
	}
	f := *s.honest
	v := f.Plugins[0].Versions[0]
	v.Version, v.ABI, v.Module, v.Size = "9.0.0", "1.77", module.Digest(later), int64(len(later))
	f.Plugins[0].Versions = append(f.Plugins[0].Versions, v)
	s.publish(&f)

	demo, err := filepath.Abs("testdata/cluster")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	writeFiles(t, ".", map[string]string{
		"later.wasm": string(later), "a.txt": "place\n", "go/manifest.json": manifest, "go/main.go": guestSource, "go/go.mod": "module tiny\n\ngo 1.24\n",
		"config.yaml": "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n- plugins: {multiPoint: {enabled: [{name: later}]}}\n" +
			"  pluginConfig: [{name: later, args: {apiVersion: berth.dev/v1alpha1, kind: WasmPluginArgs, module: {path: later.wasm}}}]\n",
	})
	secret, err := s.key.PEM([]byte("password"))
	if err == nil {
		err = os.WriteFile("team.key", secret, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(passwordVariable, "password")
	of := s.registry + "/team/rack-aware"
	for _, args := range [][]string{
		{"plugin", "inspect", "later.wasm"},
		{"plugin", "conformance", "later.wasm"},
		{"plugin", "bench", "later.wasm"},
		{"plugin", "test", "later.wasm", "--scenarios", "a.txt"},
		{"plugin", "build", "go"},
		{"plugin", "push", "later.wasm", of + ":9.0.0"},
		{"plugin", "pull", of + ":9.0.0"},
		{"plugin", "index", s.registry + "/team/other", of, "--key", "team.key"},
		{"plugin", "install", "rack-aware@9", "--index", s.registry + "/team/index", "--verification-policy", filepath.Join(s.dir, "policy.yaml"), "--plugin-dir", "."},
		{"config", "check", "config.yaml"},
		{"simulate", "--config", "config.yaml", "--cluster", demo},
	} {
		var stdout, stderr bytes.Buffer
		run(t.Context(), args, &stdout, &stderr)
		text := stdout.String() + stderr.String()
		if !strings.Contains(text, "needs ABI 1.77, this host has 1.2; use a berth that has ABI 1.77 (berth version shows it)") {
			t.Errorf("%q does not say which ABI is needed: %s", args, text)
		}
		for _, word := range []string{"wakes", "postMortem", "humidity", "moons", "evict", "unknown"} {
			if strings.Contains(text, word) {
				t.Errorf("%q speaks of %s: %s", args, word, text)
			}
		}
	}
}
