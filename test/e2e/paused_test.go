package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/berth-scheduler/berth/test/internal/cluster"
	"github.com/berth-scheduler/berth/test/internal/load"
	"github.com/berth-scheduler/berth/test/internal/workload"
)

var (
	pauses   = flag.Int("pauses", 3, "how often TestPausedLeader stops the leader")
	pauseFor = flag.Duration("pause", 0, "how long TestPausedLeader stops it, with the lease of the default configuration; the time of a short lease if 0")
)

// TestPausedLeader pauses the leader under load for longer than its lease, as a hanging machine
// would, and resumes it when another replica leads, which is paused next. Each exits soon after
// it is resumed, and after the first write of the next leader it writes nothing more, as
// recorded in etcd: no binding, no status, no event. No pod is bound twice, and no node is
// overcommitted.
// On a machine that is too slow for the lease duration a replica may lose its lease without
// being paused, and exit. Then another one is started, as a kubelet would, and the pause is
// repeated; what is written is checked in the same way.
func TestPausedLeader(t *testing.T) {
	const pods = 400
	b := newBench(t, "paused", 50, workload.Capacity{CPU: 4, Memory: 16, Pods: 110})
	if program() == cluster.UpstreamProgram {
		b.doubtful = "kube-scheduler goes on with what it was about to write, until it tries to renew its lease"
	}
	random, pause, config := dice(t), *pauseFor, ""
	if pause == 0 {
		pause = 2 * cluster.LeaseDuration
	} else {
		config = b.elected("leaderElection: {leaderElect: true, resourceName: berth}\n")
	}
	r := newRelay(b, config)
	refused, round := 0, 0
	for made := 0; made < *pauses; round++ {
		since, err := b.Revision(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b.create(pods, func(i int) *v1.Pod {
			pod := workload.Pod(b.namespace, fmt.Sprintf("round-%d-%05d", round, i), 100, 250)
			if i%10 == 9 { // for no node, so that there are conditions to write
				pod.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = resource.MustParse("1000")
			}
			return pod
		})
		r.reach(1) // one leads
		leader := r.runners[len(r.runners)-1]
		r.start()
		r.reach(1 + random.IntN(pods/2))
		if err := leader.Pause(); err != nil {
			t.Fatal(err)
		}
		paused := leader.Running()
		if r.paused = leader; paused {
			made++
		}
		resume := time.Now().Add(pause)
		b.complete()
		r.reach(pods * 9 / 10) // the next one leads
		time.Sleep(time.Until(resume))
		if err := leader.Resume(); err != nil {
			t.Fatal(err)
		}
		r.paused = nil
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if _, err := leader.Wait(ctx); err != nil {
			t.Error(err)
		}
		cancel()
		before, after, late := b.afterwards(since, leader, r.runners)
		t.Logf("pause %d: %d writes before it, %d of others, %d after the first of the next leader", round+1, before, after, len(late))
		if paused && (before == 0 || after == 0) {
			t.Errorf("pause %d: the leader or the next one wrote nothing", round+1)
		}
		if program() == cluster.BerthProgram {
			for _, write := range late {
				t.Errorf("pause %d: a leader wrote after the next one: %s", round+1, write)
			}
			for line := range strings.Lines(leader.Log()) {
				if strings.Contains(line, "cannot watch the cluster") && strings.Contains(line, "the lease was lost") {
					t.Errorf("pause %d: the leader reports its watches: %s", round+1, line)
				}
			}
		}
		refused += strings.Count(leader.Log(), "the lease was lost")
		if err := load.Clear(t.Context(), b.client, b.namespace); err != nil {
			t.Fatal(err)
		}
		r.gone()
		if void := round + 1 - made; void > *pauses {
			t.Fatalf("%d leaders lost the lease before the pause: this machine is too slow", void)
		}
	}
	t.Logf("%d lines of leaders that say that the lease was lost; %d replicas lost it unpaused; the API server answered within %v", refused, r.lost, r.slowest())
	b.sound()
}

// replica is a scheduler whose writes can be identified.
type replica struct {
	*cluster.Process
	mu sync.Mutex
	// bound are the pods that it has bound, by name; written is what else it wrote, by revision.
	bound   map[string]bool
	written map[int64]string
}

// replica runs a scheduler behind its own gateway, with JSON.
func (b *bench) replica(s cluster.Scheduler) *replica {
	b.Helper()
	r := &replica{bound: make(map[string]bool), written: make(map[int64]string)}
	s.Server = b.gateway(cluster.GatewayConfig{Passed: r.passed}).URL()
	s.Flags = append(s.Flags, "--kube-api-content-type=application/json")
	r.Process = b.run(s)
	return r
}

// passed records a write. Renewals of the lease are not work of a leader, and reviews are not
// stored.
func (r *replica) passed(answer *http.Response) {
	path := answer.Request.URL.Path
	if answer.Request.Method == http.MethodGet || answer.StatusCode >= http.StatusMultipleChoices ||
		strings.Contains(path, "/leases") || strings.HasSuffix(path, "reviews") {
		return
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return // the client does not get the answer either
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	r.mu.Lock()
	defer r.mu.Unlock()
	if pod, ok := strings.CutSuffix(path, "/binding"); ok {
		r.bound[pod[strings.LastIndexByte(pod, '/')+1:]] = true
		return
	}
	var object struct {
		Metadata     struct{ Name, ResourceVersion string }
		Reason, Note string
	}
	revision := int64(0)
	if err := json.Unmarshal(body, &object); err == nil {
		revision, _ = strconv.ParseInt(object.Metadata.ResourceVersion, 10, 64)
	}
	r.written[revision] = fmt.Sprintf("%s %s %s %s", answer.Request.Method, path, object.Reason, object.Note)
}

// afterwards reads from etcd, from a revision on, the number of writes of a leader and of the
// others, and the writes that any of them made after another one had started to write.
func (b *bench) afterwards(since int64, leader *replica, all []*replica) (before, others int, late []string) {
	b.Helper()
	for _, r := range all {
		r.mu.Lock()
		defer r.mu.Unlock()
		if write, ok := r.written[0]; ok {
			b.Errorf("the revision of %s is unknown", write)
		}
	}
	var writes *replica // at present
	ended := make(map[*replica]bool)
	bound := make(map[string]bool)
	if err := b.History(b.Context(), since, func(change cluster.Change) error {
		binds := ""
		if pod, ok := change.Object.(*v1.Pod); ok && pod.Namespace == b.namespace {
			on := pod.Spec.NodeName != "" && !change.Deleted
			if on && !bound[pod.Name] {
				binds = pod.Name
			}
			bound[pod.Name] = on
		}
		for _, r := range all {
			write, wrote := r.written[change.Revision]
			if !wrote && r.bound[binds] {
				write, wrote = "binding of "+binds, true
			}
			if !wrote {
				continue
			}
			if r == leader {
				before++
			} else {
				others++
			}
			switch {
			case ended[r]:
				late = append(late, r.Name+": "+write)
			case writes != r:
				ended[writes] = true
				writes = r
			}
		}
		return nil
	}); err != nil {
		b.Error(err)
	}
	return before, others, late
}
