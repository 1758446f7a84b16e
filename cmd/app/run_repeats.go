package app

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// How many equal records are shown in an interval. client-go logs every failed request:
// hundreds per second when the API server is down.
const (
	repeatsShown = 10
	repeatsWhile = 10 * time.Second
	// repeatsKnown is the number of messages that are counted separately. It bounds memory if every message differs.
	repeatsKnown = 1000
)

// repeats is a handler that shows only the first of equal records, which have the same
// level and message. The first record of the next interval says how many were dropped.
// Errors that the scheduler also reports, such as an unreachable API server, go to the
// level debug.
type repeats struct {
	slog.Handler
	seen *seen
	// said reports whether the scheduler itself reports an error.
	said func(error) bool
}

type seen struct {
	sync.Mutex
	records map[alike]*streak
}

type alike struct {
	level   slog.Level
	message string
}

type streak struct {
	since time.Time // start of the interval
	count int       // in the interval
}

func withoutRepeats(next slog.Handler, said func(error) bool) slog.Handler {
	return &repeats{Handler: next, seen: &seen{records: make(map[alike]*streak)}, said: said}
}

// WithAttrs implements slog.Handler.
func (h *repeats) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &repeats{Handler: h.Handler.WithAttrs(attrs), seen: h.seen, said: h.said}
}

// WithGroup implements slog.Handler.
func (h *repeats) WithGroup(name string) slog.Handler {
	return &repeats{Handler: h.Handler.WithGroup(name), seen: h.seen, said: h.said}
}

// Handle implements slog.Handler.
func (h *repeats) Handle(ctx context.Context, r slog.Record) error {
	if r.Level > slog.LevelDebug && h.saidOf(r) {
		if !h.Enabled(ctx, slog.LevelDebug) {
			return nil
		}
		r = r.Clone()
		r.Level = slog.LevelDebug
	}
	shown, leftOut := h.seen.take(alike{r.Level, r.Message}, r.Time)
	if !shown {
		return nil
	}
	if leftOut > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("leftOut", leftOut))
	}
	return h.Handler.Handle(ctx, r)
}

// saidOf reports whether a record is about an error that the scheduler itself reports.
func (h *repeats) saidOf(r slog.Record) (said bool) {
	r.Attrs(func(a slog.Attr) bool {
		err, ok := a.Value.Any().(error)
		said = ok && h.said(err)
		return !said
	})
	return said
}

// take reports whether to show a record, and how many equal records the last interval
// dropped.
func (s *seen) take(what alike, now time.Time) (shown bool, leftOut int) {
	s.Lock()
	defer s.Unlock()
	last := s.records[what]
	if last == nil || now.Sub(last.since) >= repeatsWhile {
		if last != nil {
			leftOut = max(0, last.count-repeatsShown)
		} else if len(s.records) >= repeatsKnown {
			clear(s.records)
		}
		last = &streak{since: now}
		s.records[what] = last
	}
	last.count++
	return last.count <= repeatsShown, leftOut
}
