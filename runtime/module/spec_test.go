package module_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/internal/strictyaml"
	"github.com/berth-scheduler/berth/runtime/module"
)

// read is the reference of args in YAML.
func read(text []byte, name string) (module.Reference, error) {
	var args v1alpha1.WasmPluginArgs
	if err := strictyaml.Decode(text, 1<<20, &args); err != nil {
		return module.Reference{}, err
	}
	if errs := args.Validate(nil); len(errs) > 0 {
		return module.Reference{}, errs.ToAggregate()
	}
	return module.NewReference(name, &args.Module, &args.PluginSpec)
}

// TestArgs: a reference that is written as args and read again is unchanged, in every field.
func TestArgs(t *testing.T) {
	full := module.Reference{
		Name: "p", Image: "r/p:1", Digest: zeroes(), Config: []byte(`{"a":{},"b":[1.5]}`), Namespaces: []string{"x", "y"},
		FailurePolicy: module.FailurePolicies{Points: map[string]v1alpha1.FailurePolicy{"filter": v1alpha1.Ignore, "bind": v1alpha1.Fail}},
		Grants: wire.ManifestDirectives{
			Annotations: []string{"example.com/"}, Labels: []string{"example.com/l-"}, Nominate: true, Bind: true, Waiting: true, Activate: true,
			Objects: []string{"boxes.example.com"},
		},
		Limits: module.Limits{
			FuelPerCall: 1, FuelPerRow: 2, FuelPerCycle: 3, FuelPerCycleRow: 17, FuelStart: 4, FuelRestarts: 16, Deadline: 1500 * time.Millisecond,
			Memory: 32<<20 + 1, MemoryTotal: 1<<30 + 1, Depth: 5, TableElements: 6, Functions: 7, Globals: 8, Locals: 9, Nesting: 10,
			ModuleSize: 1 << 20, ConfigSize: 11, StateSize: 12, ReasonSize: 13, DirectiveSize: 14, LogSize: 15,
		},
		Use: module.Use{Mode: v1alpha1.ModeShadow, Replaces: "q"},
	}
	for _, s := range []any{full.Grants, full.Limits, full.Use} { // so that new fields are tested too
		v := reflect.ValueOf(s)
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				t.Errorf("%T: %s is not tested", s, v.Type().Field(i).Name)
			}
		}
	}
	for _, want := range []module.Reference{
		full,
		{Name: "p", Path: "a.wasm", Config: []byte(`{}`), FailurePolicy: module.FailurePolicies{All: v1alpha1.Ignore}},
		{Name: "p", URL: "https://h:1/p.wasm", Digest: zeroes(), Config: []byte(`{}`)},
	} {
		raw, err := json.Marshal(want.Args(&module.Loaded{Config: want.Config, Grants: want.Grants}))
		if err != nil {
			t.Fatal(err)
		}
		got, err := read(raw, "p")
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", raw, err, diff)
		}
	}
}

// TestArgsSecrets: credentials in a module's URL are not shown.
func TestArgsSecrets(t *testing.T) {
	ref := module.Reference{URL: "https://me:hush@h/p.wasm?sig=hush&v=hush", Digest: zeroes()}
	raw, err := json.Marshal(ref.Args(&module.Loaded{}))
	if err != nil || strings.Contains(string(raw), "hush") || !strings.Contains(string(raw), "https://h/p.wasm?…") {
		t.Errorf("%s, %v", raw, err)
	}
}
