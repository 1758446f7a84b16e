package sim_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/sim"
	"github.com/berth-scheduler/berth/runtime/sim/input"
	"github.com/berth-scheduler/berth/runtime/state"
)

// coolest prefers the node with the least load: of the last sample and, if it corrects, of what pods request that the sample cannot
// contain.
type coolest struct{ corrects bool }

func (c coolest) Info() *plugin.Info {
	return &plugin.Info{Name: "Coolest", NodeScoped: []abi.Point{abi.Score}}
}

func (c coolest) Score(cycle *plugin.Cycle, rows []uint32, scores []int64) *plugin.Status {
	s := cycle.Snapshot
	feed := s.Feed("node.cpu.usage")
	for i, row := range rows {
		load := s.Nodes.Cell(row, feed).Value
		if c.corrects {
			load += s.RequestedSince(row, []int{feed}, v1.ResourceCPU)
		}
		scores[i] = max(0, 100_000-load) / 1_000
	}
	return nil
}

// herd places pods, all of which come within five seconds, and returns what the busiest node uses afterwards, in milli-CPU. Each pod uses
// what it requests. A sample comes every so often; 0 for one before each pod.
func herd(t *testing.T, pods, nodes int, every time.Duration, corrects bool) int64 {
	t.Helper()
	profile := assembly.Default()
	points := profile.Profiles[0].Points
	only := points["score"][:1:1]
	only[0].Name, only[0].Weight = "Coolest", 1
	points["score"], points["preScore"] = only, nil
	used := make(map[string]int64)
	begin := sim.DefaultStart()
	sample := func(at time.Time) []state.Feed {
		cells := make(map[string]state.Cell)
		for i := range nodes {
			name := fmt.Sprintf("n-%d", i)
			cells[name] = state.Cell{Value: used[name], State: abi.FeedFresh, Since: at.Unix() - 1}
		}
		return []state.Feed{{Name: "node.cpu.usage", Cells: cells}}
	}
	c := sim.Config{
		Assembly: assembly.Config{
			Scheduler: profile, Seed: 1,
			Plugins: plugin.Registry{"Coolest": func(any) (plugin.Plugin, error) { return coolest{corrects}, nil }},
		},
		Answered: func(_ *state.Pod, node string) { used[node] += 1_000 },
	}
	for i := range nodes {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n-%d", i)}}
		n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("100"), v1.ResourcePods: resource.MustParse("1000")}
		c.Nodes = append(c.Nodes, n)
	}
	for i := range pods {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: fmt.Sprintf("p-%d", i), UID: types.UID(fmt.Sprint("u-", i))}, Spec: v1.PodSpec{SchedulerName: v1.DefaultSchedulerName}}
		p.Spec.Containers = []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}}}}
		c.Arrivals = append(c.Arrivals, input.Arrival{Pod: p, At: time.Duration(i) * 5 * time.Second / time.Duration(pods)})
	}
	c.Feeds = sample(begin)
	next := every
	c.Watch = func(s *scheduler.Scheduler, now, _ time.Duration, _ int) {
		if now >= next {
			s.SetFeeds(sample(begin.Add(now)))
			next = now + every
		}
	}
	s, err := sim.New(c)
	if err != nil {
		t.Fatal(err)
	}
	result, err := s.Run(context.Background())
	if err != nil || len(result.Placements) != pods {
		t.Fatal(result.Summary, err)
	}
	busiest := int64(0)
	for _, n := range used {
		busiest = max(busiest, n)
	}
	return busiest
}

// TestHerd: while samples come every 30 s, the busiest of a hundred nodes has at most 1.05 times the load that it has with a sample before
// each of a thousand pods, because pods count of which samples know nothing. Without them, all pods go to one node.
func TestHerd(t *testing.T) {
	const pods, nodes = 1_000, 100
	fresh := herd(t, pods, nodes, 0, false)
	corrected := herd(t, pods, nodes, 30*time.Second, true)
	herded := herd(t, pods, nodes, 30*time.Second, false)
	t.Logf("the busiest node uses %d milli-CPU with a fresh sample before each pod, %d with samples every 30 s and requestedSince, and %d without", fresh, corrected, herded)
	if float64(corrected) > 1.05*float64(fresh) {
		t.Errorf("%d is more than 1.05 times %d", corrected, fresh)
	}
	if herded < 2*fresh {
		t.Errorf("without the correction the busiest node has %d, and with fresh samples %d: the model has no herd", herded, fresh)
	}
}
