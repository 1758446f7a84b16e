package dynamicresources

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/structured"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// Filter rejects nodes on which allocated devices cannot be used, or are not ready, and nodes that
// do not have the devices for the other claims. Preemption does not help.
func (d *DynamicResources) Filter(c *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	a := attemptOf(c.State)
	if a == nil {
		reason := out.Reason(errNotSeen.Error())
		for i := range rows {
			out.Reject(i, abi.Error, reason)
		}
		return
	}
	if len(a.claims) == 0 {
		return
	}
	wanted := a.wanted()
	numbers := make(map[string]uint16)
	for i, row := range rows {
		status := d.judge(c.Context, a, wanted, c.Snapshot.Nodes.Node[row].Object)
		if status == nil {
			continue
		}
		text := status.Message()
		if numbers[text] == 0 {
			numbers[text] = out.Reason(text)
		}
		out.Reject(i, status.Code, numbers[text])
	}
}

// wanted returns the claims that are not allocated.
func (a *attempt) wanted() []*resourcev1.ResourceClaim {
	var out []*resourcev1.ResourceClaim
	for i := range a.claims {
		if claim := a.claims[i].object; claim.Status.Allocation == nil {
			out = append(out, claim)
		}
	}
	return out
}

// judge returns why a node does not fit; nil if it does.
func (d *DynamicResources) judge(ctx context.Context, a *attempt, wanted []*resourcev1.ResourceClaim, node *v1.Node) *plugin.Status {
	var unavailable []int
	for i := range a.claims {
		if claim := &a.claims[i]; claim.reach != nil && !claim.reach.Match(node) || d.neverReady(claim.object) {
			unavailable = append(unavailable, i)
		}
	}
	var results []resourcev1.AllocationResult
	if a.allocator != nil {
		var status *plugin.Status
		if results, status = d.allocate(ctx, a.allocator, node, wanted); status != nil {
			return status
		}
	}
	if len(unavailable) > 0 {
		for _, i := range unavailable {
			a.claims[i].unavailable = true
		}
		return unresolvable("resourceclaim not available on the node")
	}
	if a.allocator != nil {
		a.results[node.Name] = results
	}
	return nil
}

// allocate searches devices for claims on a node.
func (d *DynamicResources) allocate(
	ctx context.Context, allocator structured.Allocator, node *v1.Node, claims []*resourcev1.ResourceClaim,
) (results []resourcev1.AllocationResult, _ *plugin.Status) {
	err := d.deps.Search.Within(ctx, node.Name, d.filterTimeout, func(ctx context.Context) (err error) {
		results, err = allocator.Allocate(ctx, node, claims)
		return err
	})
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, plugin.Fail(fmt.Errorf("node %s: timed out trying to allocate devices", node.Name))
	case errors.Is(err, structured.ErrFailedAllocationOnNode):
		return nil, unresolvable(err.Error())
	case ctx.Err() != nil:
		return nil, unresolvable(fmt.Sprintf("asked by caller to stop allocating devices: %v", context.Cause(ctx)))
	case err != nil:
		// The claim or a class is wrong, so the other nodes need not be asked.
		return nil, plugin.Fail(err)
	case len(results) != len(claims):
		return nil, unresolvable("cannot allocate all claims")
	}
	return results, nil
}

// neverReady reports whether the devices of an allocated claim cannot become ready: a condition
// says so, or they had their time.
func (d *DynamicResources) neverReady(claim *resourcev1.ResourceClaim) bool {
	if claim.Status.Allocation == nil {
		return false
	}
	ready, err := ready(claim)
	return err != nil || !ready && d.late(claim, d.deps.Now())
}
