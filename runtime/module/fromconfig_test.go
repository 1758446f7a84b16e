package module_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/runtime/internal/wat"
	"github.com/berth-scheduler/berth/runtime/module"
)

// TestNamesOfConfig: the manifest of a module with a configuration has the names that it brings, also where the module's bytes are
// shared; the lock file has the place (ABI-9.15).
func TestNamesOfConfig(t *testing.T) {
	manifest := strings.Replace(goodManifest, `"abi":"1.0"`, `"abi":"1.1"`, 1)
	manifest = strings.Replace(manifest, "%s", `,"config":{"type":"object"},"reads":{"nodeLabels":["zone",{"fromConfig":"/keys"}]}`, 1)
	path := t.TempDir() + "/guest.wasm"
	if err := os.WriteFile(path, wat.Compile(t, goodWat, manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	plain, err := module.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	load := func(config string) *module.Loaded {
		t.Helper()
		l, err := module.Load(module.Reference{Path: path, Config: []byte(config)})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	one, two, none := load(`{"keys":["rack"]}`), load(`{"keys":["room","zone"]}`), load(`{}`)
	two.Share(one)
	none.Share(one)
	for want, l := range map[string]*module.Loaded{"zone": plain, "zone rack": one, "zone room": two, "zone ": none} {
		if got := strings.Join(l.Manifest.Reads.NodeLabels, " "); got != strings.TrimSpace(want) {
			t.Errorf("the module reads the labels %s, want %s", got, want)
		}
		if got := l.Locked(&module.Reference{Path: path}).Reads["nodeLabels"]; !slices.Equal(got, []string{"zone", "config:/keys"}) {
			t.Errorf("the lock file has %v", got)
		}
	}
	_, err = module.Load(module.Reference{Path: path, Config: []byte(`{"keys":["a b"]}`)})
	if err == nil || !strings.HasSuffix(err.Error(), `guest.wasm: config: /keys/0: "a b" is not well formed for reads.nodeLabels; `+
		`write a key as in metadata, such as example.com/pool (ABI-9.15)`) {
		t.Errorf("a key in another form: %v", err)
	}
}
