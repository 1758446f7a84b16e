package volumebinding

import (
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"

	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

const reserveKey = "Reserve"

// reservation is what is reserved for a pod that is being bound, from Reserve to PreBind, which
// records what is written.
type reservation struct {
	bindings   []binding
	provisions []provisioning
}

// binding is a volume that is bound to a claim.
type binding struct {
	pv       *v1.PersistentVolume // with the claim in it
	claim    *v1.PersistentVolumeClaim
	promised bool                 // and thus reserved
	written  *v1.PersistentVolume // as the API has it; nil before
}

// provisioning is a claim for which a volume is to be provisioned on the node.
type provisioning struct {
	claim   *v1.PersistentVolumeClaim // with the node in it
	written *v1.PersistentVolumeClaim // as the API has it; nil before
}

// Clone returns the value itself: there is no what-if after Reserve.
func (r *reservation) Clone() state.Value { return r }

// Reserve reserves what Filter found for the pod's claims on the node.
func (b *VolumeBinding) Reserve(pl *plugin.Placement) (plugin.Directives, *plugin.Status) {
	p, ok := pl.State.Read(Name, preFilterKey).(*plan)
	if !ok {
		return plugin.Directives{}, nil // the pod has no claims
	}
	pl.State.Write(Name, preFilterKey, nil) // it holds the snapshot
	if len(p.selected)+len(p.open) == 0 {
		return plugin.Directives{}, nil
	}
	r := &reservation{}
	if err := b.reserve(r, p, pl.Node.Name); err != nil {
		b.takeBack(r)
		return plugin.Directives{}, plugin.Fail(err)
	}
	pl.State.Write(Name, reserveKey, r)
	return plugin.Directives{}, nil
}

func (b *VolumeBinding) reserve(r *reservation, p *plan, node string) error {
	row, ok := p.snapshot.Row(node)
	if !ok {
		return fmt.Errorf("node %q was not in the snapshot", node)
	}
	if !p.filtered {
		return errors.New("Filter did not run: enable " + Name + " at filter too")
	}
	provide := slices.Clone(p.selected)
	for _, u := range p.open {
		n := volumeOf(u, row)
		if n == 0 {
			provide = append(provide, u)
			continue
		}
		pv, promise, err := volume.GetBindVolumeToClaim(p.volumes[n-1], u.claim)
		if err != nil {
			return err
		}
		// A volume that is only reserved for the claim, by another of its pods, may be released
		// with that pod.
		promise = promise || p.volumes[n-1] != b.deps.Storage.Volumes.Volume(pv.Name)
		if promise {
			if err := b.deps.Ledger.promiseVolume(pv); err != nil {
				return err
			}
		}
		r.bindings = append(r.bindings, binding{pv: pv, claim: u.claim, promised: promise})
	}
	for _, u := range provide {
		claim := u.claim.DeepCopy()
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, volume.AnnSelectedNode, node)
		if err := b.deps.Ledger.promiseClaim(claim); err != nil {
			return err
		}
		r.provisions = append(r.provisions, provisioning{claim: claim})
	}
	return nil
}

// Unreserve releases what is reserved. What is already written stays reserved until it is
// visible in the API: it cannot be undone, and must not be given to another claim.
func (b *VolumeBinding) Unreserve(pl *plugin.Placement) plugin.Directives {
	if r, ok := pl.State.Read(Name, reserveKey).(*reservation); ok {
		b.takeBack(r)
		pl.State.Write(Name, reserveKey, nil)
	}
	return plugin.Directives{}
}

func (b *VolumeBinding) takeBack(r *reservation) {
	for i := range r.bindings {
		if v := &r.bindings[i]; v.promised && v.written == nil {
			b.deps.Ledger.promisedVolumes.takeBack(v.pv.Name, v.pv)
		}
	}
	for i := range r.provisions {
		if c := &r.provisions[i]; c.written == nil {
			b.deps.Ledger.promisedClaims.takeBack(keyOf(c.claim), c.claim)
		}
	}
}
