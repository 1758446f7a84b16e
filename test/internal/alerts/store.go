// Package alerts evaluates PromQL as Prometheus does, over metrics that were scraped into
// memory, and reads the alerts and the dashboard of deploy/monitoring.
package alerts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// Interval is the time between two scrapes of a Store. Its clock advances by half a minute with
// each scrape, however soon it follows.
const Interval = 30 * time.Second

// Store keeps the metrics that one process has served. It must not be used concurrently.
type Store struct {
	now    time.Time
	series map[uint64]*series
	engine *promql.Engine
}

type series struct {
	labels  labels.Labels
	samples []chunks.Sample
}

// NewStore returns an empty store.
func NewStore() *Store {
	return &Store{
		now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), series: make(map[uint64]*series),
		engine: promql.NewEngine(promql.EngineOpts{Logger: slog.New(slog.DiscardHandler), MaxSamples: 1_000_000, Timeout: time.Minute, EnableAtModifier: true}),
	}
}

// Scrape stores the response of /metrics. A series that is no longer in it is stale from now
// on; an empty text means that the process did not answer.
func (s *Store) Scrape(text string) error {
	s.now = s.now.Add(Interval)
	at := s.now.UnixMilli()
	parser := textparse.NewPromParser([]byte(text), labels.NewSymbolTable(), false)
	for {
		entry, err := parser.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("metrics: %w", err)
		}
		if entry != textparse.EntrySeries {
			continue
		}
		var l labels.Labels
		parser.Labels(&l)
		_, _, v := parser.Series()
		one := s.series[l.Hash()]
		if one == nil {
			one = &series{labels: l}
			s.series[l.Hash()] = one
		}
		one.samples = append(one.samples, sample{at, v})
	}
	for _, one := range s.series {
		if last := one.samples[len(one.samples)-1]; last.T() != at && !value.IsStaleNaN(last.F()) {
			one.samples = append(one.samples, sample{at, math.Float64frombits(value.StaleNaN)})
		}
	}
	return nil
}

// Eval returns the elements of an expression at the last scrape, in Prometheus' notation.
func (s *Store) Eval(ctx context.Context, expression string) ([]string, error) {
	query, err := s.engine.NewInstantQuery(ctx, s, nil, expression, s.now)
	if err != nil {
		return nil, err
	}
	defer query.Close()
	result := query.Exec(ctx)
	if result.Err != nil {
		return nil, result.Err
	}
	vector, err := result.Vector()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, element := range vector {
		out = append(out, element.String())
	}
	return out, nil
}

// Has reports whether a metric was ever scraped.
func (s *Store) Has(metric string) bool {
	for _, one := range s.series {
		if one.labels.Get(labels.MetricName) == metric {
			return true
		}
	}
	return false
}

// Querier implements storage.Queryable.
func (s *Store) Querier(mint, maxt int64) (storage.Querier, error) {
	return &querier{store: s, mint: mint, maxt: maxt}, nil
}

type querier struct {
	storage.LabelQuerier // nil: the engine does not ask
	store                *Store
	mint, maxt           int64
}

// Close implements storage.Querier.
func (q *querier) Close() error { return nil }

// Select implements storage.Querier.
func (q *querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	set := &seriesSet{at: -1}
	for _, one := range q.store.series {
		if slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(one.labels.Get(m.Name)) }) {
			continue
		}
		var samples []chunks.Sample
		for _, x := range one.samples {
			if q.mint <= x.T() && x.T() <= q.maxt {
				samples = append(samples, x)
			}
		}
		set.all = append(set.all, storage.NewListSeries(one.labels, samples))
	}
	slices.SortFunc(set.all, func(a, b storage.Series) int { return labels.Compare(a.Labels(), b.Labels()) })
	return set
}

type seriesSet struct {
	all []storage.Series
	at  int
}

func (s *seriesSet) Next() bool                        { s.at++; return s.at < len(s.all) }
func (s *seriesSet) At() storage.Series                { return s.all[s.at] }
func (s *seriesSet) Err() error                        { return nil }
func (s *seriesSet) Warnings() annotations.Annotations { return nil }

// sample is a number at a time in milliseconds.
type sample struct {
	at    int64
	value float64
}

func (s sample) T() int64                      { return s.at }
func (s sample) F() float64                    { return s.value }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return nil }
func (s sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }
