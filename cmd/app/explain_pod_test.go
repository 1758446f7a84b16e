package app

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/runtime/debughttp"
	"github.com/berth-scheduler/berth/runtime/report"
)

// TestPrintAnyPod prints pods that were not tried here, and those that others had to do with.
func TestPrintAnyPod(t *testing.T) {
	now := time.Unix(100_000, 0)
	minutes := func(n int) *time.Time { return new(now.Add(-time.Duration(n) * time.Minute)) }
	placed := &debughttp.Explanation{
		Attempt: &report.Attempt{Profile: "berth", Try: 2, Nodes: 4, Evaluated: 4, Feasible: 1, Node: "n1"},
		At:      now.Add(-3 * time.Second), Duration: time.Millisecond, Took: time.Second, Outcome: debughttp.Bound,
	}
	failed := &debughttp.Explanation{Attempt: &report.Attempt{Profile: "berth", Try: 1, Message: "0/4 nodes are available: 4 full."}, At: now.Add(-3 * time.Second)}
	for _, c := range []struct {
		name    string
		cluster *debughttp.ClusterPod
		last    *debughttp.Explanation
		where   string
		want    string
	}{
		{"of an unknown scheduler", &debughttp.ClusterPod{SchedulerName: "x\x1b[2J", Created: *minutes(5)}, nil, "",
			"ns/p is pending (created 5m ago), and this scheduler does not schedule it. Its spec.schedulerName is x\uFFFD[2J; this scheduler serves berth, batch.\n" +
				"It waits for the scheduler of that name. If no such scheduler runs, recreate the pod with another spec.schedulerName.\n"},
		{"placed by another", &debughttp.ClusterPod{SchedulerName: "default-scheduler", Node: "n2", Phase: "Running", Created: *minutes(5), Bound: minutes(4)}, nil, "",
			"ns/p is on n2 (created 5m ago, bound 4m ago). Its spec.schedulerName is default-scheduler; this scheduler serves berth, batch.\n" +
				"Another scheduler placed it, or it was created with spec.nodeName.\n"},
		{"placed long ago", &debughttp.ClusterPod{SchedulerName: "batch", Node: "n2", Phase: "Running", Created: *minutes(5), Bound: minutes(4)}, nil, "",
			"ns/p is on n2 (created 5m ago, bound 4m ago). Its spec.schedulerName is batch, a profile of this scheduler.\n" +
				"This replica remembers no attempt for it: the pod was placed before this replica became the leader, or more than 4,096 attempts ago, or another scheduler or user bound it.\n"},
		{"ended", &debughttp.ClusterPod{SchedulerName: "batch", Node: "n2", Phase: "Succeeded", Created: *minutes(5), Bound: minutes(4)}, nil, "",
			"ns/p has ended (Succeeded); it was on n2 (created 5m ago, bound 4m ago). Its spec.schedulerName is batch, a profile of this scheduler.\n"},
		{"ended on no node", &debughttp.ClusterPod{SchedulerName: "x", Phase: "Failed", Created: *minutes(5)}, nil, "",
			"ns/p has ended (Failed); it was on no node (created 5m ago). Its spec.schedulerName is x; this scheduler serves berth, batch.\n"},
		{"being deleted", &debughttp.ClusterPod{SchedulerName: "berth", Created: *minutes(5), Deleted: minutes(0)}, nil, "",
			"ns/p is on no node and is being deleted, so it is not scheduled (created 5m ago). Its spec.schedulerName is berth, a profile of this scheduler.\n"},
		{"not taken in", &debughttp.ClusterPod{SchedulerName: "berth", Created: *minutes(5)}, nil, "",
			"ns/p is pending, and the scheduler has not seen it yet (created 5m ago). Ask again in a moment.\n"},
		{"gated", &debughttp.ClusterPod{SchedulerName: "berth", Created: *minutes(5)}, nil, "gated by SchedulingGates: wait",
			"ns/p was not tried yet: it is gated by SchedulingGates: wait.\n"},
		{"tried, and placed by another", &debughttp.ClusterPod{SchedulerName: "berth", Node: "n2", Created: *minutes(5), Bound: minutes(4)}, failed, "",
			"ns/p is on n2. Another scheduler or user bound it (created 5m ago, bound 4m ago). Its spec.schedulerName is berth, a profile of this scheduler.\n" +
				"This scheduler's last attempt was attempt 1 by profile berth, 3s ago. 0/4 nodes are available: 4 full.\n\n"},
		{"waits for a resize", &debughttp.ClusterPod{SchedulerName: "berth", Node: "n2", Created: *minutes(5), Bound: minutes(4), ResizeDeferred: true}, failed, "",
			"ns/p is on n2, where a resize in place waits after attempt 1 by profile berth, 3s ago:\n0/4 nodes are available: 4 full.\n\n"},
		{"placed, and gone", nil, placed, "",
			"ns/p no longer exists. It was on n1, placed 3s ago at attempt 2 by profile berth: 1 of 4 nodes feasible, 4 evaluated; 1.00 ms, with binding 1.00 s.\n\n"},
		{"placed, and ended", &debughttp.ClusterPod{SchedulerName: "berth", Node: "n1", Phase: "Failed"}, placed, "",
			"ns/p has ended (Failed). It was on n1, placed 3s ago at attempt 2 by profile berth: 1 of 4 nodes feasible, 4 evaluated; 1.00 ms, with binding 1.00 s.\n\n"},
		{"placed, and being deleted", &debughttp.ClusterPod{SchedulerName: "berth", Node: "n1", Deleted: minutes(0)}, placed, "",
			"ns/p is being deleted. It is on n1, placed 3s ago at attempt 2 by profile berth: 1 of 4 nodes feasible, 4 evaluated; 1.00 ms, with binding 1.00 s.\n\n"},
		{"tried, and gone", nil, failed, "",
			"ns/p no longer exists. It was on no node after attempt 1 by profile berth, 3s ago. 0/4 nodes are available: 4 full.\n\n"},
	} {
		var out bytes.Buffer
		p := &printer{w: &out, width: 240}
		p.live(&debughttp.Pod{Namespace: "ns", Name: "p", Where: c.where, Last: c.last, Cluster: c.cluster, Profiles: []string{"berth", "batch"}}, now)
		if diff := cmp.Diff(c.want, out.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestPrintWriting: a pod whose binding fails is said to, with the error, and a pod without room that others wait for their binding.
func TestPrintWriting(t *testing.T) {
	now := time.Unix(100_000, 0)
	chosen := &debughttp.Explanation{Attempt: &report.Attempt{Profile: "berth", Try: 1, Node: "n1"}, At: now.Add(-40 * time.Second)}
	failed := &debughttp.Explanation{Attempt: &report.Attempt{Profile: "berth", Try: 1, Message: "0/4 nodes are available: 4 Insufficient cpu."}, At: now.Add(-3 * time.Second)}
	for _, c := range []struct {
		pod  debughttp.Pod
		want string
	}{
		{debughttp.Pod{Where: "binding", Last: chosen, Binding: 1, FailedWrite: &report.FailedWrite{
			Verb: "create", Kind: "pods/binding", Since: now.Add(-40 * time.Second), Tries: 23, Error: `admission webhook "w" denied the request`,
		}}, `ns/p will go to n1, chosen 40s ago at attempt 1 by profile berth, and is binding.
Its writes fail and are retried (create pods/binding, for 40s, 23 attempts): admission webhook "w" denied the request
Pods that wait for their binding: 1. What they request counts on their nodes already.

`},
		{debughttp.Pod{Where: "unschedulable", Last: failed, Binding: 12}, `ns/p is pending (unschedulable) after attempt 1 by profile berth, 3s ago:
0/4 nodes are available: 4 Insufficient cpu.
Pods that wait for their binding: 12. What they request counts on their nodes already.

`},
	} {
		c.pod.Namespace, c.pod.Name, c.pod.Cluster = "ns", "p", &debughttp.ClusterPod{SchedulerName: "berth"}
		var out bytes.Buffer
		p := &printer{w: &out, width: 240}
		p.live(&c.pod, now)
		if diff := cmp.Diff(c.want, out.String()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
