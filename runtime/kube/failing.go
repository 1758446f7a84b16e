package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/report"
)

// requestsPoll is how often failing requests are looked at.
const requestsPoll = time.Second

// tellFailures logs each cause of failing writes at its beginning and at its end, and writes an event for each pod whose binding
// fails, until the context ends.
func (c *Cluster) tellFailures(ctx context.Context, r *Requests) {
	told := make(map[writeCause]toldCause)
	for {
		for _, f := range r.Writes() {
			c.tellCause(told, f)
		}
		for name, err := range r.lateBindings() {
			c.tellOfBinding(name, err)
		}
		next, stop := c.deps.Clock.Until(c.deps.Clock.Now().Add(requestsPoll))
		select {
		case <-next:
		case <-ctx.Done():
			stop()
			return
		}
	}
}

type writeCause struct{ verb, kind, code string }

// toldCause is what is known of a cause.
type toldCause struct {
	logged bool
	since  time.Time
	before int64 // failures before it
}

func (c *Cluster) tellCause(told map[writeCause]toldCause, f FailingWrites) {
	cause, now := writeCause{f.Verb, f.Kind, f.Code}, c.deps.Clock.Now()
	last := told[cause]
	if f.Objects == 0 {
		if last.logged {
			c.log.Info("writes to the API server no longer fail", "verb", f.Verb, "kind", f.Kind, "code", f.Code,
				"after", now.Sub(last.since).Round(time.Millisecond), "failures", f.Failures-last.before)
		}
		told[cause] = toldCause{before: f.Failures}
		return
	}
	if !last.logged && f.Lasts && !c.deps.Reach.Says(f.Err) {
		last.logged, last.since = true, now.Add(-f.Oldest)
		told[cause] = last
		c.log.Error("writes to the API server fail; retrying", "verb", f.Verb, "kind", f.Kind, "code", f.Code, "objects", f.Objects,
			"example", f.Example.String(), "since", last.since, "error", f.Err)
	}
}

// tellOfBinding writes an event about a pod whose binding is retried: until it succeeds or is given up, the pod has neither a
// condition nor another event.
func (c *Cluster) tellOfBinding(name types.NamespacedName, failure error) {
	pod := c.Pod(name)
	if pod == nil || pod.Spec.NodeName != "" || c.deps.Covered() != nil {
		return
	}
	if recorder := c.events.recorders[pod.Spec.SchedulerName]; recorder != nil {
		recorder.Eventf(pod, nil, v1.EventTypeWarning, "FailedBinding", "Binding", "%s",
			shownNote(fmt.Sprintf("the binding has failed for %v and is retried: %v", lastsAfter, failure)))
	}
}

// logFailure logs that an object could not be written. Where Requests tells of failures that last, that is for those who look closer.
func (d *Deps) logFailure(message, kind, object string, err error) {
	level := slog.LevelError
	if d.Requests != nil && !errors.As(err, new(*plugin.Panic)) {
		level = slog.LevelDebug
	}
	d.Log.LogAttrs(context.Background(), level, message, slog.String(kind, object), slog.Any("error", err))
}

// FailingWatch is a watched kind of object.
type FailingWatch struct {
	Kind string
	// For is how long it has not been watched, so that its objects may be out of date; 0 if it is watched, or if it need not be: the API
	// server does not have the kind.
	For time.Duration
	// Required is false for kinds that an API server need not have.
	Required bool
}

// Watches returns the watched kinds, sorted.
func (c *Cluster) Watches() (out []FailingWatch) {
	add := func(k *kind, required bool) {
		w := FailingWatch{Kind: k.name, For: c.deps.Requests.watchFailing(k.name), Required: required}
		k.mu.Lock()
		if k.mu.absent {
			w.For = 0
		}
		k.mu.Unlock()
		out = append(out, w)
	}
	for _, k := range c.watches.kinds {
		add(k, k.optional == nil)
	}
	for _, k := range c.plugins.kinds {
		add(&k.kind, false)
	}
	slices.SortFunc(out, func(a, b FailingWatch) int { return cmp.Compare(a.Kind, b.Kind) })
	return out
}

// Unwatched returns an error that names the required kinds that have not been watched for blockedAfter.
func (c *Cluster) Unwatched() error {
	var errs []error
	for _, w := range c.Watches() {
		if w.Required && w.For >= blockedAfter {
			errs = append(errs, fmt.Errorf("%s: not watched for %v, so decisions rest on what was (the log has the error)",
				w.Kind, w.For.Round(time.Second)))
		}
	}
	return errors.Join(errs...)
}

// FailingWrites returns the writes that failed at some time.
func (c *Cluster) FailingWrites() []FailingWrites { return c.deps.Requests.Writes() }

// UnwrittenEvents returns how many events were not written: because they would have been more than ten seconds late, and because a later
// one of the same object and reason came while they waited.
func (c *Cluster) UnwrittenEvents() (late, merged int64) {
	return c.events.sink.late.Load(), c.events.sink.merged.Load()
}

// Blocked returns an error that names the writes that all fail.
func (c *Cluster) Blocked() error { return c.deps.Requests.Blocked() }

// FailedWrite returns why a pod cannot be written; nil if it can.
func (c *Cluster) FailedWrite(pod types.NamespacedName) *report.FailedWrite {
	return c.deps.Requests.OfPod(pod)
}

// FailingParts returns writes and watches as parts that events tell of.
func (c *Cluster) FailingParts() (out []Part) {
	for _, f := range c.FailingWrites() {
		what := f.Verb + " " + f.Kind
		out = append(out, Part{
			Name: "writes " + what + " with code " + f.Code, Failed: f.Lasts,
			Failure: Notice{"WritesFailing", "Writing",
				fmt.Sprintf("%s fails for %d objects, for instance %s: %v", what, f.Objects, f.Example, f.Err)},
			Recovery: Notice{"WritesRecovered", "Writing", what + " no longer fails"},
		})
	}
	for _, w := range c.Watches() {
		out = append(out, Part{
			Name: "watch of " + w.Kind, Failed: w.For >= lastsAfter,
			Failure:  Notice{"WatchFailing", "Watching", w.Kind + " cannot be watched; decisions rest on what was"},
			Recovery: Notice{"WatchRecovered", "Watching", w.Kind + " is watched again"},
		})
	}
	return out
}
