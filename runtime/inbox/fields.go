package inbox

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// fields reads or writes the fields of an event in one of the two forms. Each method is given a
// value and returns the field's value: the same when writing. In the text form, names come first and
// have no key, and zero values of the others are left out.
type fields interface {
	name(v string) string
	names(v []string) []string // the last names
	text(key, v string) string
	bytes(key string, v []byte) []byte
	number(key string, v uint64) uint64
	flag(key string, v bool) bool
	time(key string, v time.Time) time.Time
	duration(key string, v time.Duration) time.Duration
	// json is a pointer to a value as JSON. given tells that it is not the zero value.
	json(key string, v any, given bool)
	// object is an object of a kind; nil for none.
	object(key, kind string, v metav1.Object) metav1.Object
	objects(key, kind string, v []metav1.Object) []metav1.Object
	// since reports whether the form has what the version is the first to have: a reader of an older one leaves it out.
	since(version int) bool
	// before reports whether the form may be older than that version, and have what it no longer has. Nothing is written then.
	before(version int) bool
	// fail tells a reader that a value is not valid.
	fail(err error)
}

// newEvents returns a new event of each type by the first word of its text form. Its order gives the
// numbers of the compact encoding: new types come last.
func newEvents() []func() (word string, e Event) {
	return []func() (string, Event){
		func() (string, Event) { return "node", &Node{} },
		func() (string, Event) { return "unnode", &NodeGone{} },
		func() (string, Event) { return "pods", &Pods{} },
		func() (string, Event) { return "unpod", &PodGone{} },
		func() (string, Event) { return "namespace", &Namespace{} },
		func() (string, Event) { return "unnamespace", &NamespaceGone{} },
		func() (string, Event) { return "object", &Object{} },
		func() (string, Event) { return "unobject", &ObjectGone{} },
		func() (string, Event) { return "event", &Raise{} },
		func() (string, Event) { return "activate", &Activate{} },
		func() (string, Event) { return "allow", &Allow{} },
		func() (string, Event) { return "reject", &Reject{} },
		func() (string, Event) { return "retry", &Release{} },
		func() (string, Event) { return "swap", &Swap{} },
		func() (string, Event) { return "bound", &Bound{} },
		func() (string, Event) { return "evicted", &Evicted{} },
		func() (string, Event) { return "clock", &Clock{} },
		func() (string, Event) { return "step", &Step{} },
		func() (string, Event) { return "rank", &Rank{} },
		func() (string, Event) { return "budgets", &Budgets{} },
		func() (string, Event) { return "settings", &Settings{} },
		func() (string, Event) { return "module", &Module{} },
		func() (string, Event) { return "decision", &Decision{} },
		func() (string, Event) { return "end", &End{} },
		func() (string, Event) { return "answer", &Answer{} },
		func() (string, Event) { return "carried", &Carried{} },
		func() (string, Event) { return "queued", &Queued{} },
		func() (string, Event) { return "nominated", &Nominated{} },
		func() (string, Event) { return "written", &Written{} },
		func() (string, Event) { return "cut-off", &CutOff{} },
		func() (string, Event) { return "overrun", &Overrun{} },
		func() (string, Event) { return "breaker", &Breaker{} },
		func() (string, Event) { return "assumed", &Assumed{} },
		func() (string, Event) { return "missed", &Missed{} },
		func() (string, Event) { return "in-flight", &InFlight{} },
		func() (string, Event) { return "kept", &Kept{} },
		func() (string, Event) { return "preempting", &Preempting{} },
		func() (string, Event) { return "debt", &Debt{} },
		func() (string, Event) { return "forgive", &Forgive{} },
		func() (string, Event) { return "leftover", &Leftover{} },
		func() (string, Event) { return "budget", &Budget{} },
		func() (string, Event) { return "start", &Start{} },
		func() (string, Event) { return "turn", &Turn{} },
		func() (string, Event) { return "feeds", &Feeds{} },
	}
}

var errMissing = errors.New("the object is missing")

func (e *Node) visit(f fields) {
	var object metav1.Object
	if e.Node != nil {
		object = e.Node.Object
	}
	if n, ok := f.object("object", "Node", object).(*v1.Node); ok {
		if e.Node == nil {
			e.Node = state.NewNode(n)
		}
		return
	}
	f.fail(errMissing)
}

func (e *NodeGone) visit(f fields) { e.Name = f.name(e.Name) }

func (e *Pods) visit(f fields) {
	e.Pods = visitPods(f, "objects", e.Pods)
}

func visitPods(f fields, key string, pods []*state.Pod) []*state.Pod {
	list := make([]metav1.Object, len(pods))
	for i, p := range pods {
		list[i] = p.Object
	}
	list = f.objects(key, "Pod", list)
	if pods == nil {
		for _, object := range list {
			pods = append(pods, state.NewPod(object.(*v1.Pod)))
		}
	}
	return pods
}

func (e *Feeds) visit(f fields) { f.json("changed", &e.Changed, len(e.Changed) > 0) }

func (e *PodGone) visit(f fields) { e.UID = types.UID(f.name(string(e.UID))) }

