package kube

import (
	"context"
	"log/slog"
	"maps"
	"os"
	"time"

	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record/util"
)

// Part is a part of the scheduler that may fail while the rest works, such as a plugin
// module. Events report its state to operators. They are about the Lease, because every
// installation has one and it already has the events of the election.
type Part struct {
	// Name identifies the part, and Cause a failure of it: a new cause is reported, too.
	Name, Cause string
	Failed      bool
	// Times is the number of failures so far, if they are counted. The part may have failed and
	// recovered between two looks.
	Times int
	// Failure and Recovery are the events for a failure and for its end.
	Failure, Recovery Notice
}

// Notice is the text of an event.
type Notice struct {
	Reason, Action, Note string
}

// How often the state of parts is read, and how many events are written: at most one failure
// of a part within a pause, and for all parts noticesAtOnce, then one per noticeEvery.
const (
	partsPoll     = 2 * time.Second
	noticePause   = time.Minute
	noticesAtOnce = 20
	noticeEvery   = 10 * time.Second
)

// notices reports parts that failed or recovered. Reports that cannot be written now, for
// example because the API server is down, are written later if they still hold.
type notices struct {
	write func(kind string, n Notice) error
	log   *slog.Logger
	known map[string]*toldPart
	// tokens is the number of events that may be written, as of counted.
	tokens  int
	counted time.Time
	// resume is the time of the next attempt after an error.
	resume time.Time
}

// toldPart is what was reported about a part.
type toldPart struct {
	last  Part
	bad   bool   // its failure was reported, with
	cause string // this cause
	times int    // at the last report
	next  time.Time
}

// step reads the state of all parts.
func (n *notices) step(now time.Time, parts []Part) {
	if n.counted.IsZero() {
		n.tokens, n.counted = noticesAtOnce, now
	}
	if earned := int(now.Sub(n.counted) / noticeEvery); earned > 0 {
		n.tokens = min(noticesAtOnce, n.tokens+earned)
		n.counted = n.counted.Add(time.Duration(earned) * noticeEvery)
	}
	there := make(map[string]bool, len(parts))
	for i := range parts {
		p := &parts[i]
		there[p.Name] = true
		t := n.known[p.Name]
		if t == nil {
			t = &toldPart{times: p.Times}
			n.known[p.Name] = t
		}
		t.times = min(t.times, p.Times) // another part has taken its place
		// A file that is being written looks like a bad one, so it must stay bad for a while.
		stays := p.Failed && t.last.Failed && t.last.Cause == p.Cause
		t.last = *p
		switch {
		case t.bad && !p.Failed:
			if n.send(now, v1.EventTypeNormal, p.Recovery) {
				t.bad, t.times = false, p.Times
			}
		case now.Before(t.next):
		case p.Times > t.times && !t.bad, stays && (!t.bad || t.cause != p.Cause):
			if n.send(now, v1.EventTypeWarning, p.Failure) {
				t.bad, t.cause, t.times, t.next = true, p.Cause, p.Times, now.Add(noticePause)
			}
		}
	}
	maps.DeleteFunc(n.known, func(name string, t *toldPart) bool { return !there[name] && !now.Before(t.next) })
}

// send writes an event if one may be written.
func (n *notices) send(now time.Time, kind string, notice Notice) (sent bool) {
	if n.tokens == 0 || now.Before(n.resume) {
		return false
	}
	notice.Note = shownNote(notice.Note)
	if err := n.write(kind, notice); err != nil {
		n.resume = now.Add(noticeEvery)
		n.log.Debug("cannot write an event about a part of the scheduler; retrying", "reason", notice.Reason, "error", err)
		return false
	}
	n.tokens--
	return true
}

// tellOf reports parts until stop is called. stop waits for the last write.
func (c *Cluster) tellOf(ctx context.Context, parts func() []Part, election *Election) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	n := &notices{log: c.log, known: make(map[string]*toldPart), write: func(kind string, notice Notice) error {
		return c.notice(ctx, election, kind, notice)
	}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			now := c.deps.Clock.Now()
			n.step(now, parts())
			next, giveUp := c.deps.Clock.Until(now.Add(partsPoll))
			select {
			case <-next:
			case <-ctx.Done():
				giveUp()
				return
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// notice writes an event about the lease. client-go's recorder would merge the events of
// several parts.
func (c *Cluster) notice(ctx context.Context, election *Election, kind string, n Notice) error {
	if err := c.deps.Covered(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	now := c.deps.Clock.Now()
	lease := election.reference(ctx)
	_, err = c.deps.Events.EventsV1().Events(lease.Namespace).Create(ctx, &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: lease.Namespace, Name: util.GenerateEventName(lease.Name, now.UnixNano())},
		EventTime:           metav1.NewMicroTime(now),
		ReportingController: c.config.Profiles[0], ReportingInstance: c.config.Profiles[0] + "-" + host,
		Type: kind, Reason: n.Reason, Action: n.Action, Note: n.Note, Regarding: lease,
	}, metav1.CreateOptions{})
	return err
}
