package sim_test

import (
	"context"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/sim"
	"github.com/berth-scheduler/berth/runtime/sim/input"
	"github.com/berth-scheduler/berth/runtime/state"
)

// calm lets pods on nodes whose feed is fresh and low. News of feeds wake the pods that it rejected if it says so.
type calm struct{ woken bool }

func (c calm) Info() *plugin.Info {
	info := &plugin.Info{Name: "Calm", NodeScoped: []abi.Point{abi.Filter}}
	info.Events = []plugin.Event{{ClusterEvent: state.ClusterEvent{Resource: state.StorageClassResource, Action: state.Add}}}
	if c.woken {
		info.Events = []plugin.Event{{ClusterEvent: state.ClusterEvent{Resource: state.FeedResource, Action: state.Update}}}
	}
	return info
}

func (c calm) Filter(cycle *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	for i, row := range rows {
		cell := cycle.Snapshot.Nodes.Cell(row, cycle.Snapshot.Feed("load"))
		if cell.State != abi.FeedFresh || cell.Value > 50 {
			out.Reject(i, abi.Unschedulable, out.Reason("the node is busy"))
		}
	}
}

// TestFeedWakes: a pod that was rejected because of a feed is tried again when the feed has news, if its plugin says that they may help.
func TestFeedWakes(t *testing.T) {
	for _, woken := range []bool{true, false} {
		scheduler := assembly.Default()
		points := scheduler.Profiles[0].Points
		one := points["filter"][0]
		one.Name = "Calm"
		points["filter"] = append(points["filter"], one)
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
		n.Status.Allocatable = v1.ResourceList{v1.ResourcePods: resource.MustParse("10")}
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p", UID: "u"}, Spec: v1.PodSpec{SchedulerName: v1.DefaultSchedulerName, Containers: []v1.Container{{Name: "c"}}}}
		says := func(value int64, is uint8) []state.Feed {
			return []state.Feed{{Name: "load", Cells: map[string]state.Cell{"n": {Value: value, State: is}}}}
		}
		s, err := sim.New(sim.Config{
			Assembly: assembly.Config{
				Scheduler: scheduler, Seed: 1, Plugins: plugin.Registry{"Calm": func(any) (plugin.Plugin, error) { return calm{woken}, nil }},
			},
			Nodes: []*v1.Node{n}, Arrivals: []input.Arrival{{Pod: p}}, Feeds: says(90, abi.FeedFresh),
			Changes: []sim.Change{
				{At: 30 * time.Second, Event: &inbox.Feeds{Changed: says(10, abi.FeedStale)}}, {At: time.Minute, Event: &inbox.Feeds{Changed: says(10, abi.FeedFresh)}},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		result, err := s.Run(context.Background())
		if err != nil || (len(result.Placements) == 1) != woken {
			t.Errorf("woken by feeds: %t; placed %+v, %v", woken, result.Placements, err)
		}
	}
}
