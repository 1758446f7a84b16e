package dynamicresources

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/resourceclaim"

	"github.com/berth-scheduler/berth/runtime/plugin"
)

// Reserve puts the claims in flight that are to be allocated, with the devices that Filter found
// for the node. Reservations of claims that are allocated already are written at PreBind; if
// another pod is faster, PreBind fails.
func (d *DynamicResources) Reserve(pl *plugin.Placement) (plugin.Directives, *plugin.Status) {
	a := attemptOf(pl.State)
	if a == nil {
		return plugin.Directives{}, plugin.Fail(errNotSeen)
	}
	if !a.search {
		return plugin.Directives{}, nil
	}
	f, status := d.chosen(pl, a)
	a.search, a.found = false, nil // other nodes no longer matter
	a.running = pl.Context
	if !status.Success() {
		return plugin.Directives{}, status
	}
	if f.special != nil {
		claim := f.special.claim.DeepCopy()
		claim.Name = nameOf(claim, pl.Seed)
		a.claims = append(a.claims, podClaim{object: claim, special: f.special})
	}
	results := f.results
	for i := range a.claims {
		claim := &a.claims[i]
		if claim.object.Status.Allocation != nil {
			continue
		}
		claim.allocation, results = &results[0], results[1:]
		shareIDs(claim, pl.Seed)
		flying := claim.object.DeepCopy()
		flying.Status.Allocation = claim.allocation
		claim.flight = d.deps.Ledger.start(flying)
	}
	// Whatever was written has been handled before the binding cycle's result is.
	pl.Ended = append(pl.Ended, func() { d.land(a) })
	return plugin.Directives{}, nil
}

// chosen returns the node's devices for the pod. If the answer of Filter was a kept one, devices are searched now.
func (d *DynamicResources) chosen(pl *plugin.Placement, a *attempt) (found, *plugin.Status) {
	f, ok := a.found[pl.Node.Name]
	if ok && f.results != nil {
		return f, nil
	}
	wanted := a.wanted()
	if a.special != nil {
		if f.special, _ = a.special.on(pl.Node.Object); f.special != nil {
			wanted = append(wanted, f.special.claim)
		}
	}
	switch {
	case len(wanted) == 0: // the node has the extended resources itself
		return f, nil
	case !a.kept:
		return f, plugin.Fail(errors.New("claim allocation not found for node"))
	}
	err := d.deps.Search.Within(pl.Context, pl.Node.Name, d.filterTimeout, func(ctx context.Context) (err error) {
		f.results, err = d.deps.Ledger.allocate(ctx, pl.Node.Object, wanted)
		return err
	})
	switch {
	case errors.Is(err, context.DeadlineExceeded) || pl.Context.Err() != nil:
		return f, failure(pl.Context, pl.Node.Object, err)
	case err == nil && len(f.results) == len(wanted):
		return f, nil
	}
	d.deps.Ledger.work.Wrong++
	d.deps.Ledger.forget()
	return f, plugin.Fail(errors.Join(fmt.Errorf("BUG: node %s does not have the devices that were kept for its claims", pl.Node.Name), err))
}

// land ends the flights of an attempt.
func (d *DynamicResources) land(a *attempt) {
	for i := range a.claims {
		d.deps.Ledger.land(a.claims[i].flight)
	}
}

// shareIDs replaces the random identifiers of shares by some that follow from the seed, so that a
// replay has the same.
func shareIDs(claim *podClaim, seed uint64) {
	for i := range claim.allocation.Devices.Results {
		if r := &claim.allocation.Devices.Results[i]; r.ShareID != nil {
			sum := digest(seed, i, claim.object.UID)
			sum[6], sum[8] = sum[6]&0x0f|0x40, sum[8]&0x3f|0x80 // a random UUID (RFC 9562, version 4)
			id := types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16]))
			r.ShareID = &id
		}
	}
}

// digest returns random bytes that follow from a seed.
func digest(seed uint64, i int, uid types.UID) [sha256.Size]byte {
	data := binary.BigEndian.AppendUint64(nil, seed)
	data = binary.BigEndian.AppendUint64(data, uint64(i))
	return sha256.Sum256(append(data, uid...))
}

// Unreserve ends the flights of the pod's claims, begins to remove the pod from the reservations that
// are written, and deletes the claim that was created for extended resources.
func (d *DynamicResources) Unreserve(pl *plugin.Placement) plugin.Directives {
	a := attemptOf(pl.State)
	if a == nil {
		return plugin.Directives{}
	}
	d.land(a)
	for i := range a.claims {
		claim := a.claims[i].object
		if a.claims[i].special != nil {
			if claim.ResourceVersion != "" {
				d.deps.Writer.Delete(claim)
			}
			continue
		}
		if claim.Status.Allocation != nil && resourceclaim.IsReservedForPod(pl.Pod.Object, claim, false) {
			d.deps.Writer.Release(claim, pl.Pod.UID)
		}
	}
	return plugin.Directives{}
}

// reservedFor is a pod in a claim's status.
func reservedFor(pl *plugin.Placement) resourcev1.ResourceClaimConsumerReference {
	return resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: pl.Pod.Name, UID: pl.Pod.UID}
}

// withFinalizer adds the finalizer that keeps an allocated claim until it is deallocated.
func withFinalizer(claim *resourcev1.ResourceClaim) (added bool) {
	if slices.Contains(claim.Finalizers, resourcev1.Finalizer) {
		return false
	}
	claim.Finalizers = append(claim.Finalizers, resourcev1.Finalizer)
	return true
}
