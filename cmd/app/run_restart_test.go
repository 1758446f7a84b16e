package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/internal/eventually"
	"github.com/berth-scheduler/berth/runtime/scheduler"
)

// TestRounds: the scheduler starts again after a panic of its loop, with longer and longer pauses, and with what is known of
// the rounds before. Other errors and an interrupt end it.
func TestRounds(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	var pauses []time.Duration
	var seen []*suspects
	wait := func(_ context.Context, pause time.Duration) { pauses = append(pauses, pause) }
	err := rounds(t.Context(), log, wait, func(_ context.Context, s *suspects) error {
		seen = append(seen, s)
		if len(seen) <= 8 {
			return &failure{fmt.Errorf("%w: of all things", scheduler.ErrBroken)}
		}
		return io.EOF
	})
	if want := []time.Duration{1, 2, 4, 8, 16, 32, 60, 60}; !errors.Is(err, io.EOF) || !slices.EqualFunc(pauses, want, func(a, b time.Duration) bool { return a == b*time.Second }) {
		t.Errorf("it ends with %v after pauses of %v", err, pauses)
	}
	if slices.ContainsFunc(seen, func(s *suspects) bool { return s != seen[0] }) {
		t.Error("a round does not know the suspects of those before")
	}
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	if err := rounds(ctx, log, func(context.Context, time.Duration) {}, func(context.Context, *suspects) error {
		n++
		cancel()
		return scheduler.ErrBroken
	}); n != 1 || !errors.Is(err, scheduler.ErrBroken) {
		t.Errorf("after an interrupt there were %d rounds: %v", n, err)
	}
}

// TestRoundsGiveUpTheLease: a scheduler whose queue or cache panics has given up its lease before it pauses. It starts again from
// the watch, places the other pods, and holds back the one that did it twice, until that changes.
func TestRoundsGiveUpTheLease(t *testing.T) {
	for _, at := range []string{"queue", "cache"} {
		t.Run(at, func(t *testing.T) {
			l := newLiving(t, newProgram(), "--secure-port=0", "--debug-socket="+filepath.Join(t.TempDir(), "s"), "--leader-elect=true")
			var harmless atomic.Bool
			l.watched.fault = func(place, what string) {
				if place == at && what == "ns/bad" && !harmless.Load() {
					panic("as a bug does")
				}
			}
			client := l.api.Clients().Main
			var mu sync.Mutex
			var holders []string // of the lease, at each pause
			wait := func(ctx context.Context, _ time.Duration) {
				lease, err := client.CoordinationV1().Leases("kube-system").Get(ctx, "kube-scheduler", metav1.GetOptions{})
				holder := ""
				if !apierrors.IsNotFound(err) { // it panicked before it asked for the lease
					if err != nil {
						t.Error(err)
						return
					}
					holder = *lease.Spec.HolderIdentity
				}
				mu.Lock()
				defer mu.Unlock()
				holders = append(holders, holder)
			}
			l.node("n", 4)
			l.pod("ns", "bad", 1, 0)
			l.pod("ns", "good", 1, 0)
			l.begin(func(ctx context.Context) error {
				return rounds(ctx, slog.New(slog.DiscardHandler), wait, func(ctx context.Context, s *suspects) error {
					l.watched.suspects = s
					return l.schedule(ctx)
				})
			})
			find := func(name string) (node, why string) {
				pod, err := client.CoreV1().Pods("ns").Get(t.Context(), name, metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range pod.Status.Conditions {
					why = c.Reason + ": " + c.Message
				}
				return pod.Spec.NodeName, why
			}
			eventually.Succeeds(t, func() error {
				good, _ := find("good")
				bad, why := find("bad")
				if good != "n" || bad != "" || !strings.HasPrefix(why, "SchedulerError: held back: the scheduling loop panicked 2 times") {
					return fmt.Errorf("good is on %q, bad on %q: %s", good, bad, why)
				}
				return nil
			})
			// Of three panics, one was while it handled the node. It is counted before the pause.
			eventually.Succeeds(t, func() error {
				l.scrape()
				mu.Lock()
				defer mu.Unlock()
				if n := len(holders); l.sum("berth_panics_total", `place="loop"`) != float64(n) {
					return fmt.Errorf("%v panics are counted, want %d", l.sum("berth_panics_total"), n)
				}
				return nil
			})
			mu.Lock()
			if n := len(holders); n < 2 || n > 3 || slices.ContainsFunc(holders, func(holder string) bool { return holder != "" }) {
				t.Errorf("the lease was held by %q when the scheduler paused, want nobody, two or three times", holders)
			}
			mu.Unlock()
			harmless.Store(true)
			pod, err := client.CoreV1().Pods("ns").Get(t.Context(), "bad", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			pod.ResourceVersion, pod.Labels = "2", map[string]string{"changed": "yes"}
			if _, err := client.CoreV1().Pods("ns").Update(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			eventually.Holds(t, "the changed pod is placed", func() bool { node, _ := find("bad"); return node == "n" })
		})
	}
}

// TestCommandPanics: a command that panics says so and fails.
func TestCommandPanics(t *testing.T) {
	root := &cobra.Command{Use: "berth", RunE: func(*cobra.Command, []string) error {
		panic("as a bug does")
	}}
	var out, errs bytes.Buffer
	if code := execute(t.Context(), root, nil, &out, &errs); code != exitFailed {
		t.Errorf("the exit status is %d", code)
	}
	for _, want := range []string{"TestCommandPanics", "berth: a panic in this command: as a bug does; please report this"} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("it says\n%s\nwithout %q", errs.String(), want)
		}
	}
}
