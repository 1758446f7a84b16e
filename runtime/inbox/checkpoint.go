package inbox

import (
	"encoding/json"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/internal/budgets"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// What a segment of a recording begins with, after its settings: the cluster, as events, and what the
// loop carries on.
type (
	// Assumed is a pod that is assumed on a node, among the Pods of the node, and what plugins have patched.
	Assumed struct {
		Pod   *state.Pod
		Patch state.Patch
	}
	// Carried is what the loop counts. It follows the cluster.
	Carried struct {
		// Sequence and Evictions are the numbers of the last attempt and of the last eviction.
		Sequence, Evictions uint64
		// Rotation is the row where the next search for enough nodes starts.
		Rotation uint64
		// Flushed is when the queue last looked for pods that were parked for too long.
		Flushed time.Time
	}
	// Queued is a pod of the queue. Pods come place by place, in the order in which the queue has them.
	Queued struct {
		Pod   *state.QueuedPod
		Place string
		// Failed is true if the last attempt ended with an error.
		Failed bool
		// Latest is the newest version of a pod that is out; nil if Pod is the newest. Since is, for a pod in flight, how many
		// of the events that were Missed came before it was popped.
		Latest *state.Pod
		Since  uint64
	}
	// Missed is an event that is kept for pods in flight.
	Missed struct {
		Event  state.ClusterEvent
		Object state.Object // New may be a state.PluginName
	}
	// InFlight is a pod with a node on which it is not bound yet. Pods that wait at Permit come in the order in which they
	// began to wait.
	InFlight struct {
		UID types.UID
		// Attempt is the number of the attempt that chose the node, Try that of the pod's attempts, and First when the pod
		// was first ready to be tried. Flushed tells that it was tried because of a timeout.
		Attempt, Try uint64
		First        time.Time
		Flushed      bool
		// Node is the node's name.
		Node string
		Seed uint64
		// Patch is what plugins have set on the pod.
		Patch state.Patch
		// Waits are the plugins that have not allowed the pod yet; none if its binding cycle runs.
		Waits []Wait
		// Retry is how soon plugins want the pod tried again if its attempt fails.
		Retry state.Retry
		// Kept is what plugins keep for the pod.
		Kept []plugin.Carried
		// Pod is the pod as it was when its attempt began, if the queue does not have it in this place any more.
		Pod *state.Pod
		// NodeObject and Namespace are as the attempt saw them; nil if they have not changed. Unnamed means that it knew no
		// namespace.
		NodeObject *state.Node
		Namespace  *state.Namespace
		Unnamed    bool
		// Beside are the other pods on the node, as the attempt saw them, if a plugin reads them at Unreserve.
		Beside []*state.Pod
		// Nominated are the pods that were nominated to the node, likewise.
		Nominated []*state.Pod
		// Feeds and Cells are what feeds said of the node, likewise.
		Feeds []string
		Cells []state.Cell
	}
	// Wait is a plugin for which a pod waits at Permit.
	Wait struct {
		Plugin   string        `json:"plugin"`
		Timeout  time.Duration `json:"timeout"`
		Deadline time.Time     `json:"deadline"`
	}
	// Kept is what plugins of a profile keep for pods that are not in flight any more.
	Kept struct {
		Profile string
		Kept    []plugin.Carried
	}
	// Preempting is a preemption under way.
	Preempting struct {
		By, Node string
		// Preemptor is the pod, and Victims are those that are left.
		Preemptor Preemptor
		Victims   []Ref
		// Begun is how many evictions have begun, from the first victim on. Running are the victims, from 0 on, by the number
		// of an eviction that has not ended.
		Begun   uint64
		Running map[uint64]int
		Failed  bool
		// Replaced means that the pod has begun another preemption.
		Replaced bool
	}
	// Preemptor is a pod for which others make room. The debts of its namespace and its own are void unless a victim leaves.
	Preemptor struct {
		Ref
		NamespaceOwes bool `json:"namespaceOwes,omitempty"`
		PodOwes       bool `json:"podOwes,omitempty"`
	}
	// Ref names a pod.
	Ref struct {
		UID       types.UID `json:"uid"`
		Namespace string    `json:"namespace"`
		Name      string    `json:"name"`
	}
	// Breaker is the breaker of a profile's plugin of which a call was faulted.
	Breaker struct {
		Profile, Plugin string
		// Carried is in the form of plugin.Breaker.
		Carried json.RawMessage
		// Released is the time of the breaker for which the pods of the plugin were retried; the zero
		// value if they were not.
		Released time.Time
	}
	// Debt is room that others made for a pod that is not bound, as in package debts.
	Debt struct {
		// Namespace owes, or the pod of the UID Pod.
		Namespace string
		Pod       types.UID
		// For is the pod's UID, and Name its NAMESPACE/NAME.
		For          types.UID
		Name         string
		Made, Step   uint64
		Until, Since time.Time
	}
	// Leftover is a pod of the queue that was moved by the timeout since its last attempt, and when it last was.
	Leftover struct {
		UID types.UID
		At  time.Time
	}
	// Budget is how much a plugin has left of the attempts that it may cause, as in package budgets.
	Budget struct {
		Plugin, Namespace, Kind string
		budgets.Rates
		Full, AllFull time.Time
		// Held and Paid are UIDs of pods.
		Held, Paid []string
		PaidAt     map[string]budgets.Rates
	}
	// Nominated is a nomination, in the order of the nominations for a node.
	Nominated struct {
		UID  types.UID
		Node string
	}
)

func (e *Carried) visit(f fields) {
	e.Sequence = f.number("sequence", e.Sequence)
	e.Evictions = f.number("evictions", e.Evictions)
	e.Rotation = f.number("rotation", e.Rotation)
	e.Flushed = f.time("flushed", e.Flushed)
}

func (e *Queued) visit(f fields) {
	e.Place = f.name(e.Place)
	e.Failed = f.flag("failed", e.Failed)
	var q state.QueuedPod
	var object metav1.Object
	if e.Pod != nil {
		q, object = *e.Pod, e.Pod.Pod.Object
	}
	q.Timestamp = f.time("at", q.Timestamp)
	q.InitialAttempt = moment(f, "first", q.InitialAttempt)
	q.BackoffUntil = moment(f, "backoff", q.BackoffUntil)
	q.Attempts = int(f.number("attempts", uint64(q.Attempts)))
	q.Unschedulable = int(f.number("unschedulable", uint64(q.Unschedulable)))
	q.Errors = int(f.number("errors", uint64(q.Errors)))
	f.json("rejectors", &q.Rejectors, len(q.Rejectors) > 0)
	f.json("pending", &q.Pending, len(q.Pending) > 0)
	q.GatedBy, q.GateReason = f.text("gated-by", q.GatedBy), f.text("gate-reason", q.GateReason)
	q.Flushed = f.flag("flushed", q.Flushed)
	if f.since(11) {
		q.RetryAt, q.RetryBy = moment(f, "retry-at", q.RetryAt), f.text("retry-by", q.RetryBy)
	}
	e.Since = f.number("since", e.Since)
	pod, ok := f.object("object", "Pod", object).(*v1.Pod)
	e.Latest = visitPod(f, "latest", e.Latest)
	if !ok {
		f.fail(errMissing)
		return
	}
	if e.Pod == nil {
		q.Pod = state.NewPod(pod)
		e.Pod = &q
	}
}

func (e *Breaker) visit(f fields) {
	e.Profile, e.Plugin = f.name(e.Profile), f.name(e.Plugin)
	e.Released = moment(f, "released", e.Released)
	f.json("carried", &e.Carried, len(e.Carried) > 0)
}

func (e *Nominated) visit(f fields) {
	e.UID, e.Node = types.UID(f.name(string(e.UID))), f.name(e.Node)
}

// visitWrapped visits an object that is wrapped and may be nil: of returns it, and wrap wraps one that is read.
func visitWrapped[W any, O metav1.Object](f fields, key, kind string, w *W, of func(*W) O, wrap func(O) *W) *W {
	var object metav1.Object
	if w != nil {
		object = of(w)
	}
	if o, ok := f.object(key, kind, object).(O); ok && w == nil {
		return wrap(o)
	}
	return w
}

func visitPod(f fields, key string, pod *state.Pod) *state.Pod {
	return visitWrapped(f, key, "Pod", pod, func(p *state.Pod) *v1.Pod { return p.Object }, state.NewPod)
}

func visitNode(f fields, key string, node *state.Node) *state.Node {
	return visitWrapped(f, key, "Node", node, func(n *state.Node) *v1.Node { return n.Object }, state.NewNode)
}

func visitNamespace(f fields, key string, namespace *state.Namespace) *state.Namespace {
	return visitWrapped(f, key, "Namespace", namespace, func(n *state.Namespace) *v1.Namespace { return n.Object }, state.NewNamespace)
}

func (e *Assumed) visit(f fields) {
	f.json("patch", &e.Patch, !e.Patch.Empty())
	if e.Pod = visitPod(f, "object", e.Pod); e.Pod == nil {
		f.fail(errMissing)
	}
}

func (e *Missed) visit(f fields) {
	visitEvent(f, &e.Event)
	visitPair(f, &e.Object)
	name, _ := e.Object.New.(state.PluginName)
	if name = state.PluginName(f.text("plugin", string(name))); name != "" {
		e.Object.New = name
	}
	e.Object.OldPod, e.Object.NewPod = visitPod(f, "old-pod", e.Object.OldPod), visitPod(f, "new-pod", e.Object.NewPod)
	e.Object.OldNode, e.Object.NewNode = visitNode(f, "old-node", e.Object.OldNode), visitNode(f, "new-node", e.Object.NewNode)
}

func (e *InFlight) visit(f fields) {
	e.UID, e.Node = types.UID(f.name(string(e.UID))), f.name(e.Node)
	e.Attempt, e.Try = f.number("attempt", e.Attempt), f.number("try", e.Try)
	e.First = moment(f, "first", e.First)
	e.Flushed = f.flag("flushed", e.Flushed)
	e.Seed = f.number("seed", e.Seed)
	f.json("patch", &e.Patch, !e.Patch.Empty())
	f.json("waits", &e.Waits, len(e.Waits) > 0)
	if f.since(11) {
		f.json("retry", &e.Retry, e.Retry.After > 0)
		e.Nominated = visitPods(f, "nominated", e.Nominated)
	}
	f.json("kept", &e.Kept, len(e.Kept) > 0)
	e.Unnamed = f.flag("unnamed", e.Unnamed)
	e.Pod = visitPod(f, "object", e.Pod)
	e.NodeObject = visitNode(f, "node", e.NodeObject)
	e.Namespace = visitNamespace(f, "namespace", e.Namespace)
	e.Beside = visitPods(f, "beside", e.Beside)
	if f.since(10) { // before, there were no feeds
		f.json("feeds", &e.Feeds, len(e.Feeds) > 0)
		f.json("cells", &e.Cells, len(e.Cells) > 0)
	}
}

func (e *Kept) visit(f fields) {
	e.Profile = f.name(e.Profile)
	f.json("kept", &e.Kept, len(e.Kept) > 0)
}

func (e *Preempting) visit(f fields) {
	e.By, e.Node = f.name(e.By), f.name(e.Node)
	f.json("preemptor", &e.Preemptor, true)
	f.json("victims", &e.Victims, len(e.Victims) > 0)
	e.Begun = f.number("begun", e.Begun)
	f.json("running", &e.Running, len(e.Running) > 0)
	e.Failed, e.Replaced = f.flag("failed", e.Failed), f.flag("replaced", e.Replaced)
}

func (e *Leftover) visit(f fields) {
	e.UID, e.At = types.UID(f.name(string(e.UID))), f.time("at", e.At)
}

func (e *Budget) visit(f fields) {
	e.Plugin, e.Namespace, e.Kind = f.name(e.Plugin), f.name(e.Namespace), f.name(e.Kind)
	e.Own = int(f.number("rate", uint64(e.Own)))
	e.Full = f.time("full", e.Full)
	f.json("held", &e.Held, len(e.Held) > 0)
	f.json("paid", &e.Paid, len(e.Paid) > 0)
	if f.since(8) { // before, a namespace had no budget
		e.All = int(f.number("all", uint64(e.All)))
		e.AllFull = moment(f, "all-full", e.AllFull)
		f.json("paid-at", &e.PaidAt, len(e.PaidAt) > 0)
	}
	if f.before(8) {
		var returned []string // of pods that were placed
		f.json("returned", &returned, false)
	}
}

func (e *Debt) visit(f fields) {
	e.Namespace = f.text("namespace", e.Namespace)
	e.Pod = types.UID(f.text("pod", string(e.Pod)))
	e.For, e.Name = types.UID(f.text("for", string(e.For))), f.text("name", e.Name)
	e.Made, e.Step = f.number("made", e.Made), f.number("step", e.Step)
	e.Until, e.Since = moment(f, "until", e.Until), f.time("since", e.Since)
}
