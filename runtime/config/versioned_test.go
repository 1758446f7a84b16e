package config_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/config"
)

// withoutPlaces describes a configuration without the positions of args in the file.
func withoutPlaces(s *config.Scheduler) string {
	plain := *s
	plain.Profiles = nil
	for _, p := range s.Profiles {
		args := make(map[string]config.Args)
		for name, a := range p.Args {
			args[name] = config.Args{Typed: a.Typed, Spec: a.Spec}
		}
		p.Args = args
		plain.Profiles = append(plain.Profiles, p)
	}
	return describe(&plain, nil, nil)
}

// sameAgain writes a configuration, reads it again and compares.
func sameAgain(s *config.Scheduler, cat config.Catalog) error {
	versioned, err := s.Versioned()
	if err != nil {
		return err
	}
	raw, err := json.Marshal(versioned)
	if err != nil {
		return err
	}
	again, warnings, err := config.Parse(raw, "again.json", cat)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, raw)
	}
	if got, want := withoutPlaces(again), withoutPlaces(s); got != want {
		return fmt.Errorf("\n got: %s\nwant: %s", got, want)
	}
	for _, w := range warnings {
		if w.ByDefault {
			return fmt.Errorf("there is a warning about a default: %v", w)
		}
	}
	return nil
}

// TestVersioned: a configuration that is written and read again is unchanged, and nothing in it
// comes from defaults.
func TestVersioned(t *testing.T) {
	paths, err := filepath.Glob("testdata/parse/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	accepted := 0
	for _, path := range paths {
		in, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		cat := catalogOf(path)
		for _, f := range in.Files {
			s, _, err := config.Parse(f.Data, "s.yaml", cat)
			if !strings.HasSuffix(f.Name, ".yaml") || err != nil {
				continue
			}
			accepted++
			if err := sameAgain(s, cat); err != nil {
				t.Errorf("%s: %s: %v", path, f.Name, err)
			}
		}
	}
	if accepted < 30 {
		t.Errorf("only %d files were accepted", accepted)
	}
}

// TestVersionedShares: a change to the returned value does not change the scheduler. Versioned
// includes keys and Redacted hides them.
func TestVersionedShares(t *testing.T) {
	s := config.Default(testCatalog())
	s.Extenders = []configv1.Extender{{
		URLPrefix: "https://me:hush@e/x?key=hush",
		TLSConfig: &configv1.ExtenderTLSConfig{CertData: []byte("cert"), KeyData: []byte("key")},
	}}
	v, err := s.Redacted()
	if err != nil {
		t.Fatal(err)
	}
	if key := string(v.Extenders[0].TLSConfig.KeyData); key != "REDACTED" {
		t.Errorf("the key is %q", key)
	}
	if got := v.Extenders[0].URLPrefix; got != "https://e/x?…" {
		t.Errorf("the URL is %q", got)
	}
	if v, err = s.Versioned(); err != nil {
		t.Fatal(err)
	}
	if key := string(v.Extenders[0].TLSConfig.KeyData); key != "key" {
		t.Errorf("the key is written as %q", key)
	}
	before := withoutPlaces(s)
	*v.Parallelism = 99
	*v.Profiles[0].SchedulerName = "other"
	*v.Profiles[0].Plugins.Score.Enabled[0].Weight = 99
	*v.LeaderElection.LeaderElect = false
	v.Extenders[0].TLSConfig.CertData[0] = 'x'
	if got := withoutPlaces(s); got != before {
		t.Errorf("got: %s\nwant: %s", got, before)
	}
	if string(s.Extenders[0].TLSConfig.KeyData) != "key" || !strings.Contains(s.Extenders[0].URLPrefix, "hush") {
		t.Error("the key is gone")
	}
}

// TestVersionedModules: args of a module are written as the module has them, or else as in the file.
func TestVersionedModules(t *testing.T) {
	spec := &v1alpha1.WasmPluginArgs{Module: v1alpha1.FileModule{Path: "file"}}
	for want, args := range map[string]config.Args{
		`{"module":{"path":"file"}}`:   {Raw: []byte(`{}`), Spec: spec},
		`{"module":{"path":"loaded"}}`: {Raw: []byte(`{}`), Spec: spec, Module: loaded("loaded")},
		`{"file":1}`:                   {Raw: []byte(`{"file":1}`)},
	} {
		s := config.Default(smallCatalog())
		p := &s.Profiles[0]
		p.Points["filter"] = append(p.Points["filter"], config.PluginRef{Name: "mine"})
		p.Args["mine"] = args
		v, err := s.Versioned()
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(v.Profiles[0].PluginConfig, func(c configv1.PluginConfig) bool { return c.Name == "mine" })
		if got := string(v.Profiles[0].PluginConfig[at].Args.Raw); got != want {
			t.Errorf("args are %s, want %s", got, want)
		}
	}
}
