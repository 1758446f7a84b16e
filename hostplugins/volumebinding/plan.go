package volumebinding

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/storage/volume"
	"k8s.io/utils/ptr"

	"github.com/berth-scheduler/berth/hostplugins/internal/nodeselector"
	"github.com/berth-scheduler/berth/hostplugins/internal/topology"
	"github.com/berth-scheduler/berth/runtime/quantity"
	"github.com/berth-scheduler/berth/runtime/state"
)

// plan is the pod's claims, and what Filter found for them on each row. It is kept until
// Reserve.
type plan struct {
	snapshot *state.Snapshot
	bound    []boundClaim
	// selected are the claims that placing an earlier pod has assigned to a node, in the order
	// of the pod's volumes; open are those that can be bound to a free volume, smallest first.
	selected, open []*unbound

	// volumes and capacities are what unbound.volume and unbound.pool are numbers of.
	volumes    []*v1.PersistentVolume
	capacities []*storagev1.CSIStorageCapacity
	numbers    map[any]int32
	filtered   bool // Filter has been called
}

// Clone returns the value itself: rows do not share elements, and an overlay row
// is used by one what-if only.
func (p *plan) Clone() state.Value { return p }

// unbound is a claim that waits for the pod.
type unbound struct {
	claim *v1.PersistentVolumeClaim
	class string
	node  string // that was selected; empty for an open claim
	err   error  // why volumes cannot be searched

	prebound []prebound
	free     *topology.Query[free]
	provision

	// By row: the number of the volume that the claim would be bound to, 0 if one would be
	// provisioned; and of the capacity that it would be taken from, 0 if capacities do not
	// count.
	volume, pool []int32
}

// prebound is a volume that names the claim, and the rows that reach it.
type prebound struct {
	pv    *v1.PersistentVolume
	reach nodeselector.Selector
}

// provision describes how a volume can be provisioned for a claim.
type provision struct {
	problem     error // fails the scheduling attempt
	unsupported bool  // by the class
	allowed     nodeselector.Selector
	mask        []uint8                                        // of the rows of one call, by position; nil for all
	pools       *topology.Query[*storagev1.CSIStorageCapacity] // nil if capacities do not count
}

// resolve looks up what Filter needs for the waiting claims.
func (b *VolumeBinding) resolve(p *plan) {
	slices.SortStableFunc(p.open, func(x, y *unbound) int {
		return quantity.Compare(sizeOf(x.claim), sizeOf(y.claim))
	})
	for _, u := range p.open {
		b.resolveVolumes(u, p.snapshot)
	}
	for _, u := range slices.Concat(p.selected, p.open) {
		u.provision = b.provision(u, p.snapshot)
	}
}

func sizeOf(claim *v1.PersistentVolumeClaim) resource.Quantity {
	return claim.Spec.Resources.Requests[v1.ResourceStorage]
}

// resolveVolumes finds the volumes that a claim can be bound to: one that names it, or else any
// free one that matches.
func (b *VolumeBinding) resolveVolumes(u *unbound, s *state.Snapshot) {
	selector := labels.Everything()
	if u.claim.Spec.Selector != nil {
		var err error
		if selector, err = metav1.LabelSelectorAsSelector(u.claim.Spec.Selector); err != nil {
			u.err = fmt.Errorf("error creating internal label selector for claim: %s: %w", keyOf(u.claim), err)
			return
		}
	}
	class := b.deps.Ledger.ofClass(u.class)
	for _, pv := range b.naming(u.claim, class) {
		if suits(u.claim, pv) && volume.IsVolumeBoundToClaim(pv, u.claim) {
			reach := topology.OfVolume(pv)
			u.prebound = append(u.prebound, prebound{pv: pv, reach: reach.Resolve(s.Strings)})
		}
	}
	u.free = topology.NewQuery(class.free, s, func(f free) bool {
		if !suits(u.claim, f.pv) || !selector.Matches(labels.Set(f.pv.Labels)) || !volume.CheckAccessModes(u.claim, f.pv) {
			return false
		}
		now := b.deps.Ledger.volume(f.pv.Name)
		return now != nil && now.Spec.ClaimRef == nil
	})
}

