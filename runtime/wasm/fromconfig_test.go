package wasm_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/wasm"
)

// TestNamesOfConfig: plugins of one module that differ in the configuration see the columns that each configuration names, though they
// share the code, and their answers are kept by these (ABI-9.15).
func TestNamesOfConfig(t *testing.T) {
	m := &wire.Manifest{
		Name: "guest", Points: wire.ManifestPoints{Filter: &wire.ManifestPoint{Scope: "node"}}, Config: []byte(`{"type":"object"}`),
		Reads: wire.ManifestReads{Node: []string{"name"}, NodeLabels: []string{"zone"}, FromConfig: map[string][]string{"nodeLabels": {"/keys"}}},
	}
	code := native(nil, abi.ExportFilter)
	w := newWorld(2)
	for config, want := range map[string][]string{
		``: {"zone"}, `{"keys":"kubernetes.io/hostname"}`: {"zone", "kubernetes.io/hostname"},
		`{"keys":["zone","disk","kubernetes.io/hostname","disk"]}`: {"zone", "disk", "kubernetes.io/hostname"},
	} {
		watched := &spy{Factory: code}
		p := newPlugin(t, wasm.Config{Config: []byte(config)}, watched, m)
		reads := p.Info().Reads
		i := slices.IndexFunc(reads, func(r plugin.Read) bool { return r.Column == abi.NodeLabel })
		if i < 0 || !slices.Equal(reads[i].Args, want) {
			t.Errorf("with %q answers are kept by %v, want %v", config, reads, want)
		}
		filter(p, w.cycle(incoming("a", "p", 0)), w.rows())
		_, snap := watched.alive()[0].decode(t)
		row, values := decoded(t, snap, 1), map[string]string{"zone": `"z1"`, "kubernetes.io/hostname": `"n1"`, "disk": "-"}
		for arg, key := range want {
			if got := row[fmt.Sprintf("%d.%d", abi.NodeLabel, arg)]; got != values[key] {
				t.Errorf("with %q column %d is %s, want that of %s", config, arg, got, key)
			}
		}
		if got, ok := row[fmt.Sprintf("%d.%d", abi.NodeLabel, len(want))]; ok {
			t.Errorf("with %q there is another column: %s", config, got)
		}
	}
	if len(m.Reads.FromConfig) != 1 || len(m.Reads.NodeLabels) != 1 {
		t.Errorf("the manifest that they share has changed: %v", m.Reads)
	}
	config := wasm.Config{Name: "guest", Config: []byte(`{"keys":["a b"]}`)}
	_, err := wasm.New(context.Background(), config, wasm.Deps{Factory: code, Manifest: m})
	if err == nil || !strings.Contains(err.Error(), `plugin guest: config: /keys/0: "a b" is not well formed`) {
		t.Errorf("a key in another form: %v", err)
	}
}
