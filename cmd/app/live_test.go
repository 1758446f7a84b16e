package app

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/debughttp"
	"github.com/berth-scheduler/berth/runtime/report"
)

// TestPrintStatus prints modules that are called, left alone and probed, and files
// that are not what runs.
func TestPrintStatus(t *testing.T) {
	now := time.Unix(1000, 0)
	soon, before := now.Add(4*time.Second), now.Add(-2*time.Minute)
	s := debughttp.Plugins{
		Plugins: []debughttp.Plugin{
			{Profile: "a", Name: "pool", Module: "tenant-pool 1.2.0", Digest: "sha256:5e2513cea0be6e3529a61cd927706d267834f891c08d88c383417c3e710749f9", Breaker: "closed", Calls: 10, Rows: 5000, Fuel: 123456, Memory: 13<<20 + 1, MemoryTotal: 256 << 20, Namespaces: []string{"x", "y"}, Signers: []string{"team", "security"}},
			{Profile: "a", Name: "bad", Module: "bad 0.1.0", Digest: "sha256:2", Breaker: "open", Opened: 3, RetryAt: &soon, LastFault: "bad: filter: trap: unreachable", FaultAt: &before, Calls: 9, Faults: 9},
			{Profile: "b", Name: "bad", Module: "bad 0.1.0", Digest: "sha256:2", Breaker: "half-open", NotKept: "it reads the pod's UID", Yanked: "it counts racks twice; use 1.2.1"},
		},
		Folder: []debughttp.FolderEntry{{File: "p/good.wasm", Plugin: "pool"}, {File: "p/new.wasm", Error: "no module"}, {File: "p/old.wasm", Plugin: "old", Error: "trap"}},
		Error:  "profile \"a\": no",
	}
	var out bytes.Buffer
	p := &printer{w: &out, width: 120}
	p.status(&s, now)
	const want = `PROFILE  PLUGIN         MODULE             CALLED           CALLS  ROWS    FUEL  FAULTS     MEMORY  DIGEST
a        pool for x, y  tenant-pool 1.2.0  yes                 10  5000  123456       0  14/256 Mi  sha256:5e2513cea0be
a        bad            bad 0.1.0          again in 4.00 s      9     0       0       9     0/0 Mi  sha256:2
b        bad            bad 0.1.0          as a probe           0     0       0       0     0/0 Mi  sha256:2

pool in a is signed by team, security.
bad in b is yanked: it counts racks twice; use 1.2.1
bad in b is asked about every node for every pod: it reads the pod's UID.
Last fault of bad in a, 2m ago: bad: filter: trap: unreachable
p/new.wasm was refused (no version of it runs): no module
p/old.wasm was refused (its previous version still runs): trap
The last change of the folder was refused: profile "a": no
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for want, s := range map[string]*debughttp.Plugins{
		"No modules run.\n": {},
		"This replica is not the leader; the leader is host_1. It has loaded the following modules but does not call them.\nNo modules run.\n": {Standby: true, Leader: "host_1"},
		"This replica is not the leader; no leader is known. It has loaded the following modules but does not call them.\nNo modules run.\n":   {Standby: true},
		"No modules run.\nMine in a is compiled in, and stands at filter, score.\n":                                                            {CompiledIn: []debughttp.CompiledIn{{Profile: "a", Name: "Mine", Points: []string{"filter", "score"}}}},
	} {
		out.Reset()
		if p.status(s, now); out.String() != want {
			t.Errorf("%q, want %q", out.String(), want)
		}
	}
}

// TestPrintLive prints a pod in each of its states.
func TestPrintLive(t *testing.T) {
	now := time.Unix(1000, 0)
	pod := func(a *report.Attempt, where, outcome string) *debughttp.Pod {
		c := &debughttp.ClusterPod{SchedulerName: "default", Created: now.Add(-time.Minute)}
		if outcome == debughttp.Bound {
			c.Node = a.Node
		}
		return &debughttp.Pod{Namespace: "ns", Name: "p", Where: where, Profiles: []string{"default"}, Cluster: c, Last: &debughttp.Explanation{
			Attempt: a, At: now.Add(-3 * time.Second), Duration: 1234 * time.Microsecond, Took: 2 * time.Second, Outcome: outcome,
		}}
	}
	placed := &report.Attempt{Profile: "default", Try: 2, Nodes: 4, Evaluated: 4, Feasible: 1, Node: "n1", Candidates: []report.Candidate{{Node: "n1"}}}
	worked := pod(placed, "", debughttp.Bound)
	worked.Last.Plugins = []debughttp.Work{
		{Plugin: "NodeName", Point: "Filter", Calls: 1, Rows: 4, Duration: time.Microsecond},
		{Plugin: "pool", Module: "tenant-pool 1.2.0", Digest: "sha256:5e2513cea0be6e3529a61cd927706d267834f891c08d88c383417c3e710749f9", Point: "Filter", Calls: 1, Rows: 3, Faults: 1, Duration: time.Millisecond},
	}
	for _, c := range []struct {
		pod  *debughttp.Pod
		want string
	}{
		{worked, `ns/p is on n1, placed 3s ago at attempt 2 by profile default: 1 of 4 nodes feasible, 4 evaluated; 1.23 ms, with binding 2.00 s.

PLUGIN    POINT   CALLS  ROWS  REUSED  FAULTS     TIME  MODULE             DIGEST
pool      Filter      1     3       0       1  1.00 ms  tenant-pool 1.2.0  sha256:5e2513cea0be
NodeName  Filter      1     4       0       0  1.00 µs

`},
		{&debughttp.Pod{Namespace: "ns", Name: "p", Where: "gated by SchedulingGates: wait"}, "ns/p was not tried yet: it is gated by SchedulingGates: wait.\n"},
		{pod(placed, "", debughttp.Bound), "ns/p is on n1, placed 3s ago at attempt 2 by profile default: 1 of 4 nodes feasible, 4 evaluated; 1.23 ms, with binding 2.00 s.\n\n"},
		{pod(placed, "waiting at Permit for [gang]", ""), "ns/p will go to n1, chosen 3s ago at attempt 2 by profile default, and is waiting at Permit for [gang].\n\n"},
		{pod(placed, "", ""), "ns/p will go to n1, chosen 3s ago at attempt 2 by profile default, and is binding.\n\n"},
		{pod(&report.Attempt{Profile: "default", Try: 1, Message: "0/4 nodes are available: 4 full.", Code: abi.Unschedulable, Nominated: "n2", Victims: []string{"ns/a"},
			Rejections: []report.Rejection{{Plugin: "Fit", Code: abi.Unschedulable, Reasons: []string{"full"}, Count: 4, Nodes: []string{"n1", "n2"}}}}, "unschedulable", ""),
			`ns/p is pending (unschedulable) after attempt 1 by profile default, 3s ago:
0/4 nodes are available: 4 full.
It is nominated to n2 and waits until these pods are gone: ns/a.

NODES  REJECTED BY  REASON  EVICTING PODS  NAMES
    4  Fit          full    may help       n1, n2, … 2 more

`},
	} {
		var out bytes.Buffer
		p := &printer{w: &out, width: 140}
		p.live(c.pod, now)
		if diff := cmp.Diff(c.want, out.String()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// TestPrintNow prints whether a pod would fit by now, or with which change.
func TestPrintNow(t *testing.T) {
	for want, pod := range map[string]*debughttp.Pod{
		"It would fit now on n1.\n":                                                       {Now: &debughttp.Now{Code: report.Fits, Node: "n1"}},
		"It would fit now on n1, once other pods have left.\n":                            {Now: &debughttp.Now{Code: report.FitsAfterPreemption, Node: "n1"}},
		"It is not tried, so no change of it or of a node helps.\n":                       {Now: &debughttp.Now{Code: report.Gated}},
		"ns/p would fit on n1 without its requirement on the node label disk.\n":          {Now: &debughttp.Now{Code: report.DoesNotFit, Change: &report.Change{Kind: report.RemoveSelector, Node: "n1", Selector: &report.Selector{Key: "disk"}}}},
		"ns/p: none of the 7 changes that were tried lets it fit.\n":                      {Now: &debughttp.Now{Code: report.DoesNotFit, Tried: 7}},
		"There is no change to look for: it does not wait for this scheduler.\n":          {},
		"It is not known whether it would fit now: another question is being answered.\n": {NowError: "another question is being answered."},
	} {
		pod.Namespace, pod.Name = "ns", "p"
		var out bytes.Buffer
		p := &printer{w: &out, width: 120}
		if p.now(pod); out.String() != "\n"+want {
			t.Errorf("%q, want %q", out.String(), want)
		}
	}
}
