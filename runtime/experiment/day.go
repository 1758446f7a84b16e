package experiment

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/record"
	"github.com/berth-scheduler/berth/runtime/sim"
	"github.com/berth-scheduler/berth/runtime/sim/input"
	"github.com/berth-scheduler/berth/runtime/state"
)

// day is the cluster of a recording without its scheduler: what others did, and when. What
// followed from the scheduler's decisions is left out, because a simulation makes it again.
type day struct {
	settings  *inbox.Settings
	extenders int
	why       string // it ended before its scheduler; may be empty
	lacks     string // why the recording cannot be repeated exactly; may be empty
	swaps     int    // since the scheduler began
	cut       bool
	events    int

	began bool      // the scheduler has tried a pod, or could have
	start time.Time // when it began
	now   time.Time

	changes []sim.Change
	pods    []*pod // that were to be placed, in the order in which they came
	// turned is how much of both there was at the last turn of the loop: what came later was decided in the next segment.
	turned  struct{ pods, changes int }
	byUID   map[types.UID]*pod
	byName  map[string]*pod // the last that was to be placed
	before  uint64          // attempts before this segment
	assumed []*state.Pod    // in the checkpoint, which are bound if they are not in flight
	flying  map[uint64]*pod // pods in flight in the checkpoint, by attempt
	tries   []*pod          // by attempt, from 1
	nodes   map[string]bool
	pools   map[string]string // of nodes, gone ones too
	ranks   map[string]uint64
	storage []metav1.Object // from the start
	claims  map[types.UID]bool
	seen    map[string]bool // storage objects and budgets
	budgets []*policyv1.PodDisruptionBudget
	// profiles are those of the recorded scheduler.
	profiles map[string]bool
}

// pod is a pod of a recording.
type pod struct {
	arrival input.Arrival
	others  bool     // others place it
	last    *v1.Pod  // as others wrote it
	ended   bool     // it has left, or run to its end
	evicted bool     // to make room for another
	numbers []uint64 // of its attempts
	chosen  string   // by the last attempt
	choseAt time.Duration
	node    string // where it was bound
	at      time.Duration
	patch   state.Patch // what plugins wrote
}

// read reads a recording to its end. Its modules are added to others.
func read(r *record.Reader, modules *assembly.Modules) (*day, error) {
	d := &day{
		byUID: make(map[types.UID]*pod), byName: make(map[string]*pod), nodes: make(map[string]bool), pools: make(map[string]string), ranks: make(map[string]uint64),
		claims: make(map[types.UID]bool), seen: make(map[string]bool), flying: make(map[uint64]*pod),
	}
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) || errors.Is(err, record.ErrCut) {
			d.cut = errors.Is(err, record.ErrCut)
			break
		}
		if err == nil {
			err = d.event(e, modules)
		}
		if err != nil {
			return nil, err
		}
	}
	d.events, d.why = r.Read(), r.Why()
	d.pods, d.changes = d.pods[:d.turned.pods], d.changes[:d.turned.changes]
	for _, p := range d.pods { // whose binding cycle had not ended
		if p.node == "" && !p.ended {
			p.node, p.at = p.chosen, p.choseAt
		}
	}
	if d.settings == nil {
		return nil, errors.New("it ends before the settings of the scheduler, so there is nothing to try")
	}
	if !d.began {
		return nil, errors.New("its scheduler placed no pod, so there is nothing to try: it was not the leader, or had no time")
	}
	return d, nil
}

func (d *day) event(e inbox.Event, modules *assembly.Modules) error {
	if s, ok := e.(*inbox.Settings); ok {
		return d.set(s)
	}
	if m, ok := e.(*inbox.Module); ok {
		return modules.AddRecorded(m)
	}
	if d.settings == nil {
		return errors.New("the recording does not begin with settings")
	}
	switch e := e.(type) {
	case *inbox.Clock:
		d.now = e.At
	case *inbox.Step:
		if !d.began {
			d.settle()
			d.began, d.start = true, d.now
		}
		d.turned.pods, d.turned.changes = len(d.pods), len(d.changes)
	case *inbox.Node:
		d.nodes[e.Node.Name], d.pools[e.Node.Name] = true, poolOf(e.Node.Object)
		d.change(e)
	case *inbox.NodeGone:
		delete(d.nodes, e.Name)
		d.change(e)
	case *inbox.Namespace, *inbox.NamespaceGone, *inbox.Feeds:
		d.change(e)
	case *inbox.Pods:
		for _, p := range e.Pods {
			d.pod(p)
		}
	case *inbox.Carried:
		d.before = e.Sequence
	case *inbox.Queued:
		d.pod(e.Pod.Pod)
	case *inbox.Assumed:
		d.assumed = append(d.assumed, e.Pod)
	case *inbox.InFlight:
		d.assumed = slices.DeleteFunc(d.assumed, func(p *state.Pod) bool { return p.UID == e.UID })
		if p := d.byUID[e.UID]; p != nil && e.Pod == nil { // it is tried again
			p.chosen, d.flying[e.Attempt] = e.Node, p
		}
	case *inbox.PodGone:
		if p := d.byUID[e.UID]; p != nil {
			d.end(p, e.UID)
		}
	case *inbox.Object:
		d.object(e.Object)
	case *inbox.ObjectGone:
		delete(d.seen, keyOf(e.Object)) // another one of its name may come
		d.change(e)
	case *inbox.Budgets:
		if len(d.budgets) == 0 && !d.seen["PodDisruptionBudget"] {
			d.budgets = e.List
		}
	case *inbox.Rank:
		d.ranks[e.Node] = e.Rank
	case *inbox.Swap:
		d.swapped(e)
	case *inbox.Decision:
		d.decided(e)
	case *inbox.Bound:
		d.bound(e)
	}
	return nil
}

