package whatif

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/sim"
)

// Code is what would become of a pod.
type Code = report.Outcome

// The codes of an answer. A pod that does not fit would stay pending: Message and Reasons say why.
const (
	Fits                = report.Fits
	FitsAfterPreemption = report.FitsAfterPreemption
	DoesNotFit          = report.DoesNotFit
	Gated               = report.Gated
	Bound               = report.Bound
	NotAdmitted         = report.NotAdmitted
)

// Answer is the answer to a Request.
type Answer struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Nodes is the number of nodes, with those that were added and without those that were
	// removed.
	Nodes   int     `json:"nodes"`
	Summary Summary `json:"summary"`
	// Idle are controllers that make no pods, with the reason, such as "Job default/j is suspended". See Request.Idle.
	Idle []string `json:"idle,omitempty"`
	// NotAsked are the URLs of HTTP extenders, which a question does not reach. They might reject
	// nodes or prefer others.
	NotAsked []string `json:"extendersNotAsked,omitempty"`
	// NotKnown are the kinds that the scheduler has no right to read and the question does not have, such as PriorityClass.
	// Unknown says what of that kind the pods name, and what was assumed instead.
	NotKnown []string `json:"notKnown,omitempty"`
	Unknown  []string `json:"unknown,omitempty"`
	// NotApplied are objects of the question that the cluster has with other values of fields that cannot change, which are in
	// brackets. The cluster's count.
	NotApplied []string `json:"notApplied,omitempty"`
	// Preemptions are those for pods that are not part of the question: pods that wait on their node for a resize in place, or have a
	// nominated node, and pods of the cluster's DaemonSets on added nodes.
	Preemptions []Preemption `json:"preemptions,omitempty"`
	// Webhooks are admission webhooks that may change or refuse new pods. They were not asked.
	Webhooks []string `json:"webhooksNotAsked,omitempty"`
	// Pods are those of the question, in its order: of templates, then of DaemonSets.
	Pods []Pod `json:"pods"`
	// Displaced are those of removed nodes that a controller would create again.
	Displaced []Pod `json:"displaced,omitempty"`
	// Explanations are of pods that do not fit, the first of each template, at most 20: why, and a single
	// change with which it would fit.
	Explanations []*report.Explanation `json:"explanations,omitempty"`
}

// Preemption is pods, NAMESPACE/NAME, that would be preempted for another one.
type Preemption struct {
	For     string   `json:"for"`
	Victims []string `json:"victims"`
}

// Summary counts pods of the question, displaced ones included.
type Summary struct {
	Pods               int `json:"pods"`
	Fit                int `json:"fit"`
	FitAfterPreemption int `json:"fitAfterPreemption"`
	DoNotFit           int `json:"doNotFit"`
	Gated              int `json:"gated"`
	// Bound are pods with spec.nodeName, which no scheduler places.
	Bound int `json:"bound,omitempty"`
	// NotAdmitted are pods that the API server would refuse: LimitRanges and ResourceQuotas do.
	NotAdmitted int `json:"notAdmitted,omitempty"`
	// Victims are pods that would be preempted.
	Victims int `json:"victims"`
	// NodesUsed are nodes that would get pods, AddedNodesUsed those of them that were added.
	NodesUsed      int `json:"nodesUsed"`
	AddedNodesUsed int `json:"addedNodesUsed"`
	// DaemonPods are pods of the cluster's DaemonSets that came to added nodes first.
	DaemonPods int `json:"daemonPods,omitempty"`
	// Lost are pods of removed nodes that no controller would create again elsewhere, such as
	// those of a DaemonSet. OfOtherSchedulers are those that other schedulers would place.
	Lost              int `json:"lost"`
	OfOtherSchedulers int `json:"ofOtherSchedulers"`
}

func (s *Summary) count(p *Pod) {
	s.Pods++
	switch p.Code {
	case Fits:
		s.Fit++
	case FitsAfterPreemption:
		s.FitAfterPreemption++
	case Gated:
		s.Gated++
	case Bound:
		s.Bound++
	case NotAdmitted:
		s.NotAdmitted++
	case DoesNotFit, report.Failed: // answers have no failures
		s.DoNotFit++
	}
}

