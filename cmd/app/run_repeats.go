package app

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// How long records like one that was shown are counted, and not shown. The time doubles while they go on. client-go logs every failed
// request: hundreds per second when the API server is down.
const (
	repeatsWhile = 10 * time.Second
	repeatsMost  = time.Minute
	// repeatsKnown is the number of causes that are counted separately. It bounds memory if every message differs.
	repeatsKnown = 1000
)

// repeats is a handler that shows the first of records with the same level, message and cause. Later ones are counted, and the last of
// them is shown with the count. Errors that the scheduler also reports, such as an unreachable API server, go to the level debug.
type repeats struct {
	slog.Handler
	from  slog.Level // lower levels are shown as they are
	cause string     // of the attributes of all records
	seen  *seen
	// said (optional) reports whether the scheduler itself reports an error.
	said func(error) bool
}

type seen struct {
	sync.Mutex
	records map[alike]*streak
}

type alike struct {
	level          slog.Level
	message, cause string
}

// streak counts records since one of them was shown.
type streak struct {
	count  int
	during time.Duration
	last   slog.Record
	to     slog.Handler // of the last one
}

func withoutRepeats(next slog.Handler, from slog.Level, said func(error) bool) slog.Handler {
	return &repeats{Handler: next, from: from, seen: &seen{records: make(map[alike]*streak)}, said: said}
}

// WithAttrs implements slog.Handler.
func (h *repeats) WithAttrs(attrs []slog.Attr) slog.Handler {
	out := *h
	out.Handler = h.Handler.WithAttrs(attrs)
	for _, a := range attrs {
		out.cause += causeOf(a)
	}
	return &out
}

// WithGroup implements slog.Handler.
func (h *repeats) WithGroup(name string) slog.Handler {
	out := *h
	out.Handler = h.Handler.WithGroup(name)
	return &out
}

// causeOf returns what an attribute says of the cause. Other attributes name single objects and times, which differ from record to record.
func causeOf(a slog.Attr) string {
	switch a.Key {
	case "plugin", "profile", "point", "kind", "verb", "code", "resource", "lease", "file", "dir", "place", "object":
		return a.String() + "\n"
	}
	return ""
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
	if r.Level >= h.from {
		var cause strings.Builder
		cause.WriteString(h.cause)
		r.Attrs(func(a slog.Attr) bool {
			cause.WriteString(causeOf(a))
			return true
		})
		if !h.seen.first(alike{r.Level, r.Message, cause.String()}, r, h.Handler) {
			return nil
		}
	}
	return h.Handler.Handle(ctx, r)
}

// saidOf reports whether a record is about an error that the scheduler itself reports.
func (h *repeats) saidOf(r slog.Record) (said bool) {
	if h.said == nil {
		return false
	}
	r.Attrs(func(a slog.Attr) bool {
		err, ok := a.Value.Any().(error)
		said = ok && h.said(err)
		return !said
	})
	return said
}

// first reports whether to show a record now. Otherwise it is counted.
func (s *seen) first(what alike, r slog.Record, to slog.Handler) bool {
	s.Lock()
	defer s.Unlock()
	last := s.records[what]
	if last == nil {
		if len(s.records) < repeatsKnown {
			s.records[what] = &streak{during: repeatsWhile}
			time.AfterFunc(repeatsWhile, func() { s.end(what) })
		}
		return true
	}
	last.count++
	last.last, last.to = r.Clone(), to
	return false
}

// end shows how many records were counted, and counts on if there were some.
func (s *seen) end(what alike) {
	s.Lock()
	streak := s.records[what]
	if streak.count == 0 {
		delete(s.records, what)
		s.Unlock()
		return
	}
	r, to := streak.last, streak.to
	r.AddAttrs(slog.Int("repeated", streak.count))
	streak.count, streak.during = 0, min(2*streak.during, repeatsMost)
	time.AfterFunc(streak.during, func() { s.end(what) })
	s.Unlock()
	_ = to.Handle(context.Background(), r) // as slog does
}
