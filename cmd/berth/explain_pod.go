package main

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/berth-scheduler/berth/runtime/debughttp"
)

// live prints what a running scheduler knows of a pod.
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
	case c != nil && c.Node != "" && c.Node != a.Node:
		p.text("%s is on %s, where somebody else put it (%s). %s", name, c.Node, since(c, now), scheduledFor(pod))
		p.text("The last try here was try %d by profile %s, %s ago. %s", a.Try, a.Profile, ago, a.Message)
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
		p.text("%s %s %s, placed %s ago at try %d by profile %s: %s; %s, with binding %s.",
			name, is, a.Node, ago, a.Try, a.Profile, looked(a), seconds(last.Duration.Seconds()), seconds(last.Took.Seconds()))
	case gone && pod.Where == "":
		p.text("%s no longer exists. It was on no node after try %d by profile %s, %s ago. %s", name, a.Try, a.Profile, ago, a.Message)
	case a.Node != "":
		where := pod.Where
		if where == "" {
			where = "binding"
		}
		p.text("%s is to go to %s, chosen %s ago at try %d by profile %s, and is %s.", name, a.Node, ago, a.Try, a.Profile, where)
	default:
		where := ""
		if pod.Where != "" {
			where = " (" + pod.Where + ")"
		}
		p.text("%s is pending%s after try %d by profile %s, %s ago:\n%s", name, where, a.Try, a.Profile, ago, a.Message)
	}
	p.attempt(a)
	p.works(last.Plugins)
}

// untried prints what is known of a pod of which no try is remembered.
func (p *printer) untried(pod *debughttp.Pod, now time.Time) {
	name, c := pod.Namespace+"/"+pod.Name, pod.Cluster
	switch {
	case pod.Where != "" && (c == nil || c.Node == ""):
		p.text("%s was not tried yet: it is %s.", name, pod.Where)
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
		p.text("This replica remembers no try of it: it was placed before this replica led, or more than 4,096 tries ago, or somebody else bound it.")
	case c.Node != "":
		p.text("%s is on %s (%s). %s", name, c.Node, since(c, now), scheduledFor(pod))
		p.text("Another scheduler placed it, or it was created with spec.nodeName.")
	case c.Deleted != nil:
		p.text("%s is on no node and is being deleted, so it is not scheduled (%s). %s", name, since(c, now), scheduledFor(pod))
	case served(pod):
		p.text("%s is pending, and the scheduler has not taken it in yet (%s). Ask again in a moment.", name, since(c, now))
	default:
		p.text("%s is pending (%s), and this scheduler leaves it alone. %s", name, since(c, now), scheduledFor(pod))
		p.text("It waits for the scheduler of that name. If there is none, create the pod anew with another spec.schedulerName.")
	}
}

// served tells whether the pod is for a profile of the scheduler.
func served(pod *debughttp.Pod) bool { return slices.Contains(pod.Profiles, pod.Cluster.SchedulerName) }

// ended tells whether the pod runs no more.
func ended(c *debughttp.ClusterPod) bool { return c.Phase == "Succeeded" || c.Phase == "Failed" }

// since tells how long a pod has been what it is.
func since(c *debughttp.ClusterPod, now time.Time) string {
	text := "created " + duration.HumanDuration(now.Sub(c.Created)) + " ago"
	if c.Bound != nil {
		text += ", bound " + duration.HumanDuration(now.Sub(*c.Bound)) + " ago"
	}
	return text
}

// scheduledFor tells whose pod it is.
func scheduledFor(pod *debughttp.Pod) string {
	text := "Its spec.schedulerName is " + pod.Cluster.SchedulerName
	if served(pod) {
		return text + ", a profile of this scheduler."
	}
	return text + "; this scheduler serves " + strings.Join(pod.Profiles, ", ") + "."
}
