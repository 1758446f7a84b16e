// Package accept checks a scheduler's placements with kube-scheduler's own filters, of
// k8s.io/kubernetes v1.37: it replays what was written to a cluster and checks for each pod,
// when it was bound, whether it may be on its node.
// A scheduler binds several pods at a time, so that bindings are not written in the order in
// which they were decided. If that order is known, placements are checked in it, and each must
// be accepted. If not, a placement that is refused where it was written is tried some positions
// earlier, if the placements that it overtakes are still accepted then, and again after the
// ones that were written next, up to a limit. This shows that there is an order, close to the
// recorded one, in which kube-scheduler accepts each placement given those before; finding none
// does not prove that there is none.
package accept

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/test/internal/scenario"
)

// Config configures a Checker.
type Config struct {
	// Configuration is a KubeSchedulerConfiguration for kube-scheduler; empty for
	// its defaults.
	Configuration []byte
	// InFlight is the number of positions by which a placement may be moved in the order.
	InFlight int
	// Decided returns the number of the decision to place a pod, in the order of decisions; nil
	// if that is unknown. Placements are then put in this order as long as nothing else was
	// written between them, and InFlight is ignored.
	Decided func(pod *v1.Pod) (uint64, error)
}

// Refusal is a placement that kube-scheduler does not accept.
type Refusal struct {
	Pod, Node string
	Revision  int64
	Why       string // of the last check
}

func (r Refusal) String() string {
	return fmt.Sprintf("%s on %s at revision %d: %s", r.Pod, r.Node, r.Revision, r.Why)
}

// Result counts placements.
type Result struct {
	Accepted int
	// Early is the number of these that were accepted only before others, written earlier, and
	// Late the number accepted only after others, written later.
	Early, Late int
	Refusals    []Refusal
}

// Checker replays writes. It must not be used concurrently.
type Checker struct {
	config  Config
	filters *filters
	pods    map[types.UID]bool // whether it is on a node
	recent  []*v1.Pod          // accepted since something else was written, in order
	pending []*placement       // refused so far; with Decided, not checked yet
	result  Result
}

// placement is one that was written.
type placement struct {
	pod      *v1.Pod
	revision int64
	after    int    // placements when it was written
	decided  uint64 // with Decided
	why      string
}

// New returns a checker of an empty cluster. ctx bounds its lifetime.
func New(ctx context.Context, config Config) (*Checker, error) {
	f, err := newFilters(ctx, config.Configuration)
	if err != nil {
		return nil, err
	}
	return &Checker{config: config, filters: f, pods: make(map[types.UID]bool)}, nil
}

// Write replays one write. Objects of kinds that no filter reads are ignored.
func (c *Checker) Write(revision int64, object metav1.Object, deleted bool) error {
	if pod, ok := object.(*v1.Pod); ok {
		return c.pod(revision, withoutDevices(pod), deleted)
	}
	step, ok := stepOf(object, deleted)
	if !ok {
		return nil
	}
	if err := c.settle(); err != nil {
		return err
	}
	if err := c.filters.apply(step); err != nil {
		return err
	}
	return c.again()
}

// settle ends the window in which placements may be reordered.
func (c *Checker) settle() error {
	c.recent = nil
	if c.config.Decided == nil {
		return nil
	}
	slices.SortFunc(c.pending, func(a, b *placement) int { return cmp.Compare(a.decided, b.decided) })
	for _, p := range c.pending {
		accepted, err := c.try(p)
		if err == nil && !accepted {
			err = c.refuse(p)
		}
		if err != nil {
			return err
		}
	}
	c.pending = nil
	return nil
}

