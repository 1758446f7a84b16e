package feeds

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi/fieldpath"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Config configures the fetching.
type Config struct {
	Feeds []Feed // as Load returns them
}

// Deps are the dependencies of the fetching.
type Deps struct {
	Clock clock.Clock // optional: the machine's
	// Metrics returns a NodeMetricsList of metrics.k8s.io as JSON, of at most so many bytes. It is needed for feeds of metricsAPI.
	Metrics func(ctx context.Context, most int64) ([]byte, error)
	// Follow returns objects of the API, of each of which project is kept. paths is where project looks. It is needed for feeds of object.
	Follow func(of Objects, paths []fieldpath.Path, project func(object map[string]any) any) Followed
	// Node (optional) returns a node by name, nil if it is not known, for steps in percent. It is called from several goroutines.
	Node func(name string) *v1.Node
	// Requested returns by node what its pods request of a resource, in milli-CPU or bytes. It is needed for feeds of a model.
	Requested func(resource v1.ResourceName) map[string]int64
	// Log (optional) is told once when a feed fails, and when it works again.
	Log *slog.Logger
}

// Feeds fetches feeds. Feeds of one source share a fetch.
type Feeds struct {
	deps     Deps
	groups   []*group
	followed map[Objects]Followed
}

// group is the feeds of a source.
type group struct {
	source   source
	interval time.Duration
	next     time.Time // for Due

	mu     sync.Mutex
	tables []*table
	err    error // of the last round
}

// New returns the fetching of feeds. It connects to nothing.
//
// # Errors
//
// A file of a source cannot be read, or the API server is needed and there is none.
func New(config Config, deps Deps) (*Feeds, error) {
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	if deps.Clock == nil {
		deps.Clock = clock.Real{}
	}
	fs := &Feeds{deps: deps}
	if deps.Follow != nil {
		fs.followed = followedBy(config.Feeds, deps.Follow)
	}
	groups := make(map[fetched]*group)
	for i := range config.Feeds {
		f := &config.Feeds[i]
		by := fetchedBy(f)
		g := groups[by]
		if g == nil {
			from, err := fs.sourceOf(f)
			if err != nil {
				return nil, fmt.Errorf("feed %s: %w", f.Name, err)
			}
			g = &group{source: from, interval: by.interval}
			fs.groups, groups[by] = append(fs.groups, g), g
		}
		switch s := g.source.(type) {
		case *prometheus:
			s.feeds = append(s.feeds, f)
		case *objectsSource:
			s.feeds = append(s.feeds, f)
		}
		g.tables = append(g.tables, newTable(f, fs.deps.Node))
	}
	return fs, nil
}

// fetched is what feeds have in common that share a fetch.
type fetched struct {
	interval   time.Duration
	alone      string // the name of a feed that shares nothing
	prometheus Prometheus
	objects    Objects
}

func fetchedBy(f *Feed) fetched {
	out := fetched{interval: f.Interval.Duration}
	switch {
	case f.Source.File != nil, f.Source.Model != nil:
		out.alone = f.Name
		if f.Source.Model != nil && f.Source.Model.Fresh {
			out.interval = 0
		}
	case f.Source.Prometheus != nil:
		out.prometheus = *f.Source.Prometheus
		out.prometheus.Scale = 0
	case f.Source.Object != nil:
		out.objects = f.Source.Object.objects()
	}
	return out
}

func (fs *Feeds) sourceOf(f *Feed) (source, error) {
	switch {
	case f.Source.Prometheus != nil:
		return newPrometheus(fetchedBy(f).prometheus)
	case f.Source.Object != nil && fs.deps.Follow == nil:
		return nil, errors.New("source.object needs a cluster: give it a file here")
	case f.Source.Object != nil:
		return &objectsSource{followed: fs.followed[f.Source.Object.objects()]}, nil
	case f.Source.File != nil:
		return &fileSource{f, f.Source.File.Path}, nil
	case f.Source.Model != nil && fs.deps.Requested == nil:
		return nil, errors.New("source.model is for berth simulate: give it another source here")
	case f.Source.Model != nil:
		return &model{f, fs.deps.Requested}, nil
	case fs.deps.Metrics == nil:
		return nil, errors.New("source.metricsAPI needs a cluster: give it a file here")
	}
	return &metricsAPI{fs.deps.Metrics}, nil
}

