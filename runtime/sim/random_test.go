package sim_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/cycle"
	"github.com/berth-scheduler/berth/runtime/sim"
	"github.com/berth-scheduler/berth/runtime/sim/simtest"
)

// TestRandomClusters compares the results of random small simulations with a naive evaluation
// of the objects, by the functions that kube-scheduler calls:
//
//   - every pod is accounted for exactly once;
//   - no node ever holds more than it has, two pods on one host port, or a pod that its taints
//     or the pod's affinity exclude;
//   - no pod ever waits that would fit a node as it is, unless a gate or an unenforced feature
//     holds it, or the node is being cleared for another pod;
//   - pods are evicted only for more important ones, and are gone when their grace period is
//     over.
func TestRandomClusters(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		c := simtest.DrawCluster(t)
		c.Assembly = assembly.Config{
			Seed:     rapid.Uint64().Draw(t, "seed"),
			TieBreak: rapid.SampledFrom([]cycle.TieBreak{cycle.Random, cycle.First}).Draw(t, "tieBreak"),
			Workers:  rapid.IntRange(1, 2).Draw(t, "workers"),
		}
		s, err := sim.New(c)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		newLedger(t, c, r).check(t)
	})
}

// ledger records which pods were in the cluster when, and where.
type ledger struct {
	nodes []*v1.Node
	stays []*stay
	byKey map[string]*stay
}

type stay struct {
	pod                 *v1.Pod
	comes, placed, goes time.Duration // placed and goes are never if there is no such time
	node                string
	message             string
	told                bool
	evicted             time.Duration // never if it was not evicted; otherwise goes is a grace period later
}

const never = time.Duration(1 << 62)

func newLedger(t *rapid.T, c sim.Config, r *sim.Result) *ledger {
	l := &ledger{nodes: c.Nodes, byKey: make(map[string]*stay)}
	for _, pod := range c.Bound {
		s := &stay{pod: pod.Object, goes: never, node: pod.NodeName(), told: true, evicted: never}
		l.stays = append(l.stays, s)
		l.byKey[pod.Namespace+"/"+pod.Name] = s
	}
	for _, a := range c.Arrivals {
		s := &stay{pod: a.Pod, comes: a.At, placed: never, goes: a.Until, evicted: never}
		if a.Until == 0 {
			s.goes = never
		}
		l.stays = append(l.stays, s)
		l.byKey[a.Pod.Namespace+"/"+a.Pod.Name] = s
	}
	tell := func(namespace, name string) *stay {
		s := l.byKey[namespace+"/"+name]
		if s == nil || s.told {
			t.Fatalf("pod %s/%s is in the result twice, or was not in the input", namespace, name)
		}
		s.told = true
		return s
	}
	for _, p := range r.Placements {
		s := tell(p.Namespace, p.Pod)
		s.node, s.placed = p.Node, p.At
		if s.placed < s.comes || s.placed >= s.goes {
			t.Fatalf("pod %s is placed at %v, but is here from %v to %v", p.Pod, s.placed, s.comes, s.goes)
		}
	}
	for _, p := range r.Unschedulable {
		if s := tell(p.Namespace, p.Pod); p.Message == "" {
			t.Fatalf("pod %s is pending without a reason", p.Pod)
		} else {
			s.message = p.Message
		}
	}
	for _, e := range r.Evicted {
		l.evict(t, e, tell)
	}
	for _, s := range l.stays {
		if !s.told {
			t.Fatalf("pod %s is not in the result", s.pod.Name)
		}
	}
	if s := r.Summary; s.Pods != len(c.Arrivals) || s.Evicted != len(r.Evicted) || s.Scheduled != len(r.Placements) || s.Unschedulable != len(r.Unschedulable) {
		t.Fatalf("the summary is %+v", s)
	}
	return l
}