func (c *Checker) pod(revision int64, pod *v1.Pod, deleted bool) error {
	placed, known := c.pods[pod.UID]
	if finished := pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed; deleted || finished {
		delete(c.pods, pod.UID)
		if !placed {
			return nil
		}
		if err := c.settle(); err != nil {
			return err
		}
		if i := c.isPending(pod); i >= 0 { // nothing helped while it was there
			c.note(c.pending[i])
			c.pending = slices.Delete(c.pending, i, i+1)
			return nil
		}
		if err := c.filters.remove(pod); err != nil {
			return err
		}
		return c.again()
	}
	switch {
	case pod.Spec.NodeName == "":
		c.pods[pod.UID] = false
		return nil
	case placed: // an update
		if pod.DeletionTimestamp != nil { // spread constraints do not count it from here on
			if err := c.settle(); err != nil {
				return err
			}
		}
		if i := c.isPending(pod); i >= 0 {
			c.pending[i].pod = pod
			return nil
		}
		return c.filters.place(pod)
	case !known: // created with a node: not by a scheduler
		c.pods[pod.UID] = true
		return c.filters.place(pod)
	}
	c.pods[pod.UID] = true
	p := &placement{pod: pod, revision: revision, after: c.result.Accepted}
	if c.config.Decided != nil {
		var err error
		p.decided, err = c.config.Decided(pod)
		c.pending = append(c.pending, p)
		return err
	}
	accepted, err := c.try(p)
	if err == nil && !accepted {
		accepted, err = c.earlier(p)
	}
	if err != nil {
		return err
	}
	if !accepted {
		c.pending = append(c.pending, p)
		return nil
	}
	return c.again()
}

// isPending returns where a pod is in pending, -1 if it is not.
func (c *Checker) isPending(pod *v1.Pod) int {
	return slices.IndexFunc(c.pending, func(p *placement) bool { return p.pod.UID == pod.UID })
}

// try checks a placement, and applies it if it is accepted.
func (c *Checker) try(p *placement) (bool, error) {
	var err error
	if p.why, err = c.filters.ask(p.pod); err != nil {
		return false, fmt.Errorf("%s/%s: %w", p.pod.Namespace, p.pod.Name, err)
	}
	if p.why != "" {
		return false, nil
	}
	c.result.Accepted++
	c.recent = append(c.recent, p.pod)
	return true, c.filters.place(p.pod)
}

// earlier tries a placement some positions before where it was written.
func (c *Checker) earlier(p *placement) (bool, error) {
	for back := 1; ; back += max(1, back/8) { // every position, as there may be few that work
		back = min(back, len(c.recent), c.config.InFlight)
		at := len(c.recent) - back
		accepted, err := c.overtake(p.pod, c.recent[at:])
		if err != nil {
			return false, err
		}
		if accepted {
			c.result.Accepted++
			c.result.Early++
			c.recent = slices.Insert(c.recent, at, p.pod)
			return true, nil
		}
		if at == 0 || back == c.config.InFlight {
			return false, nil
		}
	}
}

// overtake reports whether a pod is accepted before others that are placed, and they after it.
// If so it is placed, otherwise nothing changes.
func (c *Checker) overtake(pod *v1.Pod, others []*v1.Pod) (bool, error) {
	for _, other := range slices.Backward(others) {
		if err := c.filters.remove(other); err != nil {
			return false, err
		}
	}
	order, accepted := slices.Concat([]*v1.Pod{pod}, others), true
	var placed []*v1.Pod
	for _, next := range order {
		why, err := c.filters.ask(next)
		if err != nil {
			return false, err
		}
		if accepted = why == ""; !accepted {
			break
		}
		if err := c.filters.place(next); err != nil {
			return false, err
		}
		placed = append(placed, next)
	}
	if accepted {
		return true, nil
	}
	for _, next := range slices.Backward(placed) {
		if err := c.filters.remove(next); err != nil {
			return false, err
		}
	}
	for _, other := range others {
		if err := c.filters.place(other); err != nil {
			return false, err
		}
	}
	return false, nil
}

