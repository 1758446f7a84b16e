package dynamicresources

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/structured"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// Filter rejects nodes on which allocated devices cannot be used, or are not ready, and nodes that
// do not have the devices for the other claims. Preemption does not help. An error about one node stands for all that follow.
func (d *DynamicResources) Filter(c *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	a := attemptOf(c.State)
	if a == nil {
		reason := out.Reason(errNotSeen.Error())
		for i := range rows {
			out.Reject(i, abi.Error, reason)
		}
		return
	}
	if a.empty() {
		return
	}
	f := &filtering{DynamicResources: d, c: c, a: a, wanted: a.wanted(), lacks: unresolvable("cannot allocate all claims")}
	if a.search {
		d.deps.Ledger.follow()
	}
	numbers := make(map[string]uint16)
	var last *plugin.Status
	var number uint16
	for i, row := range rows {
		status := last
		if !last.Is(abi.Error) { // which ends the attempt
			status = f.judge(row)
		}
		if status == nil {
			continue
		}
		if status != last {
			text := status.Message()
			if numbers[text] == 0 {
				numbers[text] = out.Reason(text)
			}
			last, number = status, numbers[text]
		}
		out.Reject(i, status.Code, number)
	}
}

// filtering is a call of Filter.
type filtering struct {
	*DynamicResources
	c      *plugin.Cycle
	a      *attempt
	wanted []*resourcev1.ResourceClaim
	lacks  *plugin.Status
	// kept is what is known about the claims, and of with the special claim, by what nodes need of it.
	kept *verdicts
	of   map[*variant]*verdicts
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
func (f *filtering) judge(row uint32) *plugin.Status {
	node := f.c.Snapshot.Nodes.Node[row].Object
	var special *variant
	if f.a.special != nil {
		var status *plugin.Status
		if special, status = f.a.special.on(node); status != nil {
			return status
		}
	}
	var unavailable []int
	for i := range f.a.claims {
		if claim := &f.a.claims[i]; claim.reach != nil && !claim.reach.Match(node) || f.neverReady(claim.object) {
			unavailable = append(unavailable, i)
		}
	}
	if status := f.search(row, node, special); status != nil {
		return status
	}
	if len(unavailable) > 0 {
		for _, i := range unavailable {
			f.a.claims[i].unavailable = true
		}
		return unresolvable("resourceclaim not available on the node")
	}
	return nil
}

// search returns why a node does not have the devices for the claims; nil if it has.
func (f *filtering) search(row uint32, node *v1.Node, special *variant) *plugin.Status {
	wanted, kept := f.want(special)
	if len(wanted) == 0 {
		return nil
	}
	ledger := f.deps.Ledger
	number := ledger.numbered(kept.view, row, node)
	verdict := kept.verdict(number)
	found := found{special: special}
	if verdict == unknown {
		var status *plugin.Status
		if number, found.results, status = f.look(row, node, wanted, kept); status != nil {
			return status
		}
		verdict = kept.verdict(number)
	}
	if verdict != unknown {
		ledger.work.Kept++
		f.a.kept = true
	}
	switch {
	case verdict == lacks:
		return f.lacks
	case verdict == fits:
		if found.score = kept.score(number); found.score != 0 {
			f.a.found[node.Name] = found
		}
		return nil
	case len(found.results) != len(wanted):
		kept.learn(number, lacks, 0)
		return f.lacks
	}
	for i, claim := range wanted {
		found.score += scoreOf(claim, &found.results[i])
	}
	f.a.found[node.Name] = found
	kept.learn(number, fits, found.score)
	return nil
}

// look numbers what a node has, for which selectors are asked of its devices, and searches these unless the verdict about
// the number is known.
func (f *filtering) look(row uint32, node *v1.Node, wanted []*resourcev1.ResourceClaim, kept *verdicts) (
	number uint32, results []resourcev1.AllocationResult, _ *plugin.Status,
) {
	ledger := f.deps.Ledger
	err := f.deps.Search.Within(f.c.Context, node.Name, f.filterTimeout, func(ctx context.Context) (err error) {
		if number, err = ledger.number(ctx, kept.view, row, node); err == nil && kept.verdict(number) == unknown {
			results, err = ledger.allocate(ctx, node, wanted)
		}
		return err
	})
	return number, results, failure(f.c.Context, node, err)
}

// want returns the claims to be allocated on a node, and what is known about them.
func (f *filtering) want(special *variant) ([]*resourcev1.ResourceClaim, *verdicts) {
	wanted, kept := f.wanted, f.kept
	if special != nil {
		wanted, kept = append(slices.Clip(wanted), special.claim), f.of[special]
	}
	if kept != nil || len(wanted) == 0 {
		return wanted, kept
	}
	kept = f.deps.Ledger.kept(wanted)
	if special == nil {
		f.kept = kept
		return wanted, kept
	}
	if f.of == nil {
		f.of = make(map[*variant]*verdicts)
	}
	f.of[special] = kept
	return wanted, kept
}

// allocate searches devices for claims on a node. The results are fewer than the claims if the node lacks some.
func (l *Ledger) allocate(ctx context.Context, node *v1.Node, claims []*resourcev1.ResourceClaim) ([]resourcev1.AllocationResult, error) {
	l.work.Searched++
	for _, claim := range claims {
		if err := checkCounts(claim); err != nil {
			return nil, err
		}
	}
	allocator, err := l.allocatorFor(ctx, node)
	if err != nil {
		return nil, err
	}
	return allocator.Allocate(ctx, node, claims)
}

// failure returns what the error of a search on a node means for the pod; nil for no error.
func failure(ctx context.Context, node *v1.Node, err error) *plugin.Status {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return plugin.Fail(fmt.Errorf("node %s: timed out trying to allocate devices", node.Name))
	case errors.Is(err, structured.ErrFailedAllocationOnNode):
		return unresolvable(err.Error())
	case ctx.Err() != nil:
		return unresolvable(fmt.Sprintf("asked by caller to stop allocating devices: %v", context.Cause(ctx)))
	default:
		// An error is about the claim or a class, so the other nodes need not be asked.
		return plugin.Fail(err)
	}
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