// naming returns the volumes of a class that name a claim, including assumed ones, sorted by
// name.
func (b *VolumeBinding) naming(claim *v1.PersistentVolumeClaim, class *classVolumes) []*v1.PersistentVolume {
	var out []*v1.PersistentVolume
	for _, pv := range class.of[keyOf(claim)] {
		if pv = b.deps.Ledger.volume(pv.Name); pv != nil {
			out = append(out, pv)
		}
	}
	for name := range b.deps.Ledger.promisedVolumes {
		pv := b.deps.Ledger.volume(name)
		if pv == nil || slices.Contains(out, pv) || volume.GetPersistentVolumeClass(pv) != volume.GetPersistentVolumeClaimClass(claim) {
			continue
		}
		if ref := pv.Spec.ClaimRef; ref != nil && ref.Namespace == claim.Namespace && ref.Name == claim.Name {
			out = append(out, pv)
		}
	}
	slices.SortFunc(out, func(x, y *v1.PersistentVolume) int { return strings.Compare(x.Name, y.Name) })
	return out
}

// suits reports whether a volume is large enough for a claim and of the same kind.
func suits(claim *v1.PersistentVolumeClaim, pv *v1.PersistentVolume) bool {
	return quantity.Compare(pv.Spec.Capacity[v1.ResourceStorage], sizeOf(claim)) >= 0 &&
		!volume.CheckVolumeModeMismatches(&claim.Spec, &pv.Spec) &&
		ptr.Deref(claim.Spec.VolumeAttributesClassName, "") == ptr.Deref(pv.Spec.VolumeAttributesClassName, "") &&
		pv.DeletionTimestamp == nil
}

// provision determines where a volume can be provisioned for a claim.
func (b *VolumeBinding) provision(u *unbound, s *state.Snapshot) provision {
	if u.class == "" {
		return provision{problem: fmt.Errorf("no class for claim %q", keyOf(u.claim).String())}
	}
	class := b.deps.Storage.Classes.StorageClass(u.class)
	if class == nil {
		return provision{problem: fmt.Errorf("failed to find storage class %q", u.class)}
	}
	if class.Provisioner == "" || class.Provisioner == volume.NotSupportedProvisioner {
		return provision{unsupported: true}
	}
	allowed := topology.OfClass(class)
	out := provision{allowed: allowed.Resolve(s.Strings)}
	size, sized := u.claim.Spec.Resources.Requests[v1.ResourceStorage]
	driver := b.deps.Storage.CSIDrivers.CSIDriver(class.Provisioner)
	if !sized || driver == nil || !ptr.Deref(driver.Spec.StorageCapacity, false) {
		return out
	}
	bytes := quantity.Whole(size)
	out.pools = topology.NewQuery(b.deps.Ledger.capacitiesOf(u.class), s, func(c *storagev1.CSIStorageCapacity) bool {
		limit := largest(c)
		return limit != nil && quantity.Whole(*limit) >= bytes
	})
	return out
}

// largest returns the size of the largest volume that a capacity has room for; nil if that is
// unknown.
func largest(c *storagev1.CSIStorageCapacity) *resource.Quantity {
	if c.MaximumVolumeSize != nil {
		return c.MaximumVolumeSize
	}
	return c.Capacity
}

// number returns the number of a volume or a capacity in a list, from 1.
func number[T comparable](p *plan, list *[]T, object T) int32 {
	n, ok := p.numbers[object]
	if !ok {
		if p.numbers == nil {
			p.numbers = make(map[any]int32)
		}
		*list = append(*list, object)
		n = int32(len(*list))
		p.numbers[object] = n
	}
	return n
}
