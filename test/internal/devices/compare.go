package devices

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// patience is how long PreBind of kube-scheduler's plugin waits for devices.
const patience = 100 * time.Millisecond

// Result is what was compared.
type Result struct {
	// Verdicts counts the verdicts on rows, Fits those that were Success, Written the pods whose claims were
	// written, and Freed the claims that PostFilter gave up.
	Verdicts, Fits, Written, Freed int
	// Of extended resources: Resources counts verdicts and scores of node resources, and Deleted the claims
	// of earlier tries that were deleted.
	Resources, Deleted int
	// Kept counts the verdicts that Berth took from those on earlier pods.
	Kept int
}

// run is a comparison.
type run struct {
	*cluster
	sides   [2]*side // Berth's first
	nodes   *nodes
	rows    []uint32
	claims  []string
	inUse   []*pending
	result  Result
	stopped bool // the sides may differ from here on
}

// pending is a pod that is reserved on both sides.
type pending struct {
	placements [2]*plugin.Placement
}

// Compare draws a cluster and pods from a seed, and compares the plugins on them.
//
// # Errors
//
// A difference.
func Compare(ctx context.Context, category Category, seed uint64, change func(ours *side)) (Result, error) {
	r := &run{cluster: &cluster{Rand: rand.New(rand.NewPCG(seed, 23)), category: category}}
	var err error
	if r.sides[0], err = ours(); err != nil {
		return r.result, err
	}
	if r.sides[1], err = theirs(ctx); err != nil {
		return r.result, err
	}
	if change != nil {
		change(r.sides[0])
	}
	if category == Mixed {
		r.mix()
	}
	r.drawNodes()
	r.cluster.nodes = slices.Clone(r.cluster.nodes)
	r.nodes = newNodes(r.cluster.nodes)
	for row := range r.nodes.snapshot.Len() {
		r.rows = append(r.rows, uint32(row))
	}
	classes, all := r.classes(), r.slices()
	for _, s := range r.sides {
		for _, class := range classes {
			s.class(class, false)
		}
		for _, slice := range all {
			s.slice(slice, false)
		}
	}
	for i := range 6 + r.IntN(6) {
		r.ruled()
		if err := r.pods(ctx, i); err != nil {
			return r.result, fmt.Errorf("category %s, seed %d, pod %d: %w", category, seed, i, err)
		}
		if r.stopped {
			return r.result, nil
		}
		all = r.shift(r.change(all), classes)
		r.deallocate()
		r.remake()
	}
	for len(r.inUse) > 0 {
		if err := r.finish(); err != nil {
			return r.result, fmt.Errorf("category %s, seed %d: %w", category, seed, err)
		}
	}
	work := r.sides[0].work()
	r.result.Kept = work.Kept
	if work.Wrong > 0 {
		return r.result, fmt.Errorf("category %s, seed %d: %d nodes were chosen because of what was kept, in vain", category, seed, work.Wrong)
	}
	return r.result, nil
}

// pods draws a pod with claims, and tries it.
func (r *run) pods(ctx context.Context, i int) error {
	var names []string
	claims := 1 + r.IntN(2)
	if r.has(Extended) && r.chance(80) {
		claims = 0
	}
	for j := range claims {
		if len(r.claims) > 0 && r.chance(25) {
			// kube-scheduler never binds a pod that names a claim twice.
			if name := pick(r.cluster, r.claims...); !slices.Contains(names, name) {
				names = append(names, name)
			}
			continue
		}
		name := fmt.Sprintf("p%d-%d", i, j)
		names = append(names, name)
		if !r.chance(97) {
			continue // it does not exist
		}
		claim := r.claim(name)
		if len(r.claims) > 0 && r.chance(40) { // alike claims share what is kept
			if like := r.sides[0].api.claims[key{"default", pick(r.cluster, r.claims...)}]; like != nil {
				claim.Spec = *like.Spec.DeepCopy()
			}
		}
		r.claims = append(r.claims, name)
		if r.chance(20) || r.is(Conditions) && r.chance(30) {
			r.allocated(claim)
			// Devices that two claims have are free for kube-scheduler when one gives them up.
			if r.taken(&claim.Status.Allocation.Devices.Results[0]) {
				claim.Status = resourcev1.ResourceClaimStatus{}
			}
		}
		for _, s := range r.sides {
			s.api.set(claim)
		}
	}
	pod := r.pod(fmt.Sprintf("p%d", i), names)
	for _, name := range names {
		r.own(name, pod)
	}
	if r.has(Extended) {
		r.containers(pod, claims > 0)
		r.claims = append(r.claims, pod.Name+"-extended-resources-"+made)
		if r.chance(10) {
			stale := r.stale(pod)
			for _, s := range r.sides {
				s.api.set(stale)
			}
		}
	}
	if err := r.try(ctx, state.NewPod(pod)); err != nil || r.stopped {
		return err
	}
	for len(r.inUse) > 0 && r.chance(70) {
		if err := r.finish(); err != nil {
			return err
		}
	}
	return r.same()
}

