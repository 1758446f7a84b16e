package whatif

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/sim"
	"github.com/berth-scheduler/berth/runtime/sim/input"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Cluster is the cluster that a question is about. Its objects are shared and never changed.
type Cluster struct {
	// Scheduler is how pods are placed. HTTP extenders are not asked.
	Scheduler assembly.Config
	Nodes     []*v1.Node
	// Bound are the pods on nodes.
	Bound []*state.Pod
	// Nominated are pending pods with status.nominatedNodeName, whose places are taken. Other
	// pending pods do not count.
	Nominated  []*v1.Pod
	Namespaces []*v1.Namespace
	// Feeds are what feeds say of nodes.
	Feeds []state.Feed
	// Debts are what is owed for preemptions at the time At.
	Debts []*inbox.Debt
	At    time.Time
	// Storage, Owners and PodDisruptionBudgets are as in sim.Config.
	Storage              []metav1.Object
	Owners               []metav1.Object
	PodDisruptionBudgets []*policyv1.PodDisruptionBudget
	// Known are the objects that decide what becomes of new pods. Those of a question are added.
	Known input.Known
	// Recorded tells that the objects are those of a recording, which lack what nothing decides by, such as parameters of classes.
	Recorded bool
	Log      *slog.Logger // optional
}

// Ask answers a question that Decode has returned. It uses plugins of its own: their fuel and
// faults do not count for those of a running scheduler.
//
// # Errors
//
// A *Refused if the question does not fit the cluster; otherwise plugins could not be made, the context ended, or
// something panicked.
func (c *Cluster) Ask(ctx context.Context, r *Request) (answer *Answer, err error) {
	if caught := plugin.Guard(plugin.InQuestion, "a what-if", nil, func() { answer, err = c.ask(ctx, r) }); caught != nil {
		return nil, caught
	}
	return answer, err
}

func (c *Cluster) ask(ctx context.Context, r *Request) (*Answer, error) {
	q, err := c.question(r)
	if err != nil {
		return nil, &Refused{err}
	}
	s, result, err := simulate(ctx, q.config)
	if err != nil {
		return nil, err
	}
	answer := q.answer(result)
	if r.Explain {
		q.placed, q.config.Storage = q.after(result), s.Storage()
		if answer.Explanations, err = q.explain(ctx); err != nil {
			return nil, err
		}
	}
	return answer, nil
}

// simulate runs a simulation. A panic of a trial is its error: what would become of the pod is not known.
func simulate(ctx context.Context, c sim.Config) (*sim.Sim, *sim.Result, error) {
	var caught *plugin.Panic
	c.Panicked = func(p *plugin.Panic) { caught = cmp.Or(caught, p) }
	s, err := sim.New(c)
	if err != nil {
		return nil, nil, err
	}
	result, err := s.Run(ctx)
	if err == nil && caught != nil {
		err = caught
	}
	return s, result, err
}

// Refused is a question that does not fit the cluster.
type Refused struct{ err error }

// Refuse returns a *Refused.
func Refuse(err error) error { return &Refused{err} }

func (r *Refused) Error() string { return r.err.Error() }

// Unwrap returns the mistakes.
func (r *Refused) Unwrap() error { return r.err }

// question is a Request about a Cluster.
type question struct {
	config sim.Config
	pods   []asked // in the order of the answer
	byUID  map[types.UID]int
	idle   []string // Request.Idle
	// explained is Request.Explain.
	explained  bool
	added      map[string]bool // nodes
	placed     []*state.Pod    // once the pods that fit are
	known      *input.Known
	quotas     *input.Quotas
	profiles   map[string]bool
	unknown    []string // what could not be looked up
	notApplied []string // objects that stay as they are in the cluster
	daemons    int      // pods of the cluster's DaemonSets on added nodes
	lost       int      // pods of removed nodes
	others     int      // pods of removed nodes that other schedulers place
}

// asked is a pod of a question.
type asked struct {
	pod     *v1.Pod
	answer  Pod
	tried   bool
	reasons []Reason // of the last attempt
	attempt *report.Attempt
}