// Run fetches until the context ends, each source at its interval, and calls changed after each round with what it has changed, if it
// has. It does so for several sources at once.
func (fs *Feeds) Run(ctx context.Context, changed func([]state.Feed)) {
	var all sync.WaitGroup
	for _, f := range fs.followed {
		all.Go(func() { f.Run(ctx) })
	}
	for _, g := range fs.groups {
		all.Go(func() {
			for next := fs.deps.Clock.Now(); ctx.Err() == nil; {
				if news := fs.round(ctx, g); ctx.Err() == nil {
					changed(news)
				}
				next = next.Add(g.interval)
				if now := fs.deps.Clock.Now(); next.Before(now) {
					next = now.Add(g.interval)
				}
				reached, stop := fs.deps.Clock.Until(next)
				select {
				case <-reached:
				case <-ctx.Done():
				}
				stop()
			}
		})
	}
	all.Wait()
}

// Once fetches everything once, at a time of a simulation, and returns what the feeds say. node is as in Deps.
//
// # Errors
//
// Those of New, and those of sources, joined.
func Once(ctx context.Context, config Config, at time.Time, node func(name string) *v1.Node) (out []state.Feed, err error) {
	fs, err := New(config, Deps{Clock: clock.NewStep(at), Node: node})
	if err != nil {
		return nil, err
	}
	return fs.Due(ctx)
}

// Waits reports whether Due would fetch nothing now.
func (fs *Feeds) Waits() bool {
	now := fs.deps.Clock.Now()
	return !slices.ContainsFunc(fs.groups, func(g *group) bool { return g.due(now) })
}

func (g *group) due(now time.Time) bool {
	_, computed := g.source.(*model)
	return !now.Before(g.next) && (g.next.IsZero() || computed)
}

// Due fetches the sources whose time has come, all of them the first time and then only models, and returns what that changes. It is for
// simulations, which call it from one goroutine, and not for use beside Run.
//
// # Errors
//
// Those of sources, joined.
func (fs *Feeds) Due(ctx context.Context) (out []state.Feed, err error) {
	now := fs.deps.Clock.Now()
	for _, g := range fs.groups {
		if !g.due(now) {
			continue
		}
		g.next = now.Add(g.interval)
		out = append(out, fs.round(ctx, g)...)
		if g.err != nil {
			err = errors.Join(err, fmt.Errorf("feed %s: %w", g.tables[0].feed.Name, g.err))
		}
	}
	return out, err
}

// round fetches a source once, and returns what that changes.
func (fs *Feeds) round(ctx context.Context, g *group) (out []state.Feed) {
	limited, cancel := context.WithTimeout(ctx, min(g.interval, maxFetch))
	samples, err := g.source.fetch(limited, fs.deps.Clock.Now())
	cancel()
	if err != nil {
		err = plain.Error(err, maxMessage)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now, before := fs.deps.Clock.Now(), g.err
	for _, t := range g.tables {
		has := samples[t.feed.Name]
		if n := t.keys(has); n > maxKeys {
			has, err = nil, fmt.Errorf("it had %d keys within %v, at most %d are allowed: its key must not be new in each round",
				n, 2*t.feed.MaxAge.Duration, maxKeys)
		}
		if news, ok := t.round(now, has); ok {
			out = append(out, news)
		}
	}
	g.err = err
	switch name := g.tables[0].feed.Name; {
	case ctx.Err() != nil:
	case err != nil && before == nil:
		fs.deps.Log.Warn("a feed fails; its last values count until they are stale", "feed", name, "error", err)
	case err == nil && before != nil:
		fs.deps.Log.Info("a feed works again", "feed", name)
	}
	return out
}

// Status is how a feed is.
type Status struct {
	// Feed is its name with its unit.
	Feed string
	// Keys is how many keys have a value, and Stale how many of these are stale.
	Keys, Stale int
	// Err is that of the last round; nil for none.
	Err error
}

// Status returns how the feeds are, sorted by name.
func (fs *Feeds) Status() (out []Status) {
	for _, g := range fs.groups {
		g.mu.Lock()
		for _, t := range g.tables {
			s := Status{Feed: t.feed.ID(), Err: g.err}
			s.Keys, s.Stale = t.count()
			out = append(out, s)
		}
		g.mu.Unlock()
	}
	slices.SortFunc(out, func(a, b Status) int { return strings.Compare(a.Feed, b.Feed) })
	return out
}

// Failing returns the errors of feeds that fail; nil if none does.
func (fs *Feeds) Failing() error {
	var errs []error
	for _, s := range fs.Status() {
		if s.Err != nil {
			errs = append(errs, fmt.Errorf("feed %s: %w", s.Feed, s.Err))
		}
	}
	return errors.Join(errs...)
}