// both calls both sides and compares what they say.
func (r *run) both(what string, call func(s *side, i int) string) (string, error) {
	var said [2]string
	for i, s := range r.sides {
		said[i] = call(s, i)
	}
	if said[0] != said[1] {
		return "", fmt.Errorf("%s: Berth says %q, kube-scheduler %q", what, said[0], said[1])
	}
	return said[0], nil
}

func words(s *plugin.Status) string { return fmt.Sprintf("%v: %s", s.CodeOf(), s.Message()) }

// try takes a pod from PreEnqueue to Reserve.
func (r *run) try(ctx context.Context, pod *state.Pod) error {
	said, err := r.both("PreEnqueue", func(s *side, _ int) string {
		out := make([]*plugin.Status, 1)
		s.plugin.PreEnqueue([]*state.Pod{pod}, out)
		return words(out[0])
	})
	if err != nil {
		return err
	}
	if said != words(nil) && r.chance(80) { // else PreFilter says so, too
		return nil
	}
	var cycles [2]*plugin.Cycle
	var codes [2]abi.Code
	if _, err := r.both("PreFilter", func(s *side, i int) string {
		cycles[i] = &plugin.Cycle{Context: ctx, Snapshot: r.nodes.snapshot, Pod: pod, State: &state.CycleState{}, Seed: r.Uint64()}
		_, status := s.plugin.PreFilter(cycles[i])
		codes[i] = status.CodeOf()
		return words(status)
	}); err != nil {
		return err
	}
	if r.has(Extended) {
		if err := r.resources(ctx, pod); err != nil {
			return err
		}
	}
	if codes[0] == abi.Skip {
		return nil
	}
	if codes[0] != abi.Success {
		return r.postFilter(cycles)
	}
	var fits []uint32
	var verdicts [2]plugin.Verdicts
	failed := false
	for i, s := range r.sides {
		verdicts[i].Reset(len(r.rows))
		s.plugin.Filter(cycles[i], r.rows, &verdicts[i])
	}
	for at, row := range r.rows {
		if failed {
			break // kube-scheduler asks no further, and Berth searches no further
		}
		r.result.Verdicts++
		if _, err := r.both(fmt.Sprintf("Filter on %s", r.nodes.snapshot.Name(row)), func(_ *side, i int) string {
			return fmt.Sprintf("%v: %q", verdicts[i].Codes[at], verdicts[i].Texts(at))
		}); err != nil {
			return err
		}
		switch verdicts[0].Codes[at] {
		case abi.Success:
			fits = append(fits, row)
		case abi.Error:
			failed = true
		}
	}
	r.result.Fits += len(fits)
	switch {
	case failed:
		return nil
	case len(fits) == 0:
		return r.postFilter(cycles)
	}
	if _, err := r.both("Score", func(s *side, i int) string {
		scores := make([]int64, len(fits))
		if p, ok := s.plugin.(plugin.PreScore); ok && p.PreScore(cycles[i], fits).Is(abi.Skip) {
			return fmt.Sprint(scores, scores)
		}
		status := s.plugin.Score(cycles[i], fits, scores)
		raw := slices.Clone(scores)
		if !status.Success() {
			return words(status)
		}
		status = s.plugin.Normalize(cycles[i], fits, scores)
		return fmt.Sprint(raw, scores) + words(status)[len(words(nil)):]
	}); err != nil {
		return err
	}
	return r.reserve(cycles, pick(r.cluster, fits...))
}

// resources compares the answers of the plugins for node resources about a pod.
func (r *run) resources(ctx context.Context, pod *state.Pod) error {
	var verdicts [2]plugin.Verdicts
	var scores [2][2][]int64
	for i, s := range r.sides {
		c := &plugin.Cycle{Context: ctx, Snapshot: r.nodes.snapshot, Pod: pod, State: &state.CycleState{}}
		if _, status := s.fit.PreFilter(c); !status.Success() {
			return status.AsError()
		}
		verdicts[i].Reset(len(r.rows))
		s.fit.Filter(c, r.rows, &verdicts[i])
		for j, p := range []scorer{s.fit, s.balanced} {
			scores[i][j] = make([]int64, len(r.rows))
			if !p.PreScore(c, r.rows).Is(abi.Skip) {
				if status := p.Score(c, r.rows, scores[i][j]); !status.Success() {
					return status.AsError()
				}
			}
		}
	}
	for at, row := range r.rows {
		r.result.Resources++
		if _, err := r.both("node resources of "+r.nodes.snapshot.Name(row), func(_ *side, i int) string {
			// kube-scheduler names scalars in the order of a map.
			texts := slices.Sorted(slices.Values(verdicts[i].Texts(at)))
			return fmt.Sprintf("%v: %q, scores %d %d", verdicts[i].Codes[at], texts, scores[i][0][at], scores[i][1][at])
		}); err != nil {
			return err
		}
	}
	return nil
}

