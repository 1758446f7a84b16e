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
// module. Operators are told of it in events, which are about the Lease: it is there in
// every kind of installation, and has the events of the election.
type Part struct {
	// Name tells parts apart, and Cause the failures of one part: another one is told of, too.
	Name, Cause string
	Failed      bool
	// Times is how often it has failed since it was made, if that is counted: it may have
	// failed and work again.
	Times int
	// Failure and Recovery are what is written when it fails, and when it works again.
	Failure, Recovery Notice
}

// Notice is the text of an event.
type Notice struct {
	Reason, Action, Note string
}

// How often parts are looked at, and how many events are written of them: of one part no two
// failures within a pause, and of all together noticesAtOnce, then one in each noticeEvery.
const (
	partsPoll     = 2 * time.Second
	noticePause   = time.Minute
	noticesAtOnce = 20
	noticeEvery   = 10 * time.Second
)

// notices tells of parts that have failed, and of those that work again. What it may not
// tell now, as when the API server is away, it tells later, if it still holds then.
type notices struct {
	write func(kind string, n Notice) error
	log   *slog.Logger
	known map[string]*toldPart
	// tokens are events that may be written, as of the time counted.
	tokens  int
	counted time.Time
	// resume is when writing is tried again after an error.
	resume time.Time
}

// toldPart is what is known of a part.
type toldPart struct {
	last  Part
	bad   bool   // its failure is told, with
	cause string // this cause
	times int    // as of what was told
	next  time.Time
}

// step looks at all parts, at a time.
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
		t.times = min(t.times, p.Times) // another one has taken its place
		// A file that is being written looks like one that is bad: it has to stay so.
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
		n.log.Debug("an event about a part of the scheduler was not written; it is tried again", "reason", notice.Reason, "error", err)
		return false
	}
	n.tokens--
	return true
}

// tellOf tells of parts from now on, until stop is called, which waits for what is written.
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

// notice writes an event about the lease. client-go's recorder would take those of several
// parts for one that repeats.
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
