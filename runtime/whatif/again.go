package whatif

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/shadow"
	"github.com/berth-scheduler/berth/runtime/sim"
	"github.com/berth-scheduler/berth/runtime/sim/input"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Again is what a plugin on trial would change for pods of the cluster.
type Again struct {
	Plugin string `json:"plugin"`
	// Pods is how many were decided about again. Gated were not, because a plugin keeps them out of the queue.
	// Neither were those that are Gone from the cluster, and those WithClaims for resources, whose devices would
	// be free once the pod is away.
	Pods       int `json:"pods"`
	Gated      int `json:"gated"`
	Gone       int `json:"gone"`
	WithClaims int `json:"withClaims"`
	// Trials are by profile.
	Trials []shadow.Report `json:"trials"`
}

// Again decides about each of some pods once more, with and without the plugin that Scheduler has on trial:
// in the cluster as it is, without the pod itself. Nothing is preempted, so that each pod meets the same
// cluster. Pending pods that are nominated to a node count as if they were on it.
//
// # Errors
//
// Those of Ask.
func (c *Cluster) Again(ctx context.Context, plugin string, pods []*v1.Pod) (*Again, error) {
	given := len(pods)
	pods = slices.DeleteFunc(slices.Clone(pods), func(pod *v1.Pod) bool { return state.NewPod(pod).Features&state.FeatureResourceClaims != 0 })
	q := again{asked: make(map[types.UID]bool, len(pods)), tried: make(map[types.UID]bool, len(pods))}
	for _, pod := range pods {
		q.asked[pod.UID] = true
	}
	q.config = sim.Config{
		Assembly: c.Scheduler, Nodes: c.Nodes, Namespaces: c.Namespaces, Storage: c.Storage, Owners: c.Owners, PodDisruptionBudgets: c.PodDisruptionBudgets,
		Attempts: 1, NoEvictions: true, Log: c.Log,
		Attempted: func(a *report.Attempt, _ func(row uint32) string) {
			if q.asked[a.UID] { // others on nodes may be tried for a resize in place
				q.tried[a.UID] = true
			}
		},
	}
	q.config.Assembly.WithoutExtenders = true
	bound := q.others(c)
	for i, pod := range pods {
		q.add(time.Duration(i+1)*between, pod, bound[pod.UID])
	}
	_, result, err := simulate(ctx, q.config)
	if err != nil {
		return nil, err
	}
	return &Again{Plugin: plugin, Pods: len(q.tried), Gated: len(pods) - len(q.tried), WithClaims: given - len(pods), Trials: result.Trials}, nil
}

// again is a question of Again.
type again struct {
	config       sim.Config
	asked, tried map[types.UID]bool
}

// others adds the pods on nodes. It returns stand-ins for those that are asked about, which have UIDs of their
// own.
func (q *again) others(c *Cluster) map[types.UID]*state.Pod {
	standIns := make(map[types.UID]*state.Pod)
	for _, pod := range c.Bound {
		if q.asked[pod.UID] {
			now := standIn(pod.Object, pod.NodeName(), "now")
			standIns[pod.UID] = now
			pod = now
		}
		q.config.Bound = append(q.config.Bound, pod)
	}
	for _, pod := range c.Nominated {
		if !q.asked[pod.UID] {
			q.config.Bound = append(q.config.Bound, standIn(pod, pod.Status.NominatedNodeName, "nominated"))
		}
	}
	return standIns
}

// standIn is a pod on a node that takes another one's place.
func standIn(of *v1.Pod, node, why string) *state.Pod {
	pod := of.DeepCopy()
	pod.UID = types.UID(fmt.Sprintf("again-%s-%s", why, of.UID))
	pod.ResourceVersion, pod.Spec.NodeName = "", node
	return state.NewPod(pod)
}

// add has a pod decided about at a time, while its stand-in is away.
func (q *again) add(at time.Duration, pod *v1.Pod, now *state.Pod) {
	own := pod.DeepCopy()
	own.ResourceVersion, own.Spec.NodeName = "", ""
	own.Status.Phase, own.Status.Conditions, own.Status.NominatedNodeName = "", nil, ""
	q.config.Arrivals = append(q.config.Arrivals, input.Arrival{Pod: own, At: at, Until: at + 1})
	if now == nil {
		return
	}
	back := standIn(pod, now.NodeName(), "back")
	q.config.Changes = append(q.config.Changes,
		sim.Change{At: at, Event: &inbox.PodGone{UID: now.UID}},
		sim.Change{At: at + 2, Event: &inbox.Pods{Pods: []*state.Pod{back}}})
}
