package sim

import (
	"time"

	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/scheduler"
)

// Result is what became of a simulation. Its JSON is `berth simulate -o json`.
type Result struct {
	Summary       Summary       `json:"summary"`
	Placements    []Placement   `json:"placements"`
	Unschedulable []Pending     `json:"unschedulable"`
	Evicted       []Eviction    `json:"evicted"`
	Plugins       []PluginUsage `json:"plugins"`

	// Usage is the utilisation of the cluster.
	Usage []Usage `json:"-"`
	// Explanation is about the pod of Config.Explain; nil if it never arrived.
	Explanation *Explanation `json:"explanation,omitempty"`
}

// Summary counts.
type Summary struct {
	Nodes int `json:"nodes"`
	// Pods is the number of pods that were to be scheduled.
	Pods          int `json:"pods"`
	Scheduled     int `json:"scheduled"`
	Unschedulable int `json:"unschedulable"`
	// Evicted is the pods that had to make room for others, those that were on nodes
	// from the start included. They do not count as scheduled.
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

	// At is when, from the start of the simulation.
	At time.Duration `json:"-"`
}

// Eviction is a pod that had to leave its node for another one.
type Eviction struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	Node      string `json:"node"`
	// For is that other pod, NAMESPACE/NAME.
	For string `json:"for"`

	// PlacedAt is when it was placed, and At when its eviction was asked for, from
	// the start of the simulation. It has left when its grace period was over.
	PlacedAt time.Duration `json:"-"`
	At       time.Duration `json:"-"`
}

// Pending is a pod that was not placed, and why.
type Pending struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	Message   string `json:"message"`
}

// PluginUsage is the work of one plugin of one profile over all points.
type PluginUsage struct {
	Profile string  `json:"profile"`
	Name    string  `json:"name"`
	Digest  string  `json:"digest"` // of the module; empty for a native plugin
	Calls   int64   `json:"calls"`
	Rows    int64   `json:"rows"`   // it was asked about
	Reused  int64   `json:"reused"` // whose answers were kept from pods that are alike
	Seconds float64 `json:"seconds"`
	Faults  int64   `json:"faults"`
}

// Explanation is what there is to tell of one pod.
type Explanation struct {
	// Node is where it was placed; empty if it was not.
	Node string `json:"node,omitempty"`
	// Left says that it is not in the cluster any more.
	Left bool `json:"left,omitempty"`
	// EvictedFor is the pod, NAMESPACE/NAME, for which it had to leave its node.
	EvictedFor string `json:"evictedFor,omitempty"`
	// Message is why it was not placed.
	Message string `json:"message,omitempty"`
	// FailedTries is how often it was tried in vain.
	FailedTries int `json:"failedTries"`
	// Attempt is the last try; nil if there was none, as for a gated pod.
	Attempt *report.Attempt `json:"attempt,omitempty"`
}

// result sums up after the last step; stopped tells that it was not the end.
func (s *Sim) result(took time.Duration, stopped bool) *Result {
	w, totals := s.api, s.assembly.Scheduler.Totals()
	r := &Result{
		Placements: []Placement{}, Unschedulable: []Pending{}, Evicted: []Eviction{}, Plugins: pluginUsage(totals.Plugins), Usage: w.usage.list(),
	}
	w.tellGated()
	for _, p := range w.evicted {
		r.Evicted = append(r.Evicted, Eviction{p.pod.Namespace, p.pod.Name, p.node, p.evictedBy.Key(), p.at, p.evictedAt})
	}
	for _, p := range w.pods {
		switch {
		case p.evictedBy != nil:
		case p.node != "":
			r.Placements = append(r.Placements, Placement{p.pod.Namespace, p.pod.Name, p.node, p.at})
		case p.message == "" && stopped:
			p.message = notTried
			fallthrough
		default:
			r.Unschedulable = append(r.Unschedulable, Pending{p.pod.Namespace, p.pod.Name, p.message})
		}
		if p.pod.Namespace == w.config.Explain.Namespace && p.pod.Name == w.config.Explain.Name {
			r.Explanation = &Explanation{Node: p.node, Left: p.left, Message: p.message, FailedTries: p.tries, Attempt: w.explained}
			if p.node != "" {
				r.Explanation.Message = ""
			}
			if p.evictedBy != nil {
				r.Explanation.EvictedFor = p.evictedBy.Key()
			}
		}
	}
	for _, a := range s.config.Arrivals[s.next:] {
		r.Unschedulable = append(r.Unschedulable, Pending{a.Pod.Namespace, a.Pod.Name, notTried})
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

// notTried is the message of pods that a simulation which was stopped did not
// come to.
const notTried = "not tried: the simulation was stopped before"

// pluginUsage adds up the points of each plugin.
func pluginUsage(totals []scheduler.PluginTotal) []PluginUsage {
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
	return out
}
