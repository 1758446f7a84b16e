package berth_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/abi"
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/wire"
)

// asker gives the directives of a test at reserve.
type asker struct {
	berth.Base
	ask func(b berth.Base)
}

func (p *asker) Reserve(berth.Pod, berth.Node) berth.Status {
	p.ask(p.Base)
	return berth.Success
}

// TestDirectiveLimits: a directive that the host would not accept is refused with false and
// dropped; earlier ones stay.
func TestDirectiveLimits(t *testing.T) {
	p := &asker{Base: berth.Load(callsManifest)}
	r := newRegion(t, p, nil)
	ask := func(f func(b berth.Base)) []wire.Directive {
		p.ask = f
		_, v := r.call(abi.ExportReserve, 0, 0, wire.Call{Point: abi.Reserve})
		return v.Directives
	}
	check := func(what string, got, want bool) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	// More than fits into the initial memory of a Native, so it moves.
	var many []wire.Directive
	got := ask(func(b berth.Base) {
		for i := range abi.MaxDirectives + 1 {
			value := fmt.Sprintf("%0250d", i)
			check("one of 257", b.Annotate("k", value), i < abi.MaxDirectives)
			if i < abi.MaxDirectives {
				many = append(many, wire.Directive{Kind: abi.Annotate, First: "k", Second: value})
			}
		}
	})
	if diff := cmp.Diff(many, got); diff != "" {
		t.Errorf("256 directives (-want +got):\n%s", diff)
	}
	got = ask(func(b berth.Base) {
		check("65,536 bytes", b.Reject("uid", strings.Repeat("x", abi.MaxDirectiveText-3)), true)
		check("one byte more", b.Allow("u"), false)
		check("none more", b.BindPod(), true)
	})
	if len(got) != 2 || len(got[0].Second) != abi.MaxDirectiveText-3 || got[1].Kind != abi.BindPod {
		t.Errorf("at the limit of bytes there are %d directives", len(got))
	}
	got = ask(func(b berth.Base) {
		check("no UTF-8", b.Annotate("k", "\xff"), false)
		for value, want := range map[string]bool{
			"": true, "a": true, "A-b_c.9": true, strings.Repeat("x", 63): true,
			strings.Repeat("x", 64): false, "-a": false, "a-": false, "a b": false, "é": false, ".": false,
		} {
			check("the label "+value, b.Label("k", value), want)
			check("the same as the host says", wire.IsLabelValue(value), want)
		}
	})
	if len(got) != 4 {
		t.Errorf("%d labels are valid: %v", len(got), got)
	}
	if got = ask(func(berth.Base) {}); got != nil {
		t.Errorf("%v is left from another call", got)
	}
}