// postFilter gives up a claim. kube-scheduler chooses by chance if several could be.
func (r *run) postFilter(cycles [2]*plugin.Cycle) error {
	before := r.allocations()
	said, err := r.both("PostFilter", func(s *side, i int) string {
		_, status := s.plugin.PostFilter(cycles[i], &plugin.Diagnosis{Codes: make([]abi.Code, len(r.rows))})
		return words(status)
	})
	if err != nil {
		return err
	}
	if said == words(plugin.NewStatus(abi.Unschedulable, "deletion of ResourceClaim completed")) {
		r.result.Deleted++
		return r.same()
	}
	if said != words(plugin.NewStatus(abi.Unschedulable, "deallocation of ResourceClaim completed")) {
		return nil
	}
	r.result.Freed++
	if after := r.allocations(); after[0] != before[0]-1 || after[1] != before[1]-1 {
		return fmt.Errorf("PostFilter: of %v allocated claims %v are left", before, after)
	}
	r.stopped = r.same() != nil
	return nil
}

func (r *run) allocations() (n [2]int) {
	for i, s := range r.sides {
		for _, claim := range s.api.claims {
			if claim.Status.Allocation != nil {
				n[i]++
			}
		}
	}
	return n
}

// reserve reserves the pod on a node.
func (r *run) reserve(cycles [2]*plugin.Cycle, row uint32) error {
	p := &pending{}
	node := r.nodes.snapshot.Nodes.Node[row]
	said, err := r.both("Reserve", func(s *side, i int) string {
		p.placements[i] = &plugin.Placement{
			Context: cycles[i].Context, Pod: cycles[i].Pod.On(node.Name, state.Patch{}), Node: node, Seed: cycles[i].Seed, State: cycles[i].State,
		}
		_, status := s.plugin.Reserve(p.placements[i])
		return words(status)
	})
	if err != nil {
		return err
	}
	if said != words(nil) {
		return r.unreserve(p)
	}
	r.inUse = append(r.inUse, p)
	return nil
}

// finish binds a reserved pod, or gives it up before or after.
func (r *run) finish() error {
	at := r.IntN(len(r.inUse))
	p := r.inUse[at]
	r.inUse = slices.Delete(r.inUse, at, at+1)
	if r.chance(15) {
		return r.unreserve(p)
	}
	if r.chance(15) {
		r.meddle()
	}
	said, err := r.both("PreBind", func(s *side, i int) string {
		if i == 1 { // Berth's does not wait here, and nobody makes devices ready
			ctx, cancel := context.WithTimeout(p.placements[i].Context, patience)
			defer cancel()
			p.placements[i].Context = ctx
		}
		_, status := s.plugin.PreBind(p.placements[i])
		for _, ended := range p.placements[i].Ended {
			ended()
		}
		return words(status)
	})
	if err != nil {
		return err
	}
	if said != words(nil) || r.chance(15) {
		return r.unreserve(p)
	}
	r.result.Written++
	return r.same()
}

func (r *run) unreserve(p *pending) error {
	for i, s := range r.sides {
		s.plugin.Unreserve(p.placements[i])
	}
	return r.same()
}

// same compares the claims of both API servers.
func (r *run) same() error {
	if r.has(Extended) {
		if _, err := r.both("status of pods", func(s *side, _ int) string { return fmt.Sprint(s.api.told) }); err != nil {
			return err
		}
	}
	for _, name := range r.claims {
		if _, err := r.both("claim "+name, func(s *side, _ int) string {
			claim, err := s.api.get("default", name)
			if err != nil {
				return err.Error()
			}
			return show(claim)
		}); err != nil {
			return err
		}
	}
	return nil
}

// show returns what is compared of a claim.
func show(claim *resourcev1.ResourceClaim) string {
	claim = claim.DeepCopy()
	if a := claim.Status.Allocation; a != nil {
		if a.AllocationTimestamp != nil {
			a.AllocationTimestamp = &metav1.Time{}
		}
		for i := range a.Devices.Results {
			if result := &a.Devices.Results[i]; result.ShareID != nil {
				share := types.UID("share")
				result.ShareID = &share
			}
		}
	}
	data, err := json.Marshal(map[string]any{"finalizers": claim.Finalizers, "labels": claim.Labels, "status": claim.Status, "spec": claim.Spec,
		"annotations": claim.Annotations, "owners": claim.OwnerReferences,
	})
	if err != nil {
		return err.Error()
	}
	return string(data)
}
