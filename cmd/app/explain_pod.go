package app

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/berth-scheduler/berth/runtime/debughttp"
	"github.com/berth-scheduler/berth/runtime/report"
)

// live prints what a running scheduler knows about a pod.
func (p *printer) live(pod *debughttp.Pod, now time.Time) {
	name := pod.Namespace + "/" + pod.Name
	last, c := pod.Last, pod.Cluster
	if last == nil {
		p.untried(pod, now)
		return
	}
	a, ago := last.Attempt, duration.HumanDuration(now.Sub(last.At))
	gone := c == nil && pod.ClusterError == ""
	switch {
	case c != nil && c.Node != "" && a.Node == "" && c.ResizeDeferred:
		p.text("%s is on %s, where a resize in place waits after attempt %d by profile %s, %s ago:\n%s",
			name, c.Node, a.Try, a.Profile, ago, a.Message)
	case c != nil && c.Node != "" && c.Node != a.Node:
		p.text("%s is on %s. Another scheduler or user bound it (%s). %s", name, c.Node, since(c, now), scheduledFor(pod))
		p.text("This scheduler's last attempt was attempt %d by profile %s, %s ago. %s", a.Try, a.Profile, ago, a.Message)
	case last.Outcome == debughttp.Bound:
		is := "is on"
		switch {
		case gone:
			is = "no longer exists. It was on"
		case c != nil && ended(c):
			is = "has ended (" + c.Phase + "). It was on"
		case c != nil && c.Deleted != nil:
			is = "is being deleted. It is on"
		}
		p.text("%s %s %s, placed %s ago at attempt %d by profile %s: %s; %s, with binding %s.",
			name, is, a.Node, ago, a.Try, a.Profile, looked(a), seconds(last.Duration.Seconds()), seconds(last.Took.Seconds()))
	case gone && pod.Where == "":
		p.text("%s no longer exists. It was on no node after attempt %d by profile %s, %s ago. %s", name, a.Try, a.Profile, ago, a.Message)
	case a.Node != "":
		where := pod.Where
		if where == "" {
			where = "binding"
		}
		p.text("%s will go to %s, chosen %s ago at attempt %d by profile %s, and is %s.", name, a.Node, ago, a.Try, a.Profile, where)
	default:
		where := ""
		if pod.Where != "" {
			where = " (" + pod.Where + ")"
		}
		p.text("%s is pending%s after attempt %d by profile %s, %s ago:\n%s", name, where, a.Try, a.Profile, ago, a.Message)
	}
	p.writing(pod, now)
	p.attempt(a)
	p.works(last.Plugins)
}

// writing prints what keeps decisions from the cluster: a write of the pod that fails, and bindings whose pods hold room already.
func (p *printer) writing(pod *debughttp.Pod, now time.Time) {
	if w := pod.FailedWrite; w != nil {
		p.text("Its writes fail and are retried (%s %s, for %s, %s): %s",
			w.Verb, w.Kind, duration.HumanDuration(now.Sub(w.Since)), count(w.Tries, "attempt"), w.Error)
	}
	if pod.Binding > 0 && (pod.Cluster == nil || pod.Cluster.Node == "") {
		p.text("Pods that wait for their binding: %d. What they request counts on their nodes already.", pod.Binding)
	}
}

// now prints whether a pending pod would fit by now, or with which change.
func (p *printer) now(pod *debughttp.Pod) {
	name, now := pod.Namespace+"/"+pod.Name, pod.Now
	p.printf("\n")
	switch {
	case pod.NowError != "":
		p.text("It is not known whether it would fit now: %s", pod.NowError)
	case now == nil:
		p.text("There is no change to look for: it does not wait for this scheduler.")
	case now.Code == report.Fits:
		p.text("It would fit now on %s.", now.Node)
	case now.Code == report.FitsAfterPreemption:
		p.text("It would fit now on %s, once other pods have left.", now.Node)
	case now.Code == report.Gated:
		p.text("It is not tried, so no change of it or of a node helps.")
	default:
		p.change(name, now.Change, now.Tried)
	}
}

// untried prints what is known about a pod without a remembered attempt.
func (p *printer) untried(pod *debughttp.Pod, now time.Time) {
	name, c := pod.Namespace+"/"+pod.Name, pod.Cluster
	switch {
	case pod.Where != "" && (c == nil || c.Node == ""):
		p.text("%s was not tried yet: it is %s.", name, pod.Where)
		p.writing(pod, now)
	case c == nil: // an answer of another version
		p.text("Nothing is known of %s. %s", name, pod.ClusterError)
	case ended(c):
		on := "on no node"
		if c.Node != "" {
			on = "on " + c.Node
		}
		p.text("%s has ended (%s); it was %s (%s). %s", name, c.Phase, on, since(c, now), scheduledFor(pod))
	case c.Node != "" && served(pod):
		p.text("%s is on %s (%s). %s", name, c.Node, since(c, now), scheduledFor(pod))
		p.text("This replica remembers no attempt for it: the pod was placed before this replica became the leader, or more than 4,096 attempts ago, or another scheduler or user bound it.")
	case c.Node != "":
		p.text("%s is on %s (%s). %s", name, c.Node, since(c, now), scheduledFor(pod))
		p.text("Another scheduler placed it, or it was created with spec.nodeName.")
	case c.Deleted != nil:
		p.text("%s is on no node and is being deleted, so it is not scheduled (%s). %s", name, since(c, now), scheduledFor(pod))
	case served(pod):
		p.text("%s is pending, and the scheduler has not seen it yet (%s). Ask again in a moment.", name, since(c, now))
	default:
		p.text("%s is pending (%s), and this scheduler does not schedule it. %s", name, since(c, now), scheduledFor(pod))
		p.text("It waits for the scheduler of that name. If no such scheduler runs, recreate the pod with another spec.schedulerName.")
	}
}

// served reports whether a profile of this scheduler schedules the pod.
func served(pod *debughttp.Pod) bool { return slices.Contains(pod.Profiles, pod.Cluster.SchedulerName) }

// ended reports whether the pod has terminated.
func ended(c *debughttp.ClusterPod) bool { return c.Phase == "Succeeded" || c.Phase == "Failed" }

// since returns how long ago a pod was created and bound.
func since(c *debughttp.ClusterPod, now time.Time) string {
	text := "created " + duration.HumanDuration(now.Sub(c.Created)) + " ago"
	if c.Bound != nil {
		text += ", bound " + duration.HumanDuration(now.Sub(*c.Bound)) + " ago"
	}
	return text
}

// scheduledFor returns which scheduler the pod is for.
func scheduledFor(pod *debughttp.Pod) string {
	text := "Its spec.schedulerName is " + pod.Cluster.SchedulerName
	if served(pod) {
		return text + ", a profile of this scheduler."
	}
	return text + "; this scheduler serves " + strings.Join(pod.Profiles, ", ") + "."
}