// evict records that a pod was evicted.
func (l *ledger) evict(t *rapid.T, e sim.Eviction, tell func(namespace, name string) *stay) {
	s, other := l.byKey[e.Namespace+"/"+e.Pod], l.byKey[e.For]
	switch {
	case s == nil || other == nil || s.evicted != never:
		t.Fatalf("eviction %+v is of no pod, for none, or the second", e)
	case *s.pod.Spec.Priority >= *other.pod.Spec.Priority:
		t.Fatalf("pod %s of priority %d was evicted for %s of %d", e.Pod, *s.pod.Spec.Priority, e.For, *other.pod.Spec.Priority)
	}
	if !s.told {
		tell(e.Namespace, e.Pod)
		s.node, s.placed = e.Node, e.PlacedAt
	}
	if e.At < s.placed || e.At >= s.goes || s.node != e.Node {
		t.Fatalf("eviction %+v of a pod that is on %q from %v to %v", e, s.node, s.placed, s.goes)
	}
	s.evicted, s.goes = e.At, min(s.goes, e.At+v1.DefaultTerminationGracePeriodSeconds*time.Second)
}

func (l *ledger) check(t *rapid.T) {
	var times []time.Duration
	for _, s := range l.stays {
		for _, at := range []time.Duration{s.comes, s.placed, s.goes} {
			if at != never {
				times = append(times, at)
			}
		}
	}
	slices.Sort(times)
	for _, now := range slices.Compact(times) {
		for _, node := range l.nodes {
			var here []*v1.Pod
			clearing := false
			for _, s := range l.stays {
				if s.node == node.Name && s.placed <= now && now < s.goes {
					clearing = clearing || s.evicted <= now
					// Pods that were there from the start were not filtered.
					if why := misfit(node, here, s.pod); why != "" && s.comes|s.placed != 0 {
						t.Fatalf("at %v pod %s is on %s: %s", now, s.pod.Name, node.Name, why)
					}
					here = append(here, s.pod)
				}
			}
			for _, s := range l.stays {
				if s.comes > now || now >= min(s.placed, s.goes) || held(s) || clearing {
					continue
				}
				if misfit(node, here, s.pod) == "" {
					t.Fatalf("at %v pod %s waits (%q), but it fits on %s", now, s.pod.Name, s.message, node.Name)
				}
			}
		}
	}
}

// held reports whether something other than the nodes keeps a pod pending.
func held(s *stay) bool {
	return len(s.pod.Spec.SchedulingGates) > 0 || len(s.pod.Spec.TopologySpreadConstraints) > 0
}

// misfit says why a pod cannot join others on a node; empty if it can.
func misfit(node *v1.Node, here []*v1.Pod, pod *v1.Pod) string {
	if taint, found := corev1helpers.FindMatchingUntoleratedTaint(klog.Background(), node.Spec.Taints, pod.Spec.Tolerations, func(t *v1.Taint) bool {
		return t.Effect == v1.TaintEffectNoSchedule || t.Effect == v1.TaintEffectNoExecute
	}, true); found {
		return "taint " + taint.Key
	}
	if node.Spec.Unschedulable {
		return "unschedulable"
	}
	if ok, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node); err != nil || !ok {
		return "affinity"
	}
	free := node.Status.Allocatable.DeepCopy()
	take := func(p *v1.Pod) {
		one := v1.ResourceList{v1.ResourcePods: resource.MustParse("1")}
		for _, list := range []v1.ResourceList{one, p.Spec.Containers[0].Resources.Requests} {
			for name, q := range list {
				left := free[name]
				left.Sub(q)
				free[name] = left
			}
		}
	}
	for _, p := range here {
		take(p)
		for _, a := range p.Spec.Containers[0].Ports {
			for _, b := range pod.Spec.Containers[0].Ports {
				if a.HostPort == b.HostPort && a.Protocol == b.Protocol && (a.HostIP == b.HostIP || a.HostIP == "" || b.HostIP == "") {
					return fmt.Sprintf("host port %d", a.HostPort)
				}
			}
		}
	}
	take(pod)
	for name, q := range free {
		// Resources that the pod does not request may be overcommitted by others.
		if _, asked := pod.Spec.Containers[0].Resources.Requests[name]; q.Sign() < 0 && (asked || name == v1.ResourcePods) {
			return string(name)
		}
	}
	return ""
}
