package app

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi/fieldpath"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/debughttp"
	"github.com/berth-scheduler/berth/runtime/feeds"
	"github.com/berth-scheduler/berth/runtime/kube"
	"github.com/berth-scheduler/berth/runtime/sim"
	"github.com/berth-scheduler/berth/runtime/state"
)

// loadFeeds reads the file of --feeds; none without it.
func loadFeeds(ctx context.Context, file string) ([]feeds.Feed, error) {
	if file == "" {
		return nil, nil
	}
	declared, err := feeds.Load(ctx, file)
	if err != nil {
		return nil, fmt.Errorf("--feeds: %w", err)
	}
	return declared, nil
}

// newFeeds returns the fetching of what is declared; nil if nothing is.
func (o *runOptions) newFeeds(clients *kube.Clients, node func(name string) *v1.Node, log *slog.Logger) (*feeds.Feeds, error) {
	if len(o.declared) == 0 {
		return nil, nil
	}
	deps := feeds.Deps{Log: log, Node: node}
	if clients != nil {
		deps.Metrics = clients.NodeMetrics
		deps.Follow = func(o feeds.Objects, paths []fieldpath.Path, project func(map[string]any) any) feeds.Followed {
			return clients.Follow(o.Resource, o.Namespace, o.Name, paths, project)
		}
	} else { // to check the input
		deps.Metrics = func(context.Context, int64) ([]byte, error) { return nil, nil }
		deps.Follow = func(feeds.Objects, []fieldpath.Path, func(map[string]any) any) feeds.Followed { return nil }
	}
	fetched, err := feeds.New(feeds.Config{Feeds: o.declared}, deps)
	if err != nil {
		return nil, fmt.Errorf("--feeds: %w", err)
	}
	return fetched, nil
}

// followFeeds fetches feeds until stop is called, and tells of those that fail.
func (w *watched) followFeeds(ctx context.Context, fetched *feeds.Feeds, to interface{ SetFeeds(changed []state.Feed) }) (stop func()) {
	if fetched == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		fetched.Run(ctx, func(changed []state.Feed) {
			if len(changed) > 0 {
				to.SetFeeds(changed)
			}
			w.optional.tell(partFeeds, fetched.Failing())
		})
	}()
	return func() {
		cancel()
		<-ended
	}
}

// feedsCheck is a check of /readyz: it names feeds that fail.
func (w *watched) feedsCheck(*http.Request) error {
	if r := w.running.Load(); r != nil && r.feeds != nil {
		return r.feeds.Failing()
	}
	return nil
}

// describeFeeds returns how feeds are.
func describeFeeds(fetched *feeds.Feeds) (out []debughttp.Feed) {
	if fetched == nil {
		return nil
	}
	for _, s := range fetched.Status() {
		line := debughttp.Feed{Feed: s.Feed, Keys: s.Keys, Stale: s.Stale}
		if s.Err != nil {
			line.Error = plain.Line(s.Err.Error(), maxRefusal)
		}
		out = append(out, line)
	}
	return out
}

// feedOnce returns the feeds of --feeds, and what their files say of nodes, for a simulation that starts at a time; a zero one is its
// default.
func feedOnce(ctx context.Context, file string, nodes []*v1.Node, start time.Time) (ids []string, says []state.Feed, err error) {
	declared, err := loadFeeds(ctx, file)
	if err != nil || len(declared) == 0 {
		return feeds.IDs(nil), nil, err
	}
	if err := onlyFiles(file, declared); err != nil {
		return nil, nil, err
	}
	if start.IsZero() {
		start = sim.DefaultStart()
	}
	if says, err = feeds.Once(ctx, feeds.Config{Feeds: declared}, start, byName(nodes)); err != nil {
		return nil, nil, fmt.Errorf("--feeds: %s: %w", file, err)
	}
	return feeds.IDs(declared), says, nil
}

// onlyFiles refuses feeds that a simulation cannot have.
func onlyFiles(file string, declared []feeds.Feed) error {
	for i := range declared {
		if declared[i].Source.File == nil && declared[i].Source.Model == nil {
			return fmt.Errorf("--feeds: %s: feed %s: a simulation asks no server: give it the source file or model", file, declared[i].Name)
		}
	}
	return nil
}