func (e *Namespace) visit(f fields) {
	var object metav1.Object
	if e.Namespace != nil {
		object = e.Namespace.Object
	}
	if n, ok := f.object("object", "Namespace", object).(*v1.Namespace); ok {
		if e.Namespace == nil {
			e.Namespace = state.NewNamespace(n)
		}
		return
	}
	f.fail(errMissing)
}

func (e *NamespaceGone) visit(f fields) { e.Name = f.name(e.Name) }

func (e *Object) visit(f fields) {
	kind := f.name(kindOf(e.Object))
	e.Early = f.flag("early", e.Early)
	if e.Object = f.object("object", kind, e.Object); e.Object == nil {
		f.fail(errMissing)
	}
}

func (e *ObjectGone) visit(f fields) {
	if e.Object = f.object("object", f.name(kindOf(e.Object)), e.Object); e.Object == nil {
		f.fail(errMissing)
	}
}

func (e *Raise) visit(f fields) {
	visitEvent(f, &e.Event)
	visitPair(f, &e.Object)
}

// visitEvent visits what happened.
func visitEvent(f fields, e *state.ClusterEvent) {
	resource, action := string(e.Resource), actionName(e.Action)
	what := f.name(resource + "/" + action)
	at := max(0, strings.LastIndexByte(what, '/'))
	resource, action = what[:at], strings.TrimPrefix(what[at:], "/")
	var ok bool
	if e.Action, ok = parseAction(action); !ok || resource == "" {
		f.fail(fmt.Errorf("%q is not RESOURCE/ACTION", what))
	}
	if resource == "UnschedulablePod" { // what formats up to 6 call the change of a pod that waits
		resource = string(state.TargetPodResource)
	}
	e.Resource = state.EventResource(resource)
	e.Label = f.text("label", e.Label)
}

// visitPair visits objects that are no pods and nodes to the loop.
func visitPair(f fields, e *state.Object) {
	before, _ := e.Old.(metav1.Object)
	now, _ := e.New.(metav1.Object)
	kind := f.text("kind", cmp.Or(kindOf(before), kindOf(now)))
	if kind == "" {
		return
	}
	if o := f.object("old", kind, before); o != nil {
		e.Old = o
	}
	if o := f.object("new", kind, now); o != nil {
		e.New = o
	}
}

// actionName is the name of an action; a number if it has none of its own.
func actionName(a state.Action) string {
	name := a.String()
	if known, ok := state.ParseAction(name); ok && known == a {
		return name
	}
	return strconv.FormatUint(uint64(a), 10)
}

func parseAction(name string) (state.Action, bool) {
	if a, ok := state.ParseAction(name); ok {
		return a, true
	}
	n, err := strconv.ParseUint(name, 10, 32)
	return state.Action(n), err == nil
}

func (e *Activate) visit(f fields) { e.UIDs = uids(f.names(texts(e.UIDs))) }

func (e *Allow) visit(f fields) {
	e.UID, e.Plugin = types.UID(f.name(string(e.UID))), f.name(e.Plugin)
}

func (e *Reject) visit(f fields) {
	e.UID, e.Plugin, e.Reason = types.UID(f.name(string(e.UID))), f.name(e.Plugin), f.name(e.Reason)
}

func (e *Forgive) visit(f fields) {
	e.Namespace = f.text("namespace", e.Namespace)
	e.Pod = types.UID(f.text("pod", string(e.Pod)))
}

func (e *Release) visit(f fields) { e.Plugin = f.name(e.Plugin) }

func (e *Swap) visit(f fields) {
	e.Config = f.text("config", e.Config)
	f.json("annotations", &e.Annotations, len(e.Annotations) > 0)
	f.json("attached", &e.Attached, len(e.Attached) > 0)
	e.Lacks = f.text("lacks", e.Lacks)
}

// Inspect cannot be written.
func (e *Inspect) visit(fields) {}

// status is a plugin.Status as JSON.
type status struct {
	Code    abi.Code `json:"code"`
	Plugin  string   `json:"plugin,omitempty"`
	Reasons []string `json:"reasons,omitempty"`
	Err     string   `json:"error,omitempty"`
}

func (e *Bound) visit(f fields) {
	e.Attempt = f.number("attempt", e.Attempt)
	var s status
	if e.Status != nil {
		s = status{Code: e.Status.Code, Plugin: e.Status.Plugin, Reasons: e.Status.Reasons}
		if e.Status.Err != nil {
			s.Err = e.Status.Err.Error()
		}
	}
	f.json("status", &s, e.Status != nil)
	if e.Status == nil && s.Code != abi.Success {
		e.Status = &plugin.Status{Code: s.Code, Plugin: s.Plugin, Reasons: s.Reasons}
		if s.Err != "" {
			e.Status.Err = errors.New(s.Err)
		}
	}
	f.json("directives", &e.Directives, len(e.Directives) > 0)
	f.json("patch", &e.Patch, !e.Patch.Empty())
	f.json("beside", &e.Beside, len(e.Beside) > 0)
	f.json("changed", &e.Changed, len(e.Changed) > 0)
}

