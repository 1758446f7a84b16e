package sim

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/shadow"
)

// Result is the result of a simulation. Its JSON is `berth simulate -o json`.
type Result struct {
	Summary       Summary     `json:"summary"`
	Placements    []Placement `json:"placements"`
	Unschedulable []Pending   `json:"unschedulable"`
	Evicted       []Eviction  `json:"evicted"`
	// Resizes are pods on nodes that still wait for a resize in place.
	Resizes []Resize      `json:"resizes,omitempty"`
	Plugins []PluginUsage `json:"plugins"`
	// Trials is the results of plugins in shadow.
	Trials []shadow.Report `json:"trials,omitempty"`

	// Attached are the objects of berth.dev in the input, in the order of their plugins.
	Attached []Attached `json:"attached,omitempty"`

	// Load is what nodes use at the end, by the models of feeds.
	Load []Load `json:"load,omitempty"`

	// Usage is the utilisation of the cluster.
	Usage []Usage `json:"-"`
	// Explanation is about the pod of Config.Explain; nil if it never arrived.
	Explanation *Explanation `json:"explanation,omitempty"`
}

// Load is what nodes use at the end, by a model, in the unit of its feed.
type Load struct {
	// Feed is its name with its unit.
	Feed    string `json:"feed"`
	Busiest string `json:"busiest"` // a node
	Most    int64  `json:"most"`    // what that one uses
	Mean    int64  `json:"mean"`    // of all nodes
}

// Attached says of an object what its status would on a real cluster.
type Attached struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Ready     bool   `json:"ready"`
	Reason    string `json:"reason"`
	Message   string `json:"message,omitempty"`
	Version   string `json:"version,omitempty"`
	Digest    string `json:"digest,omitempty"`
	Grant     string `json:"grant,omitempty"`
}

// Summary has counts.
type Summary struct {
	Nodes int `json:"nodes"`
	// Pods is the number of pods to be scheduled.
	Pods          int `json:"pods"`
	Scheduled     int `json:"scheduled"`
	Unschedulable int `json:"unschedulable"`
	// Evicted is the number of pods that were preempted, including pods that were on nodes from
	// the start. They do not count as scheduled.
	Evicted       int     `json:"evicted"`
	Attempts      uint64  `json:"attempts"`
	Seconds       float64 `json:"seconds"` // of wall-clock time
	PodsPerSecond float64 `json:"podsPerSecond"`
}

// Placement is a pod that was placed and not evicted, even if it has left since.
type Placement struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	Node      string `json:"node"`

	UID types.UID `json:"-"`
	// At is the time since the start of the simulation.
	At time.Duration `json:"-"`
}

// Eviction is a pod that was preempted.
type Eviction struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	Node      string `json:"node"`
	// For is the preemptor, NAMESPACE/NAME.
	For string `json:"for"`

	// UID is the victim's, and ForUID the preemptor's.
	UID    types.UID `json:"-"`
	ForUID types.UID `json:"-"`
	// PlacedAt is when the pod was placed, and At when it was evicted, since the start of the
	// simulation. It left when its grace period was over.
	PlacedAt time.Duration `json:"-"`
	At       time.Duration `json:"-"`
}

// Pending is a pod that was not placed, and why.
type Pending struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	Message   string `json:"message"`

	UID types.UID `json:"-"`
}

// Resize is a pod that waits on its node for a resize in place, and why.
type Resize struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	Node      string `json:"node"`
	Message   string `json:"message"`
}

// PluginUsage is the work of one plugin of one profile over all points.
type PluginUsage struct {
	Profile string  `json:"profile"`
	Name    string  `json:"name"`
	Digest  string  `json:"digest"` // of the module; empty for a native plugin
	Calls   int64   `json:"calls"`
	Rows    int64   `json:"rows"`   // rows in its calls
	Reused  int64   `json:"reused"` // rows with a reused answer
	Seconds float64 `json:"seconds"`
	Faults  int64   `json:"faults"`
	// Answered is the number of calls of a module that ended without a fault. Calls has also those that its breaker kept from it.
	Answered int64 `json:"answered,omitempty"`
	// FirstFault is the first fault of the module; empty if there was none.
	FirstFault string `json:"firstFault,omitempty"`
}

// Explanation is everything that is known about one pod.
type Explanation struct {
	// Node is where it was placed; empty if it was not.
	Node string `json:"node,omitempty"`
	// Resize is true if it was on the node from the start, and waits there for a resize in place. Message and Attempt are about that.
	Resize bool `json:"resize,omitempty"`
	// Left is true if it has left the cluster.
	Left bool `json:"left,omitempty"`
	// EvictedFor is the pod, NAMESPACE/NAME, that it was evicted for.
	EvictedFor string `json:"evictedFor,omitempty"`
	// Message is why it was not placed.
	Message string `json:"message,omitempty"`
	// GatedBy is the plugin that holds the pod back, and whose message it is; may be empty.
	GatedBy string `json:"gatedBy,omitempty"`
	// FailedTries is the number of failed attempts.
	FailedTries int `json:"failedTries"`
	// Attempt is the last attempt; nil if there was none, for example for a gated pod.
	Attempt *report.Attempt `json:"attempt,omitempty"`
}

