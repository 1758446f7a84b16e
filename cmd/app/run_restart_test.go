package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

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