// settle takes in the pods that are bound, but were not confirmed in the checkpoint.
func (d *day) settle() {
	for _, p := range d.assumed {
		if d.byUID[p.UID] == nil {
			d.pod(p)
		}
	}
	d.assumed = nil
}

// set reads the settings that the scheduler started with.
func (d *day) set(s *inbox.Settings) error {
	if d.settings != nil {
		return errors.New("there are two settings")
	}
	d.settings, d.now, d.lacks, d.profiles = s, s.Start, s.Lacks, make(map[string]bool)
	var file struct {
		Profiles []struct {
			SchedulerName string `json:"schedulerName"`
		} `json:"profiles"`
		Extenders []struct{} `json:"extenders"`
	}
	if err := json.Unmarshal([]byte(s.Config), &file); err != nil {
		return fmt.Errorf("the recorded configuration: %w", err)
	}
	d.extenders = len(file.Extenders)
	for _, p := range file.Profiles {
		d.profiles[p.SchedulerName] = true
	}
	return nil
}

// swapped handles other plugins. Those from before the first attempt are what the scheduler began with.
func (d *day) swapped(e *inbox.Swap) {
	d.lacks = cmp.Or(d.lacks, e.Lacks)
	if d.began {
		d.swaps++
		d.change(e)
		return
	}
	d.settings.Config, d.settings.Attached = e.Config, e.Attached
	d.settings.Annotations = append(d.settings.Annotations, e.Annotations...)
}

// at is the time since the scheduler began.
func (d *day) at() time.Duration {
	if !d.began {
		return 0
	}
	return d.now.Sub(d.start)
}

func (d *day) change(e inbox.Event) { d.changes = append(d.changes, sim.Change{At: d.at(), Event: e}) }

// pod handles a version of a pod.
func (d *day) pod(version *state.Pod) {
	object := version.Object
	finished := object.Status.Phase == v1.PodSucceeded || object.Status.Phase == v1.PodFailed
	p := d.byUID[version.UID]
	switch {
	case p == nil && finished:
	case p == nil:
		p = &pod{others: true, node: object.Spec.NodeName}
		p.last = written(p, object)
		d.byUID[version.UID] = p
		if object.Spec.NodeName != "" {
			d.change(&inbox.Pods{Pods: []*state.Pod{version}})
		} else if d.profiles[version.Profile] {
			p.others = false
			p.arrival = input.Arrival{Pod: p.last, At: d.at()}
			d.pods = append(d.pods, p)
			d.byName[version.Key()] = p
		}
	case p.ended && p.node != "":
	case finished:
		d.end(p, version.UID)
	case preempted(object): // which is repeated if the simulation decides so
		p.evicted = true
	case p.others || object.Spec.NodeName != "" && p.chosen == "":
		if !p.others { // another scheduler was faster
			p.others = true
			d.pods = slices.DeleteFunc(d.pods, func(x *pod) bool { return x == p })
		}
		if next := written(p, object); object.Spec.NodeName != "" && (p.node == "" || !reflect.DeepEqual(p.last, next)) {
			p.last, p.node = next, object.Spec.NodeName
			d.change(&inbox.Pods{Pods: []*state.Pod{version}})
		}
	default:
		if p.ended && p.node == "" { // it was set aside, and is tried again
			p.ended, p.arrival.Until = false, 0
		}
		if next := written(p, object); !reflect.DeepEqual(p.last, next) {
			p.last = next
			d.change(&inbox.Pods{Pods: []*state.Pod{state.NewPod(next)}})
		}
	}
}

// preempted reports whether a scheduler has evicted a pod for another.
func preempted(object *v1.Pod) bool {
	return slices.ContainsFunc(object.Status.Conditions, func(c v1.PodCondition) bool {
		return c.Type == v1.DisruptionTarget && c.Reason == v1.PodReasonPreemptionByScheduler
	})
}