// Pod is what would become of a pod.
type Pod struct {
	// Template is the index in Request.Pods, DaemonSet that in Request.DaemonSets; both are nil for a displaced pod.
	Template  *int   `json:"template,omitempty"`
	DaemonSet *int   `json:"daemonSet,omitempty"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Code      Code   `json:"code"`
	// Node is where the pod would be; empty if it would stay pending. From is the removed node
	// that it was on.
	Node string `json:"node,omitempty"`
	From string `json:"from,omitempty"`
	// Victims are pods, NAMESPACE/NAME, that would be preempted for this one.
	Victims []string `json:"victims,omitempty"`
	// Message is the message of the pod's PodScheduled condition, or says why it is not admitted.
	Message string `json:"message,omitempty"`
	// Reasons are the nodes that were rejected at the last attempt, by plugin and reasons, the
	// most nodes first.
	Reasons []Reason `json:"reasons,omitempty"`
}

// Reason is a verdict of a plugin on some nodes.
type Reason = report.Reason

// Group tells pods of one template or DaemonSet from others.
func (p *Pod) Group() string {
	switch {
	case p.Template != nil:
		return fmt.Sprintf("pods[%d]", *p.Template)
	case p.DaemonSet != nil:
		return fmt.Sprintf("daemonSets[%d]", *p.DaemonSet)
	}
	return "from " + p.From
}

// answer says what became of the pods.
func (q *question) answer(r *sim.Result) *Answer {
	out := &Answer{
		APIVersion: APIVersion, Kind: AnswerKind, Nodes: len(q.config.Nodes), Pods: []Pod{},
		NotKnown: q.known.Unknown(), Unknown: q.unknown, NotApplied: q.notApplied, Webhooks: q.known.Webhooks,
		Idle: q.idle,
	}
	for i := range q.config.Assembly.Scheduler.Extenders {
		out.NotAsked = append(out.NotAsked, plain.URL(q.config.Assembly.Scheduler.Extenders[i].URLPrefix))
	}
	for _, p := range r.Placements {
		if i, ok := q.byUID[p.UID]; ok {
			a := &q.pods[i].answer
			a.Code, a.Node = Fits, p.Node
			if p.At > q.begin() && len(r.Evicted) > 0 {
				a.Code = FitsAfterPreemption
			}
		}
	}
	for _, p := range r.Unschedulable {
		if i, ok := q.byUID[p.UID]; ok {
			a := &q.pods[i].answer
			a.Code, a.Message, a.Reasons = DoesNotFit, p.Message, q.pods[i].reasons
			if !q.pods[i].tried {
				a.Code = Gated
			}
		}
	}
	q.preempted(out, r)
	out.Summary.DaemonPods = q.daemons
	out.Summary.Victims, out.Summary.Lost, out.Summary.OfOtherSchedulers = len(r.Evicted), q.lost, q.others
	used := make(map[string]bool)
	for i := range q.pods {
		a := &q.pods[i].answer
		out.Summary.count(a)
		if a.Node != "" && !used[a.Node] {
			used[a.Node] = true
			out.Summary.NodesUsed++
			if q.added[a.Node] {
				out.Summary.AddedNodesUsed++
			}
		}
		if a.Template == nil && a.DaemonSet == nil {
			out.Displaced = append(out.Displaced, *a)
		} else {
			out.Pods = append(out.Pods, *a)
		}
	}
	return out
}

// preempted says for which pods others would be preempted.
func (q *question) preempted(out *Answer, r *sim.Result) {
	others := make(map[types.UID]int) // indices in out.Preemptions
	for _, e := range r.Evicted {
		if i, ok := q.byUID[e.UID]; ok {
			a := &q.pods[i].answer
			a.Code, a.Node, a.Message = DoesNotFit, "", "it would be preempted for "+e.For
		}
		victim := e.Namespace + "/" + e.Pod
		if i, ok := q.byUID[e.ForUID]; ok {
			a := &q.pods[i].answer
			a.Victims = append(a.Victims, victim)
			if a.Code == Fits {
				a.Code = FitsAfterPreemption
			}
			continue
		}
		i, ok := others[e.ForUID]
		if !ok {
			i = len(out.Preemptions)
			others[e.ForUID] = i
			out.Preemptions = append(out.Preemptions, Preemption{For: e.For})
		}
		out.Preemptions[i].Victims = append(out.Preemptions[i].Victims, victim)
	}
}
