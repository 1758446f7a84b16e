package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/runtime/feeds"
	"github.com/berth-scheduler/berth/runtime/quantity"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/sim"
	"github.com/berth-scheduler/berth/runtime/state"
)

// load is the feeds of a simulation whose source is a model: they are sampled while it runs.
type load struct {
	config *sim.Config
	models []feeds.Feed
	feeds  *feeds.Feeds
	now    time.Time // of the simulation
	placed []*state.Pod
	// scheduler is that of the simulation, once it runs.
	scheduler *scheduler.Scheduler
}

// simClock is the clock of the samples.
type simClock struct{ load *load }

// Now returns the time of the simulation.
func (c simClock) Now() time.Time { return c.load.now }

// Until is not used: Feeds.Due does not wait.
func (simClock) Until(time.Time) (reached <-chan struct{}, stop func()) { return nil, func() {} }

// load reads the file of --feeds, sets what the feeds say from the start, and has models sampled while the simulation runs. It returns
// nil if there are none.
func (o *simulateOptions) load(ctx context.Context, c *sim.Config) (*load, error) {
	declared, err := loadFeeds(ctx, o.feeds)
	if err != nil {
		return nil, err
	}
	models := slices.DeleteFunc(slices.Clone(declared), func(f feeds.Feed) bool { return f.Source.Model == nil })
	if len(models) == 0 {
		c.Assembly.Feeds, c.Feeds, err = feedOnce(ctx, o.feeds, c.Nodes, c.Start)
		return nil, err
	}
	if err := onlyFiles(o.feeds, declared); err != nil {
		return nil, err
	}
	l := &load{config: c, models: models, now: c.Start, placed: c.Bound}
	if l.now.IsZero() {
		l.now = sim.DefaultStart()
	}
	start := l.now
	l.feeds, err = feeds.New(feeds.Config{Feeds: declared}, feeds.Deps{Clock: simClock{l}, Node: byName(c.Nodes), Requested: l.requested})
	if err == nil {
		c.Feeds, err = l.feeds.Due(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("--feeds: %s: %w", o.feeds, err)
	}
	c.Assembly.Feeds = feeds.IDs(declared)
	c.Watch = func(s *scheduler.Scheduler, now, _ time.Duration, _ int) {
		l.scheduler = s
		if l.now = start.Add(now); l.feeds.Waits() {
			return
		}
		l.placed = s.Contents().Placed
		if changed, err := l.feeds.Due(ctx); err == nil && len(changed) > 0 { // files were read before
			s.SetFeeds(changed)
		}
	}
	return l, nil
}

// requested returns by node what its pods request.
func (l *load) requested(resource v1.ResourceName) map[string]int64 {
	out := make(map[string]int64, len(l.config.Nodes))
	for _, n := range l.config.Nodes {
		out[n.Name] = 0
	}
	for _, p := range l.placed {
		out[p.NodeName()] += p.Requests.Amount(resource)
	}
	return out
}

// result says what the busiest node uses by each model, after a simulation.
func (l *load) result() (out []sim.Load) {
	if l == nil || l.scheduler == nil || len(l.config.Nodes) == 0 {
		return nil
	}
	l.placed = l.scheduler.Contents().Placed
	for i := range l.models {
		f, resource := &l.models[i], v1.ResourceCPU
		if strings.HasSuffix(f.ID(), ":bytes") {
			resource = v1.ResourceMemory
		}
		used, all := l.requested(resource), int64(0)
		busiest := l.config.Nodes[0].Name
		for _, n := range l.config.Nodes {
			all += used[n.Name]
			if used[n.Name] > used[busiest] {
				busiest = n.Name
			}
		}
		percent := f.Source.Model.Percent
		out = append(out, sim.Load{
			Feed: f.ID(), Busiest: busiest, Most: quantity.Portion(percent, used[busiest], 100),
			Mean: quantity.Portion(percent, all, 100) / int64(len(l.config.Nodes)),
		})
	}
	return out
}

// byName returns nodes by name; nil if there is none of that name.
func byName(nodes []*v1.Node) func(name string) *v1.Node {
	known := make(map[string]*v1.Node, len(nodes))
	for _, n := range nodes {
		known[n.Name] = n
	}
	return func(name string) *v1.Node { return known[name] }
}