func (c *Cluster) question(r *Request) (*question, error) {
	q := &question{byUID: make(map[types.UID]int), added: make(map[string]bool), explained: r.Explain, idle: r.Idle}
	q.config = sim.Config{
		Assembly: c.Scheduler, Namespaces: namespaces(c.Namespaces, r.Namespaces), Owners: applied(c.Owners, r.Owners()),
		PodDisruptionBudgets: applied(c.PodDisruptionBudgets, r.PodDisruptionBudgets),
		Feeds:                c.Feeds,
		Debts:                c.Debts, Start: c.At, Log: c.Log, Attempted: q.attempted,
		Where: func(pod *v1.Pod) string {
			i, ok := q.byUID[pod.UID]
			switch {
			case ok && q.pods[i].answer.Template != nil:
				return fmt.Sprintf("pods[%d].pod", *q.pods[i].answer.Template)
			case ok && q.pods[i].answer.DaemonSet != nil:
				return fmt.Sprintf("daemonSets[%d]", *q.pods[i].answer.DaemonSet)
			}
			return ""
		},
	}
	q.config.Assembly.WithoutExtenders, q.config.Assembly.WithoutShadow = true, true
	q.known, q.profiles = c.Known.With(&r.Known), make(map[string]bool)
	for i := range c.Scheduler.Scheduler.Profiles {
		q.profiles[c.Scheduler.Scheduler.Profiles[i].SchedulerName] = true
	}
	removed, err := q.nodes(c, r)
	if err != nil {
		return nil, err
	}
	q.countQuotas(c, r)
	q.daemonsOfAdded(c, r)
	for i := range r.Pods {
		if err := q.template(r, i); err != nil {
			return nil, err
		}
	}
	if err := q.daemonSets(r); err != nil {
		return nil, err
	}
	left, err := q.bound(c, r, removed)
	if err != nil {
		return nil, err
	}
	q.storage(c, r, left)
	for _, pod := range c.Nominated {
		if !removed[pod.Status.NominatedNodeName] {
			q.config.Arrivals = append(q.config.Arrivals, input.Arrival{Pod: pod})
		}
	}
	return q, nil
}

// template asks about the pods of a template.
func (q *question) template(r *Request, i int) error {
	template := r.Pods[i]
	template.Pod = template.Pod.DeepCopy()
	if r.pending == "" { // an existing pod was admitted before
		if err := q.admit(fmt.Sprintf("pods[%d].pod", i), template.Pod); err != nil {
			return err
		}
	}
	for n := range template.Count {
		pod := template.Nth(n)
		pod.UID = cmp.Or(r.pending, types.UID(fmt.Sprintf("whatif-%d-%d", i, n)))
		q.create(pod, Pod{Template: &i}, r.pending != "")
	}
	return nil
}

// admit does what the API server does to a pod that is created, and looks for its profile.
func (q *question) admit(where string, pod *v1.Pod) error {
	unknown, bad := q.known.Admit(pod)
	if bad != nil {
		bad.File = where
		return bad
	}
	for _, u := range unknown {
		q.doubt(u)
	}
	if pod.Spec.NodeName == "" && !q.profiles[pod.Spec.SchedulerName] {
		return fmt.Errorf("%s: pod %s: spec.schedulerName: no profile is named %q; profiles are %s", where, pod.Namespace+"/"+cmp.Or(pod.Name, pod.GenerateName+"0"),
			pod.Spec.SchedulerName, strings.Join(slices.Sorted(maps.Keys(q.profiles)), ", "))
	}
	return nil
}

// countQuotas finds out what is used of quotas. Pods of DaemonSets that the question replaces use nothing.
func (q *question) countQuotas(c *Cluster, r *Request) {
	if len(q.known.ResourceQuotas) == 0 {
		q.quotas = q.known.Quotas(nil)
		return
	}
	existing := slices.Clone(c.Nominated)
	for _, pod := range c.Bound {
		existing = append(existing, pod.Object)
	}
	q.quotas = q.known.Quotas(existing)
	for _, pod := range existing {
		if daemonSetOf(pod, r.DaemonSets) != nil {
			q.quotas.Release(pod)
		}
	}
}

// create asks about a pod, unless the API server would refuse it. One that exists was not refused.
func (q *question) create(pod *v1.Pod, answer Pod, exists bool) {
	if !exists {
		if why := q.refusal(pod); why != "" {
			answer.Namespace, answer.Name, answer.Code, answer.Message = pod.Namespace, pod.Name, NotAdmitted, input.WouldRefuse+why
			q.pods = append(q.pods, asked{pod: pod, answer: answer})
			return
		}
	}
	q.add(pod, answer)
}

// refusal says why LimitRanges or quotas refuse a pod; "" if they do not. It then counts for quotas.
func (q *question) refusal(pod *v1.Pod) string {
	if why := q.known.Refusal(pod); why != "" {
		return why
	}
	return q.quotas.Charge(pod)
}

// doubt adds to what was assumed, once.
func (q *question) doubt(what string) {
	if !slices.Contains(q.unknown, what) {
		q.unknown = append(q.unknown, what)
	}
}

