package module_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/internal/wat"
	"github.com/berth-scheduler/berth/runtime/module"
)

// TestLimitsOfArgs: each limit accepts its maximum and refuses one more.
func TestLimitsOfArgs(t *testing.T) {
	for field, most := range map[string]int64{
		"fuelPerCall": 1 << 50, "fuelPerRow": 1 << 30, "fuelPerCycle": 1 << 50, "fuelPerCycleRow": 1 << 30, "fuelStart": 1 << 50, "fuelRestarts": 1 << 50,
		"depth": 1_000_000, "tableElements": 10_000_000, "memory": 3 << 30, "memoryTotal": 1 << 40,
		"functions": 1_000_000, "globals": 1_000_000, "locals": 50_000, "nesting": 50_000,
		"moduleSize": wire.MaxModuleSize, "configSize": abi.MaxConfigSize, "stateSize": abi.MaxStateSize,
		"reasonSize": abi.MaxTextsSize, "directiveSize": abi.MaxDirectiveText, "logSize": 64 << 20,
	} {
		for more, fine := range map[int64]bool{0: true, 1: false, -most: false} {
			text := fmt.Sprintf(`{"apiVersion": "%s", "kind": %q, "module": {"path": "a.wasm"}, "limits": {%q: %d}}`,
				v1alpha1.GroupVersion(), v1alpha1.KindWasmPluginArgs, field, most+more)
			ref, err := read([]byte(text), "a")
			if (err == nil) != fine || !fine && !strings.HasPrefix(err.Error(), "limits."+field+": ") {
				t.Errorf("%s %d: %v", field, most+more, err)
			}
			if !fine {
				continue
			}
			limits, _ := json.Marshal(ref.Limits)
			if !strings.Contains(string(limits), fmt.Sprint(":", most)) {
				t.Errorf("%s %d: the limits are %s", field, most, limits)
			}
		}
	}
}

// TestSizesOfFiles: a module and a configuration of the maximum size are accepted, and refused
// if the limit is one byte lower.
func TestSizesOfFiles(t *testing.T) {
	source, err := filepath.Abs(goodWat)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	data := wat.Compile(t, source, fmt.Sprintf(goodManifest, `,"config":{"type":"object"}`))
	path := write(t, "guest.wasm", string(data))
	for less, fine := range map[int]bool{0: true, 1: false} {
		_, err := module.Load(module.Reference{Path: path, Limits: module.Limits{ModuleSize: len(data) - less}})
		if (err == nil) != fine || !fine && !strings.Contains(err.Error(), fmt.Sprintf("%d bytes, at most %d are allowed", len(data), len(data)-1)) {
			t.Errorf("a module of %d bytes, %d less allowed: %v", len(data), less, err)
		}
		_, err = module.Load(module.Reference{Path: path, Limits: module.Limits{ConfigSize: 2 - less}}) // {}
		if less == 0 && err != nil || less == 1 && (err == nil || !strings.Contains(err.Error(), "2 bytes, at most 1 are allowed; raise limits.configSize")) {
			t.Errorf("a configuration of 2 bytes, %d less allowed: %v", less, err)
		}
	}
}
