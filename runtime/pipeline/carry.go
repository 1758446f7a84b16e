package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// Carriable reports whether a checkpoint can have the binding: all that its Unreserve needs has an encoding.
func (b *Binding) Carriable() bool {
	for _, s := range b.own.reserve {
		if _, ok := s.plugin.(plugin.Carrier); !ok {
			return false
		}
	}
	return !b.left
}

// UnreserveReadsNode reports whether a plugin reads Placement.Info at Unreserve.
func (b *Binding) UnreserveReadsNode() bool {
	return slices.ContainsFunc(b.own.reserve, func(s stage[plugin.Reserve]) bool {
		reader, ok := s.plugin.(plugin.NodeReader)
		return ok && reader.ReadsNodeInfo()
	})
}

// leaves reports whether a plugin that keeps something for the pod is not in another pipeline.
func (b *Binding) leaves(to *Pipeline) bool {
	return slices.ContainsFunc(b.p.carriers, func(c plugin.Carrier) bool {
		return !slices.Contains(to.carriers, c) && len(c.CarriedFor(&b.Placement)) > 0
	})
}

// Carried returns what plugins keep for the pod; see plugin.Carrier.
func (b *Binding) Carried() []plugin.Carried {
	return b.p.carried(func(c plugin.Carrier) json.RawMessage { return c.CarriedFor(&b.Placement) })
}

// Changed returns what the binding cycle has made of that.
func (b *Binding) Changed() []plugin.Carried {
	return b.p.carried(func(c plugin.Carrier) json.RawMessage { return c.ChangedFor(&b.Placement) })
}

func (p *Pipeline) carried(of func(plugin.Carrier) json.RawMessage) (out []plugin.Carried) {
	for _, c := range p.carriers {
		var carried json.RawMessage
		p.told(c.Info(), abi.Reserve, func() { carried = of(c) })
		if len(carried) > 0 {
			out = append(out, plugin.Carried{Plugin: c.Info().Name, Carried: carried})
		}
	}
	return out
}

// Resume sets what plugins keep for the pod.
func (b *Binding) Resume(all []plugin.Carried) error { return b.p.resume(&b.Placement, all) }

// Carried returns what plugins keep for pods that are not in flight any more, and Resume sets it.
func (p *Pipeline) Carried() []plugin.Carried {
	return p.carried(func(c plugin.Carrier) json.RawMessage { return c.CarriedFor(nil) })
}

// Resume is as for Carried.
func (p *Pipeline) Resume(all []plugin.Carried) error { return p.resume(nil, all) }

func (p *Pipeline) resume(pl *plugin.Placement, all []plugin.Carried) error {
	var errs []error
	for _, one := range all {
		i := slices.IndexFunc(p.carriers, func(c plugin.Carrier) bool { return c.Info().Name == one.Plugin })
		if i < 0 {
			errs = append(errs, fmt.Errorf("plugin %q is not in profile %q", one.Plugin, p.config.Profile))
			continue
		}
		if err := p.carriers[i].ResumeFor(pl, one.Carried); err != nil {
			errs = append(errs, fmt.Errorf("plugin %q: %w", one.Plugin, err))
		}
	}
	return errors.Join(errs...)
}
