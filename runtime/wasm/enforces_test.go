package wasm_test

import (
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

// TestEnforces: a plugin that does not see all pods, or that is ignored when it fails, does not
// count as enforcing a feature: nothing would enforce it for the other pods.
func TestEnforces(t *testing.T) {
	filter, score := &wire.ManifestPoint{}, &wire.ManifestPoint{}
	for _, test := range []struct {
		name   string
		config wasm.Config
		points wire.ManifestPoints
		want   state.Feature
	}{
		{"all pods", wasm.Config{}, wire.ManifestPoints{Filter: filter}, state.FeatureTopologySpread},
		{"some namespaces", wasm.Config{Namespaces: []string{"a"}}, wire.ManifestPoints{Filter: filter}, 0},
		{"faults ignored", wasm.Config{Policies: map[abi.Point]fault.Policy{abi.Filter: fault.Ignore}}, wire.ManifestPoints{Filter: filter}, 0},
		{"no filter", wasm.Config{}, wire.ManifestPoints{Score: score}, 0},
	} {
		p := newPlugin(t, test.config, native(nil, abi.ExportFilter, abi.ExportScore),
			&wire.Manifest{Points: test.points, Enforces: []string{"topology-spread"}})
		if got := p.Info().Enforces; got != test.want {
			t.Errorf("%s: enforces %q, want %q", test.name, got, test.want)
		}
	}
}