// add asks about a pod. One that names its node is there without a scheduler.
func (q *question) add(pod *v1.Pod, answer Pod) {
	answer.Namespace, answer.Name = pod.Namespace, pod.Name
	q.byUID[pod.UID] = len(q.pods)
	if name := pod.Spec.NodeName; name != "" {
		answer.Code, answer.Node = Bound, name
		if slices.ContainsFunc(q.config.Nodes, func(n *v1.Node) bool { return n.Name == name }) {
			q.config.Bound = append(q.config.Bound, state.NewPod(pod))
		} else {
			answer.Code, answer.Node = DoesNotFit, ""
			answer.Message = fmt.Sprintf("spec.nodeName: there is no node %q, so the pod would never run", name)
		}
		q.pods = append(q.pods, asked{pod: pod, answer: answer})
		return
	}
	q.pods = append(q.pods, asked{pod: pod, answer: answer})
	q.config.Arrivals = append(q.config.Arrivals, input.Arrival{Pod: pod, At: q.begin()})
}

// begin is when the pods of the question come: after those of DaemonSets on added nodes.
func (q *question) begin() time.Duration {
	if q.daemons > 0 {
		return between
	}
	return 0
}

// nodes adds and removes nodes, and returns the names of the removed ones.
func (q *question) nodes(c *Cluster, r *Request) (removed map[string]bool, err error) {
	known := make(map[string]bool, len(c.Nodes))
	for _, n := range c.Nodes {
		known[n.Name] = true
	}
	removed = make(map[string]bool)
	for i, name := range r.RemoveNodes {
		if !known[name] {
			return nil, fmt.Errorf("removeNodes[%d]: the cluster has no node %q", i, name)
		}
		removed[name] = true
	}
	for _, n := range c.Nodes {
		if !removed[n.Name] {
			q.config.Nodes = append(q.config.Nodes, n)
		}
	}
	for i := range r.AddNodes {
		add := &r.AddNodes[i]
		for n := range add.Count {
			node := registered(add.Node)
			if add.Count > 1 {
				node = numbered(node, n) // its labels follow
			}
			if add.Initialized {
				node = initialized(node)
			}
			if known[node.Name] && !removed[node.Name] || q.added[node.Name] {
				return nil, fmt.Errorf("addNodes[%d]: there is a node %q already: give the new one another name", i, node.Name)
			}
			q.added[node.Name] = true
			q.config.Nodes = append(q.config.Nodes, node)
		}
	}
	return removed, nil
}

// bound keeps the pods on the nodes that stay, and asks about those that a controller would
// create again elsewhere. It returns those that left.
func (q *question) bound(c *Cluster, r *Request, removed map[string]bool) (left pods, err error) {
	if len(removed) == 0 && len(r.DaemonSets) == 0 {
		q.config.Bound = slices.Concat(c.Bound, q.config.Bound)
		return nil, nil
	}
	left = make(pods)
	for _, pod := range c.Bound {
		if !removed[pod.NodeName()] && daemonSetOf(pod.Object, r.DaemonSets) != nil {
			left[pod.UID] = ""
			continue
		}
		if !removed[pod.NodeName()] {
			q.config.Bound = append(q.config.Bound, pod)
			continue
		}
		left[pod.UID] = ""
		switch {
		case !comesBack(pod.Object):
			q.lost++
		case !q.profiles[pod.Profile]:
			q.others++
		default:
			again := *pod.Object
			again.UID = "whatif-again-" + pod.UID
			again.ResourceVersion = ""
			again.Spec.NodeName, again.Status = "", v1.PodStatus{ResourceClaimStatuses: pod.Object.Status.ResourceClaimStatuses}
			left[pod.UID] = again.UID
			q.add(&again, Pod{From: pod.NodeName()})
		}
	}
	if len(q.pods) > MaxPods {
		return nil, fmt.Errorf("removeNodes: with their pods there are %d to place, more than %d: ask several questions", len(q.pods), MaxPods)
	}
	return left, nil
}

// comesBack reports whether a controller would create the pod on another node. Pods of a
// DaemonSet and of a kubelet belong to their node, and pods that are being deleted are replaced
// already.
func comesBack(pod *v1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.Kind != "DaemonSet" && owner.Kind != "Node" && pod.DeletionTimestamp == nil
}

// namesExplained is how many nodes of a reason are named.
const namesExplained = 10

// attempted keeps the reasons of the last attempt for each pod of the question.
func (q *question) attempted(a *report.Attempt, name func(row uint32) string) {
	i, ok := q.byUID[a.UID]
	if !ok {
		return
	}
	p := &q.pods[i]
	p.tried, p.reasons, p.attempt = true, nil, nil
	if a.Node != "" {
		return
	}
	if q.explained {
		p.attempt = a.Brief(name, namesExplained)
	}
	for j := range a.Rejections {
		r := &a.Rejections[j]
		p.reasons = append(p.reasons, Reason{Plugin: r.Plugin, Code: r.Code.String(), Reasons: slices.Clone(r.Reasons), Nodes: r.Count})
	}
	slices.SortStableFunc(p.reasons, func(a, b Reason) int { return cmp.Compare(b.Nodes, a.Nodes) })
}
