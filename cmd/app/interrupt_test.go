package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/runtime/sim"
)

// countdown is a context that ends when it has been looked at n times.
type countdown struct {
	left atomic.Int64
	done chan struct{}
}

func (c *countdown) Deadline() (time.Time, bool) { return time.Time{}, false }
func (c *countdown) Done() <-chan struct{}       { return c.done }
func (c *countdown) Value(any) any               { return nil }

func (c *countdown) Err() error {
	if c.left.Add(-1) < 0 {
		return errors.New("interrupt signal received")
	}
	return nil
}

func TestInterruptPrintsWhatWasDone(t *testing.T) {
	args := []string{"simulate", "--cluster", "../berth/demo/cluster", "--config", "../berth/demo/scheduler.yaml", "-o", "json"}
	ctx := &countdown{done: make(chan struct{})}
	// Reading looks at the context, too, so count from the end of a whole run.
	const enough = 1 << 40
	ctx.left.Store(enough)
	var stdout, stderr bytes.Buffer
	if status := run(ctx, args, &stdout, &stderr); status != exitOK {
		t.Fatalf("exit status is %d: %s", status, stderr.String())
	}
	looks := enough - ctx.left.Load()
	ctx.left.Store(looks - 100)
	stdout.Reset()
	stderr.Reset()
	if status := run(ctx, args, &stdout, &stderr); status != exitFailed {
		t.Errorf("exit status is %d, want %d", status, exitFailed)
	}
	if want := " of 299 pods: interrupt signal received; the output has the results so far\n"; !strings.HasSuffix(stderr.String(), want) {
		t.Errorf("stderr is %q, want the end %q", stderr.String(), want)
	}
	var r sim.Result
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	s := r.Summary
	if s.Scheduled == 0 || s.Scheduled >= 292 || s.Scheduled+s.Unschedulable != 299 || s.Pods != 299 || len(r.Placements) != s.Scheduled {
		t.Errorf("summary is %+v", s)
	}
	untried := 0
	for _, p := range r.Unschedulable {
		if p.Message == "" {
			t.Errorf("pod %s has no message", p.Pod)
		}
		if strings.HasPrefix(p.Message, "not tried") {
			untried++
		}
	}
	if untried == 0 {
		t.Error("no pod is said not to have been tried")
	}
}

func TestInterruptWhileReading(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupt signal received"))
	var stdout, stderr bytes.Buffer
	status := run(ctx, []string{"simulate", "--cluster", "testdata/cluster"}, &stdout, &stderr)
	if status != exitFailed || stdout.Len() > 0 || !strings.HasSuffix(stderr.String(), "berth: stopped while reading the input: interrupt signal received\n") {
		t.Errorf("status %d, stdout %q, stderr %q", status, stdout.String(), stderr.String())
	}
}