// result makes the result after the last step; stopped is true if the simulation was stopped
// early.
func (s *Sim) result(took time.Duration, stopped bool) *Result {
	w, totals := s.api, s.assembly.Scheduler.Totals()
	r := &Result{
		Placements: []Placement{}, Unschedulable: []Pending{}, Evicted: []Eviction{}, Plugins: s.pluginUsage(totals.Plugins), Trials: s.assembly.Trials(), Usage: w.usage.list(),
	}
	w.tellGated()
	for _, p := range w.evicted {
		r.Evicted = append(r.Evicted, Eviction{p.pod.Namespace, p.pod.Name, p.node, p.evictedBy.Key(), p.pod.UID, p.evictedBy.UID, p.at, p.evictedAt})
	}
	for _, p := range w.pods {
		switch {
		case p.evictedBy != nil:
		case p.node != "":
			r.Placements = append(r.Placements, Placement{p.pod.Namespace, p.pod.Name, p.node, p.pod.UID, p.at})
		case p.message == "" && stopped:
			p.message = notTried
			fallthrough
		default:
			r.Unschedulable = append(r.Unschedulable, Pending{p.pod.Namespace, p.pod.Name, p.message, p.pod.UID})
		}
		if w.explains(p) {
			r.Explanation = w.explanation(p)
			if p.node != "" {
				r.Explanation.Message, r.Explanation.GatedBy = "", ""
			}
		}
	}
	for _, p := range w.resizes {
		if !p.left {
			r.Resizes = append(r.Resizes, Resize{p.pod.Namespace, p.pod.Name, p.node, p.message})
		}
	}
	for _, pod := range s.config.Bound {
		if p := w.byUID[pod.UID]; w.explains(p) {
			r.Explanation = w.explanation(p)
			r.Explanation.Resize = true
			if stopped {
				r.Explanation.Message = cmp.Or(p.message, notTried)
			}
		}
	}
	for _, a := range s.config.Arrivals[s.next:] {
		r.Unschedulable = append(r.Unschedulable, Pending{a.Pod.Namespace, a.Pod.Name, notTried, a.Pod.UID})
	}
	r.Summary = Summary{
		Nodes: len(s.config.Nodes), Pods: len(s.config.Arrivals),
		Scheduled: len(r.Placements), Unschedulable: len(r.Unschedulable), Evicted: len(r.Evicted),
		Attempts: totals.Attempts, Seconds: took.Seconds(),
	}
	if took > 0 {
		r.Summary.PodsPerSecond = float64(r.Summary.Scheduled) / took.Seconds()
	}
	return r
}

// explains reports whether a pod is that of Config.Explain.
func (w *apiServer) explains(p *simPod) bool {
	return p.pod.Namespace == w.config.Explain.Namespace && p.pod.Name == w.config.Explain.Name
}

func (w *apiServer) explanation(p *simPod) *Explanation {
	e := &Explanation{Node: p.node, Left: p.left, Message: p.message, GatedBy: p.gatedBy, FailedTries: p.tries, Attempt: w.explained}
	if p.evictedBy != nil {
		e.EvictedFor = p.evictedBy.Key()
	}
	return e
}

// notTried is the message for pods without an attempt in a simulation that was stopped.
const notTried = "not tried: the simulation was stopped first"

// pluginUsage adds up the points of each plugin.
func (s *Sim) pluginUsage(totals []scheduler.PluginTotal) []PluginUsage {
	out := []PluginUsage{}
	for _, t := range totals {
		if n := len(out); n == 0 || out[n-1].Profile != t.Profile || out[n-1].Name != t.Plugin {
			out = append(out, PluginUsage{Profile: t.Profile, Name: t.Plugin, Digest: t.Digest})
		}
		u := &out[len(out)-1]
		u.Calls += t.Calls
		u.Rows += t.Rows
		u.Reused += t.Reused
		u.Faults += t.Faults
		u.Seconds += t.Duration.Seconds()
	}
	for _, p := range s.assembly.Status().Plugins {
		for i := range out {
			u := &out[i]
			if u.Profile != p.Profile || u.Name != p.Name {
				continue
			}
			if p.Breaker.FirstFault != nil {
				u.FirstFault = p.Breaker.FirstFault.Error()
			}
			for _, w := range p.Work {
				u.Answered += w.Answered()
			}
		}
	}
	return out
}