// again rechecks the refused placements, until no more are accepted.
func (c *Checker) again() error {
	for progress := c.config.Decided == nil; progress; {
		progress = false
		var left []*placement
		for _, p := range c.pending {
			accepted, err := c.try(p)
			switch {
			case err != nil:
				return err
			case accepted:
				c.result.Late++
				progress = true
			case c.result.Accepted-p.after > c.config.InFlight:
				if err := c.refuse(p); err != nil {
					return err
				}
			default:
				left = append(left, p)
			}
		}
		c.pending = left
	}
	return nil
}

// refuse records a placement that is not accepted in any position. It is applied nevertheless:
// the pod is there, and others were placed given that.
func (c *Checker) refuse(p *placement) error {
	c.note(p)
	return c.filters.place(p.pod)
}

func (c *Checker) note(p *placement) {
	c.result.Refusals = append(c.result.Refusals, Refusal{
		Pod: p.pod.Namespace + "/" + p.pod.Name, Node: p.pod.Spec.NodeName, Revision: p.revision, Why: p.why,
	})
}

// Result ends the check: what is refused now stays refused.
func (c *Checker) Result() (Result, error) {
	if err := c.settle(); err != nil {
		return Result{}, err
	}
	for _, p := range c.pending {
		if err := c.refuse(p); err != nil {
			return Result{}, err
		}
	}
	c.pending = nil
	return c.result, nil
}

// stepOf converts an object other than a pod into a change of a scenario; false if no filter
// reads its kind.
func stepOf(object metav1.Object, deleted bool) (*scenario.Step, bool) {
	step, kind := &scenario.Step{}, ""
	switch o := object.(type) {
	case *v1.Node:
		kind, step.Set.Nodes = scenario.KindNode, []*v1.Node{o}
	case *v1.Namespace:
		kind, step.Set.Namespaces = scenario.KindNamespace, []*v1.Namespace{o}
	case *v1.Service:
		kind, step.Set.Services = scenario.KindService, []*v1.Service{o}
	case *v1.ReplicationController:
		kind, step.Set.ReplicationControllers = scenario.KindReplicationController, []*v1.ReplicationController{o}
	case *appsv1.ReplicaSet:
		kind, step.Set.ReplicaSets = scenario.KindReplicaSet, []*appsv1.ReplicaSet{o}
	case *appsv1.StatefulSet:
		kind, step.Set.StatefulSets = scenario.KindStatefulSet, []*appsv1.StatefulSet{o}
	case *v1.PersistentVolume:
		kind, step.Set.PersistentVolumes = scenario.KindPersistentVolume, []*v1.PersistentVolume{o}
	case *v1.PersistentVolumeClaim:
		kind, step.Set.PersistentVolumeClaims = scenario.KindPersistentVolumeClaim, []*v1.PersistentVolumeClaim{o}
	case *storagev1.StorageClass:
		kind, step.Set.StorageClasses = scenario.KindStorageClass, []*storagev1.StorageClass{o}
	case *storagev1.CSINode:
		kind, step.Set.CSINodes = scenario.KindCSINode, []*storagev1.CSINode{o}
	case *storagev1.CSIDriver:
		kind, step.Set.CSIDrivers = scenario.KindCSIDriver, []*storagev1.CSIDriver{o}
	case *storagev1.CSIStorageCapacity:
		kind, step.Set.CSIStorageCapacities = scenario.KindCSIStorageCapacity, []*storagev1.CSIStorageCapacity{o}
	case *storagev1.VolumeAttachment:
		kind, step.Set.VolumeAttachments = scenario.KindVolumeAttachment, []*storagev1.VolumeAttachment{o}
	case *policyv1.PodDisruptionBudget:
		kind, step.Set.PodDisruptionBudgets = scenario.KindPodDisruptionBudget, []*policyv1.PodDisruptionBudget{o}
	default:
		return nil, false
	}
	if deleted {
		return &scenario.Step{Delete: []scenario.Ref{scenario.RefOf(kind, object)}}, true
	}
	return step, true
}