func (e *Evicted) visit(f fields) {
	e.Eviction = f.number("eviction", e.Eviction)
	e.Stopped = f.flag("stopped", e.Stopped)
	e.Err = f.text("error", e.Err)
}

func (e *Written) visit(f fields) {
	var object metav1.Object
	if e.Claim != nil {
		object = e.Claim
	}
	var ok bool
	if e.Claim, ok = f.object("object", "ResourceClaim", object).(*resourcev1.ResourceClaim); !ok {
		f.fail(errMissing)
	}
}

func (e *CutOff) visit(f fields) { e.Node, e.Search = f.name(e.Node), f.number("search", e.Search) }

func (e *Start) visit(f fields) {
	e.Profile, e.Plugin, e.Namespace, e.Point = f.name(e.Profile), f.name(e.Plugin), f.name(e.Namespace), f.name(e.Point)
	e.Fuel = f.number("fuel", e.Fuel)
}

func (e *Turn) visit(f fields) {
	e.Namespace, e.Cost = f.text("namespace", e.Namespace), f.number("cost", e.Cost)
}

func (e *Overrun) visit(f fields) {
	e.Profile, e.Plugin, e.Point = f.name(e.Profile), f.name(e.Plugin), f.name(e.Point)
	e.Block = f.number("block", e.Block)
	e.Pod = types.UID(f.text("pod", string(e.Pod)))
	e.Call = f.number("call", e.Call)
	e.Interrupted = f.flag("interrupted", e.Interrupted)
	e.Fuel = f.number("fuel", e.Fuel)
	e.Detail, e.Output, e.Trace = f.text("detail", e.Detail), f.text("output", e.Output), f.text("trace", e.Trace)
}

func (e *Clock) visit(f fields) { e.At = f.time("at", e.At) }

func (e *Step) visit(fields) {}

func (e *Rank) visit(f fields) {
	e.Node, e.Rank = f.name(e.Node), f.number("rank", e.Rank)
}

func (e *Answer) visit(f fields) {
	e.Verb = f.name(e.Verb)
	e.Extender = f.number("extender", e.Extender)
	f.json("result", &e.Result, len(e.Result) > 0)
	e.Err = f.text("error", e.Err)
}

func (e *Budgets) visit(f fields) {
	list := make([]metav1.Object, len(e.List))
	for i, b := range e.List {
		list[i] = b
	}
	list = f.objects("objects", "PodDisruptionBudget", list)
	if e.List == nil {
		for _, object := range list {
			e.List = append(e.List, object.(*policyv1.PodDisruptionBudget))
		}
	}
}

func (e *Settings) visit(f fields) {
	e.Start = f.time("start", e.Start)
	e.Seed = f.number("seed", e.Seed)
	e.TieBreak = f.text("tie-break", e.TieBreak)
	e.Candidates = f.number("candidates", e.Candidates)
	e.AllowUnenforced = f.text("allow-unenforced", e.AllowUnenforced)
	e.MaxUnschedulable = f.duration("max-unschedulable", e.MaxUnschedulable)
	e.Ranked = f.flag("ranked", e.Ranked)
	e.IgnoreBindVerbs = f.flag("ignore-bind-verbs", e.IgnoreBindVerbs)
	e.ReuseBytes, e.ReusePerNode = f.number("reuse-bytes", e.ReuseBytes), f.number("reuse-per-node", e.ReusePerNode)
	e.Config = f.text("config", e.Config)
	f.json("annotations", &e.Annotations, len(e.Annotations) > 0)
	f.json("attached", &e.Attached, len(e.Attached) > 0)
	e.Lacks = f.text("lacks", e.Lacks)
	if f.since(7) {
		e.Kubernetes, e.Gates = f.number("kubernetes", e.Kubernetes), f.text("gates", e.Gates)
	}
	if f.since(8) {
		e.NamespaceBudget = f.flag("namespace-budget", e.NamespaceBudget)
	}
	if f.since(9) {
		e.Lanes = f.flag("lanes", e.Lanes)
	}
	if f.since(10) {
		f.json("feeds", &e.Feeds, len(e.Feeds) > 0)
	}
}

func (e *Module) visit(f fields) {
	e.File, e.Digest = f.name(e.File), f.name(e.Digest)
	e.Bytes = f.bytes("bytes", e.Bytes)
}

// moment is a time that may be zero.
func moment(f fields, key string, v time.Time) time.Time {
	if !f.flag("has-"+key, !v.IsZero()) {
		return v
	}
	return f.time(key, v)
}

func (e *Decision) visit(f fields) {
	e.Pod, e.Code = f.name(e.Pod), f.name(e.Code)
	e.Node = f.text("node", e.Node)
	e.Hash = f.number("hash", e.Hash)
	if f.since(7) {
		e.Texts = f.number("texts", e.Texts)
	}
}

func (e *End) visit(f fields) {
	if f.since(6) {
		e.Reason = f.text("reason", e.Reason)
	}
}

func uids(names []string) (out []types.UID) {
	for _, name := range names {
		out = append(out, types.UID(name))
	}
	return out
}

func texts(uids []types.UID) (out []string) {
	for _, uid := range uids {
		out = append(out, string(uid))
	}
	return out
}