// written returns what others than the scheduler wrote on a pod.
func written(p *pod, object *v1.Pod) *v1.Pod {
	out := object.DeepCopy()
	out.ResourceVersion, out.Generation, out.DeletionTimestamp, out.DeletionGracePeriodSeconds = "", 0, nil, nil
	if !p.others {
		out.Spec.NodeName = ""
		for key := range p.patch.Annotations {
			delete(out.Annotations, key)
		}
		for key := range p.patch.Labels {
			delete(out.Labels, key)
		}
		if len(out.Annotations) == 0 {
			out.Annotations = nil
		}
		if len(out.Labels) == 0 {
			out.Labels = nil
		}
	}
	now := &object.Status
	out.Status = v1.PodStatus{ResourceClaimStatuses: now.ResourceClaimStatuses}
	resized := func(s v1.ContainerStatus) bool { return s.Resources != nil || s.AllocatedResources != nil }
	if slices.ContainsFunc(slices.Concat(now.ContainerStatuses, now.InitContainerStatuses), resized) { // that it runs is no change for a scheduler
		out.Status.ContainerStatuses, out.Status.InitContainerStatuses = now.ContainerStatuses, now.InitContainerStatuses
	}
	return out
}

// end handles a pod that leaves, or has run to its end. If it left because it was evicted or its node went,
// nobody knows when it would have left.
func (d *day) end(p *pod, uid types.UID) {
	if p.ended {
		return
	}
	p.ended = true
	switch {
	case p.evicted:
	case p.others:
		d.change(&inbox.PodGone{UID: uid})
	case p.node != "" && !d.nodes[p.node]:
	case p.node != "":
		p.arrival.Runs = max(d.at()-p.at, 1)
	default:
		p.arrival.Until = max(d.at(), p.arrival.At+1)
	}
}

// decided handles an attempt.
func (d *day) decided(e *inbox.Decision) {
	p := d.byName[e.Pod]
	d.tries = append(d.tries, p)
	if p == nil {
		return
	}
	p.numbers = append(p.numbers, d.before+uint64(len(d.tries)))
	p.chosen, p.choseAt = e.Node, d.at()
}

// bound handles the end of a binding cycle.
func (d *day) bound(e *inbox.Bound) {
	p := d.flying[e.Attempt]
	if n := e.Attempt - d.before; n > 0 && n <= uint64(len(d.tries)) {
		p = d.tries[n-1]
	}
	if p == nil {
		return
	}
	if !e.Status.Success() {
		p.chosen = ""
		return
	}
	p.node, p.at, p.patch = p.chosen, p.choseAt, e.Patch
}

// object handles a version of an object.
func (d *day) object(object metav1.Object) {
	follows, first := d.follows(object)
	_, budget := object.(*policyv1.PodDisruptionBudget)
	switch {
	case follows:
	case first && !d.began && isStorage(object):
		d.storage = append(d.storage, object)
	default:
		if budget {
			d.seen["PodDisruptionBudget"] = true
		}
		d.change(&inbox.Object{Object: object})
	}
}

// follows reports whether a version of an object follows from decisions, so that the simulation makes it
// itself, and whether it is the first one.
func (d *day) follows(object metav1.Object) (follows, first bool) {
	first = !d.seen[keyOf(object)]
	d.seen[keyOf(object)] = true
	switch x := object.(type) {
	case *v1.PersistentVolumeClaim:
		if owner := metav1.GetControllerOf(x); d.began && owner != nil && owner.Kind == "Pod" {
			return true, first // the simulation makes the claims of pods
		}
		d.claims[x.UID] = d.claims[x.UID] || first && x.Spec.VolumeName == ""
		return !first, first
	case *v1.PersistentVolume:
		ref := x.Spec.ClaimRef
		return !first || ref != nil && ref.UID != "" && d.claims[ref.UID], first
	case *storagev1.CSIStorageCapacity, *resourcev1.ResourceClaim:
		return !first, first
	case *storagev1.VolumeAttachment:
		return d.began || !first, first
	}
	return false, first
}

func keyOf(object metav1.Object) string {
	return fmt.Sprintf("%T %s/%s", object, object.GetNamespace(), object.GetName())
}

func isStorage(object metav1.Object) bool {
	switch object.(type) {
	case *v1.PersistentVolumeClaim, *v1.PersistentVolume, *storagev1.StorageClass, *storagev1.CSINode, *storagev1.CSIDriver,
		*storagev1.CSIStorageCapacity, *storagev1.VolumeAttachment, *resourcev1.ResourceClaim, *resourcev1.ResourceSlice, *resourcev1.DeviceClass,
		*resourcev1.DeviceTaintRule:
		return true
	}
	return false
}
