package e2e

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/test/internal/cluster"
	"github.com/berth-scheduler/berth/test/internal/load"
	"github.com/berth-scheduler/berth/test/internal/workload"
)

// fillers is the number of pods on a full node (workload.Filler).
const fillers = 3

// lingering is how long a pod takes to terminate when it is deleted.
const lingering = 400 * time.Millisecond

// TestKilledWhilePreempting kills the scheduler while it preempts pods on full nodes for
// important ones, where victims take a while to terminate. The next scheduler finds terminating
// victims and nominated pods, and continues from there: all important pods are placed, most on
// their nominated node, and no pod is evicted unnecessarily.
// An important pod fits exactly in the place of one victim. So the number of victims on a node
// is at most the number of pods ever nominated to it, plus one for each victim whose deletion
// was written before a kill while the nomination was not, since the next scheduler cannot know
// which pod it was for. A nomination that was never written, because its pod was placed
// elsewhere first, is known from the victim's event. The number of important pods is not a
// bound: as in kube-scheduler, a pod nominated to the node of another counts for that one too,
// so that both may have to wait, and one of them is placed elsewhere.
func TestKilledWhilePreempting(t *testing.T) {
	const nodes, pods, kills = 60, 150, 4
	b := newBench(t, "preempting", nodes, workload.Large())
	b.makePriority()
	if err := load.Each(t.Context(), nodes, func(ctx context.Context, i int) error {
		for _, pod := range workload.Filler(b.namespace, i) {
			pod.Spec.TerminationGracePeriodSeconds = new(int64(30))
			if err := load.Pod(ctx, b.client, pod); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	b.kubelet()
	began := time.Now()
	b.create(pods, func(i int) *v1.Pod {
		time.Sleep(time.Until(began.Add(time.Duration(i) * 20 * time.Millisecond)))
		pod := workload.Pod(b.namespace, fmt.Sprintf("important-%05d", i), 10_000, 1024) // as much as a filler
		pod.Spec.PriorityClassName = workload.Priority
		return pod
	})

	random := dice(t)
	moments := make([]int, kills)
	for i := range moments {
		moments[i] = 1 + random.IntN(pods*5/6)
	}
	slices.Sort(moments)
	var killed []int64 // revisions
	waited := 0
	for _, moment := range moments {
		p := b.run(cluster.Scheduler{})
		evicted := func() int { return fillers*nodes - b.count(isStaying) }
		for end := time.Now().Add(drained); evicted() < moment; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%d pods were evicted within %v, want %d", evicted(), drained, moment)
			}
		}
		if err := p.Kill(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(200 * time.Millisecond) // what it has sent is written now, or never will be
		revision, err := b.Revision(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		killed = append(killed, revision)
		waiting, placed := b.count(isPromised), b.count(isPlaced)
		t.Logf("killed with %d evicted, %d nominated and %d placed, for %d evicted", evicted(), waiting, placed, moment)
		waited += waiting
		if placed >= pods {
			t.Error("the kill came too late: nothing was in progress")
		}
	}
	if waited == 0 {
		t.Error("no pod was left with a nomination")
	}
	b.run(cluster.Scheduler{})
	b.finish()

	made := b.promises(killed)
	t.Logf("%d victims for %d pods; at the kills %d pods had nominations, %d of them got their node, and the nodes of %d victims had no nomination",
		made.evictions, pods, made.found, made.kept, made.orphans)
	for _, problem := range made.problems {
		t.Error(problem)
	}
	if made.kept < made.found/2 {
		t.Error("most pods were not placed on their nominated nodes")
	}
}

// makePriority creates the priority class of the preempting pods.
func (b *bench) makePriority() {
	b.Helper()
	classes := b.client.SchedulingV1().PriorityClasses()
	_, err := classes.Create(b.Context(), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: workload.Priority}, Value: 1000}, metav1.CreateOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := classes.Delete(context.Background(), workload.Priority, metav1.DeleteOptions{}); err != nil {
			b.Error(err)
		}
	})
	// The API server recognizes a class a moment after it was created.
	end := time.Now().Add(patience)
	for {
		pod := b.pod(0)
		pod.Spec.PriorityClassName = workload.Priority
		_, err := b.client.CoreV1().Pods(b.namespace).Create(b.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil {
			return
		}
		if !apierrors.IsForbidden(err) || time.Now().After(end) {
			b.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// kubelet terminates deleted pods, after a while, until the test ends.
func (b *bench) kubelet() {
	ctx, stop := context.WithCancel(b.Context())
	done := make(chan struct{})
	b.Cleanup(func() {
		stop()
		<-done
	})
	go func() {
		defer close(done)
		seen := make(map[types.UID]time.Time)
		for ctx.Err() == nil {
			time.Sleep(50 * time.Millisecond)
			list, err := b.client.CoreV1().Pods(b.namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
			if err != nil {
				continue
			}
			for i := range list.Items {
				pod := &list.Items[i]
				if pod.DeletionTimestamp == nil {
					continue
				}
				if seen[pod.UID].IsZero() {
					seen[pod.UID] = time.Now()
				}
				if time.Since(seen[pod.UID]) < lingering {
					continue
				}
				err := b.client.CoreV1().Pods(b.namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
					GracePeriodSeconds: new(int64), Preconditions: &metav1.Preconditions{UID: &pod.UID},
				})
				if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && ctx.Err() == nil {
					b.Errorf("ending %s: %v", pod.Name, err)
				}
			}
		}
	}()
}

func isFiller(pod *v1.Pod) bool { return pod.Labels["app"] == "filler" }

func isStaying(pod *v1.Pod) bool { return isFiller(pod) && pod.DeletionTimestamp == nil }

func isPlaced(pod *v1.Pod) bool { return !isFiller(pod) && pod.Spec.NodeName != "" }

func isPromised(pod *v1.Pod) bool {
	return pod.Spec.NodeName == "" && pod.Status.NominatedNodeName != ""
}

// promises summarizes what became of nominations.
type promises struct {
	evictions   int      // fillers that were evicted
	orphans     int      // those of them without a written nomination at a kill
	found, kept int      // nominations that existed at kills, and that were fulfilled
	problems    []string // nodes with too many evictions
}

// promises replays what was written.
func (b *bench) promises(killed []int64) (out promises) {
	b.Helper()
	nodes, evicted, wants := make(map[types.UID]string), make(map[types.UID]string), make(map[types.UID]string)
	waits := make(map[types.UID]bool)
	ever := make(map[string]map[types.UID]bool) // the pods nominated to the node
	promised := func(node string, uid types.UID) {
		if ever[node] == nil {
			ever[node] = make(map[types.UID]bool)
		}
		ever[node][uid] = true
	}
	orphans, left := make(map[string]int), make(map[string]int) // by node: at all kills, at the last one
	found := make(map[types.UID]string)
	story := make(map[string][]string) // by node: what was written about it, for a reader of a failure
	tell := func(node, format string, args ...any) {
		story[node] = append(story[node], fmt.Sprintf(format, args...))
	}
	kill := func() {
		for node := range story {
			tell(node, "killed")
		}
		now := make(map[string]int)
		for _, node := range evicted {
			now[node]++
		}
		for uid, node := range wants {
			now[node]--
			if waits[uid] && node != "" {
				found[uid] = node
			}
		}
		for node, n := range now {
			now[node] = max(0, n)
			orphans[node] += max(0, now[node]-left[node])
		}
		left = now
	}
	if err := b.History(b.Context(), b.since, func(change cluster.Change) error {
		for len(killed) > 0 && change.Revision > killed[0] {
			kill()
			killed = killed[1:]
		}
		if e, ok := change.Object.(*v1.Event); ok && !change.Deleted && e.Reason == "Preempted" && e.Related != nil {
			node := nodes[e.InvolvedObject.UID]
			tell(node, "%d: %s was evicted for %s", change.Revision, e.InvolvedObject.Name, e.Related.Name)
			promised(node, e.Related.UID)
		}
		pod, ok := change.Object.(*v1.Pod)
		switch {
		case !ok:
		case isFiller(pod):
			nodes[pod.UID] = pod.Spec.NodeName
			if change.Deleted || pod.DeletionTimestamp != nil {
				if evicted[pod.UID] == "" {
					tell(pod.Spec.NodeName, "%d: %s has to leave", change.Revision, pod.Name)
				}
				evicted[pod.UID] = pod.Spec.NodeName
			}
			if change.Deleted {
				tell(pod.Spec.NodeName, "%d: %s has left", change.Revision, pod.Name)
			}
		default:
			node := cmp.Or(pod.Spec.NodeName, pod.Status.NominatedNodeName)
			if was := wants[pod.UID]; was != node {
				tell(was, "%d: %s goes to %q instead", change.Revision, pod.Name, node)
				tell(node, "%d: nominated for %s", change.Revision, pod.Name)
			}
			if waits[pod.UID] && pod.Spec.NodeName != "" {
				tell(node, "%d: %s is placed", change.Revision, pod.Name)
			}
			wants[pod.UID], waits[pod.UID] = node, pod.Spec.NodeName == ""
			promised(node, pod.UID)
		}
		return nil
	}); err != nil {
		b.Error(err)
	}
	perNode := make(map[string]int)
	for _, node := range evicted {
		perNode[node]++
	}
	for node, n := range perNode {
		if most := len(ever[node]) + orphans[node]; n > most {
			out.problems = append(out.problems, fmt.Sprintf("%d victims were on %s, which was nominated for %d, and %d for no pod that was known at a kill: %s",
				n, node, len(ever[node]), orphans[node], strings.Join(story[node], "; ")))
		}
		out.orphans += orphans[node]
	}
	for uid, node := range found {
		if wants[uid] == node {
			out.kept++
		}
	}
	out.evictions, out.found = len(evicted), len(found)
	return out
}
