package wasm

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

// directives reads the effects that a guest asks for, and refuses those that it may not use (ABI-13.2).
func (a *answers) directives() ([]wire.Directive, *fault.Fault) {
	list, err := wire.DecodeDirectives(a.s.Memory(), a.field(abi.CallDirectives), a.field(abi.CallDirectiveN))
	if err != nil {
		return nil, a.bad("%v", err)
	}
	p, size := a.s.core, 0
	for i := range list {
		d := &list[i]
		switch size += len(d.First) + len(d.Second); {
		case size > p.config.Limits.DirectiveSize:
			return nil, a.bad("the texts of the directives have more than %d bytes", p.config.Limits.DirectiveSize)
		case !d.Kind.At(a.point):
			return nil, a.bad("directive %d is %s, which %s may not return (ABI-13.2)", i, d.Kind, a.point)
		case !p.manifest.Directives.Allows(d.Kind, d.First):
			return nil, a.denied("directive %d, %s, is not declared in the manifest's directives (ABI-13.2)", i, describe(d))
		case !p.config.Grants.Allows(d.Kind, d.First):
			return nil, a.denied("directive %d, %s, is not granted: add it to the plugin's grants", i, describe(d))
		}
		switch d.Kind {
		case abi.Annotate, abi.Label:
			if !wire.IsAnnotationKey(d.First) {
				return nil, a.bad("directive %d: %s is not a key (ABI-13.2)", i, plain.Quote(d.First, maxNamed))
			}
			if d.Kind == abi.Label && !wire.IsLabelValue(d.Second) {
				return nil, a.bad("directive %d: %s is not a value of label %s (ABI-13.2)", i, plain.Quote(d.Second, maxNamed), plain.Line(d.First, maxNamed))
			}
		}
	}
	return list, nil
}

// describe returns a directive with its key, for messages.
func describe(d *wire.Directive) string {
	if d.Kind == abi.Annotate || d.Kind == abi.Label {
		return d.Kind.String() + " " + plain.Line(d.First, maxNamed)
	}
	return d.Kind.String()
}

// asDirectives translates directives for the scheduler, all but nominate and bind.
func asDirectives(list []wire.Directive) plugin.Directives {
	var out plugin.Directives
	for i := range list {
		d := &list[i]
		switch d.Kind {
		case abi.Annotate:
			out.Patch.Annotations = with(out.Patch.Annotations, d)
		case abi.Label:
			out.Patch.Labels = with(out.Patch.Labels, d)
		case abi.Allow:
			out.Allow = append(out.Allow, types.UID(d.First))
		case abi.Reject:
			out.Reject = append(out.Reject, plugin.Rejection{UID: types.UID(d.First), Reason: plain.Line(d.Second, abi.MaxTextSize)})
		case abi.Activate:
			out.Activate = append(out.Activate, types.UID(d.First))
		}
	}
	return out
}

func with(m map[string]string, d *wire.Directive) map[string]string {
	if m == nil {
		m = make(map[string]string)
	}
	m[d.First] = d.Second
	return m
}

// bindsPod reports whether there is a bind directive.
func bindsPod(list []wire.Directive) bool {
	for i := range list {
		if list[i].Kind == abi.BindPod {
			return true
		}
	}
	return false
}
