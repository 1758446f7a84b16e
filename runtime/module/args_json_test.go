package module_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/module"
)

// TestArgsJSON: args that are written and read again are unchanged, in every field.
func TestArgsJSON(t *testing.T) {
	full := module.WasmPluginArgs{
		Module: module.ArgsModule{Image: "r/p:1", Digest: zeroes()}, Config: []byte(`{"a":{},"b":[1.0]}`), Namespaces: []string{"x", "y"},
		FailurePolicy: module.FailurePolicies{Points: map[string]module.FailurePolicy{"filter": module.Ignore, "bind": module.Fail}},
		Grants: wire.ManifestDirectives{
			Annotations: []string{"example.com/"}, Labels: []string{"example.com/l-"}, Nominate: true, Bind: true, Waiting: true, Activate: true,
		},
		Limits: module.Limits{
			FuelPerCall: 1, FuelPerRow: 2, FuelPerCycle: 3, FuelPerCycleRow: 17, FuelStart: 4, FuelRestarts: 16, Deadline: 1500 * time.Millisecond, Memory: 32<<20 + 1, MemoryTotal: 1<<30 + 1, Depth: 5, TableElements: 6,
			Functions: 7, Globals: 8, Locals: 9, Nesting: 10, ModuleSize: 1 << 20, ConfigSize: 11, StateSize: 12, ReasonSize: 13, DirectiveSize: 14, LogSize: 15,
		},
		Use: module.Use{Mode: module.Shadow, Replaces: "q"},
	}
	for _, s := range []any{full.Grants, full.Limits, full.Use} { // so that new fields are tested too
		v := reflect.ValueOf(s)
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				t.Errorf("%T: %s is not tested", s, v.Type().Field(i).Name)
			}
		}
	}
	for _, want := range []*module.WasmPluginArgs{
		&full,
		{Module: module.ArgsModule{Path: "a.wasm"}, Config: []byte(`{}`), FailurePolicy: module.FailurePolicies{All: module.Ignore}},
		{Module: module.ArgsModule{URL: "https://h:1/p.wasm", Digest: zeroes()}, Config: []byte(`{}`)},
	} {
		raw, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := module.DecodeArgs(raw, "")
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", raw, err, diff)
		}
	}
}

// TestArgsSecrets: credentials in a module's URL are not shown.
func TestArgsSecrets(t *testing.T) {
	raw, err := json.Marshal(&module.WasmPluginArgs{Module: module.ArgsModule{URL: "https://me:hush@h/p.wasm?sig=hush&v=hush", Digest: zeroes()}})
	if err != nil || strings.Contains(string(raw), "hush") || !strings.Contains(string(raw), "https://me:xxxxx@h/p.wasm?sig=") {
		t.Errorf("%s, %v", raw, err)
	}
}
