package wasm_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// buggy is a host whose view of memory panics on demand.
type buggy struct {
	sandbox.Factory
	fail bool
}

type buggyGuest struct {
	sandbox.Guest
	host *buggy
}

func (b *buggy) New(ctx context.Context, region uint32, env *sandbox.Env) (sandbox.Guest, error) {
	g, err := b.Factory.New(ctx, region, env)
	return &buggyGuest{Guest: g, host: b}, err
}

func (g *buggyGuest) Memory() []byte {
	if g.host.fail {
		panic("BUG: lost the memory")
	}
	return g.Guest.Memory()
}

// badHandler is a log that panics inside of a host function.
type badHandler struct{ slog.Handler }

func (badHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h badHandler) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "hello" {
		panic("BUG: no log")
	}
	return nil
}

// TestBugs: a mistake of the host is a fault of the call that it serves. With CrashOnBug it ends
// the process.
func TestBugs(t *testing.T) {
	w := newWorld(3)
	host := &buggy{Factory: native(nil, abi.ExportFilter, abi.ExportReserve)}
	m := &wire.Manifest{Points: wire.ManifestPoints{Filter: &wire.ManifestPoint{}, Reserve: &wire.ManifestPoint{}}}
	p, err := wasm.New(t.Context(), wasm.Config{Name: "guest"}, wasm.Deps{Factory: host, Manifest: m})
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]func() *plugin.Status{
		"filter": func() *plugin.Status {
			v := filter(p, w.cycle(incoming("a", "p", 0)), w.rows())
			if v.Codes[0] == abi.Success {
				return nil
			}
			return plugin.NewStatus(v.Codes[0], v.Texts(0)...)
		},
		"reserve": func() *plugin.Status {
			_, status := p.Reserve(w.placement(incoming("a", "p", 0), "n0"))
			return status
		},
	}
	for name, call := range calls {
		for _, fail := range []bool{false, true, false} {
			host.fail = fail
			status := call()
			if !fail && status != nil || fail && !strings.Contains(status.Message(), "BUG: the host failed: BUG: lost the memory; please report this") {
				t.Errorf("%s, failing %v: %v", name, fail, status.AllReasons())
			}
		}
	}
	log := slog.New(badHandler{slog.DiscardHandler})
	module, _ := guest(t, newRuntime(t, sandbox.RuntimeConfig{}), "guests/hello")
	for _, crash := range []bool{false, true} {
		m := manifest(t, `{"filter":{}}`, `{}`, `["log"]`)
		p, err := wasm.New(t.Context(), wasm.Config{Name: "guest", CrashOnBug: crash}, wasm.Deps{Factory: module, Manifest: m, Log: log})
		if err != nil {
			t.Fatal(err)
		}
		func() {
			defer func() {
				if r := recover(); (r != nil) != crash {
					t.Errorf("crash %v: %v", crash, r)
				}
			}()
			v := filter(p, w.cycle(incoming("a", "p", 0)), w.rows())
			if !strings.Contains(v.Texts(0)[0], "BUG: the host failed: BUG: no log") {
				t.Errorf("%v", v.Table)
			}
		}()
	}
}
