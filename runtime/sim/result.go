package sim

import (
	"time"

	"github.com/berth-scheduler/berth/runtime/queue"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/scheduler"
)

// Result is what became of a simulation. Its JSON is `berth simulate -o json`.
type Result struct {
	Summary       Summary       `json:"summary"`
	Placements    []Placement   `json:"placements"`
	Unschedulable []Pending     `json:"unschedulable"`
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
	Pods          int     `json:"pods"`
	Scheduled     int     `json:"scheduled"`
	Unschedulable int     `json:"unschedulable"`
	Attempts      uint64  `json:"attempts"`
	Seconds       float64 `json:"seconds"` // of wall-clock time
	PodsPerSecond float64 `json:"podsPerSecond"`
}

// Placement is a pod that was placed.
type Placement struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	Node      string `json:"node"`
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
	Rows    int64   `json:"rows"`
	Seconds float64 `json:"seconds"`
	Faults  int64   `json:"faults"`
}

// Explanation is what there is to tell of one pod.
type Explanation struct {
	// Node is where it was placed; empty if it was not.
	Node string `json:"node,omitempty"`
	// Message is why it was not placed.
	Message string `json:"message,omitempty"`
	// Attempt is the last try; nil if there was none, as of a gated pod.
	Attempt *report.Attempt `json:"attempt,omitempty"`
}

// result sums up after the last step.
func (w *world) result(s *scheduler.Scheduler, took time.Duration) *Result {
	totals := s.Totals()
	r := &Result{
		Placements: []Placement{}, Unschedulable: []Pending{}, Plugins: pluginUsage(totals.Plugins), Usage: w.usage.list(),
	}
	for place, q := range s.Queued() {
		if p := w.byUID[q.Pod.UID]; p != nil && place == queue.Gated {
			p.message = q.GateReason
		}
	}
	for _, p := range w.pods {
		if p.node != "" {
			r.Placements = append(r.Placements, Placement{p.pod.Namespace, p.pod.Name, p.node})
		} else {
			r.Unschedulable = append(r.Unschedulable, Pending{p.pod.Namespace, p.pod.Name, p.message})
		}
		if p.pod.Namespace == w.config.Explain.Namespace && p.pod.Name == w.config.Explain.Name {
			r.Explanation = &Explanation{Node: p.node, Message: p.message, Attempt: w.explained}
			if p.node != "" {
				r.Explanation.Message = ""
			}
		}
	}
	r.Summary = Summary{
		Nodes: len(w.config.Nodes), Pods: len(w.pods),
		Scheduled: len(r.Placements), Unschedulable: len(r.Unschedulable),
		Attempts: totals.Attempts, Seconds: took.Seconds(),
	}
	if took > 0 {
		r.Summary.PodsPerSecond = float64(r.Summary.Scheduled) / took.Seconds()
	}
	return r
}

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
		u.Faults += t.Faults
		u.Seconds += t.Duration.Seconds()
	}
	return out
}
