package app

import (
	"bytes"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := slog.New(withoutRepeats(slog.NewTextHandler(&out, nil), slog.LevelDebug, func(error) bool { return false })).With("by", "client-go")
		burst := func(n int, where *slog.Logger) {
			for i := range n {
				where.Error("no connection", "try", i)
			}
		}
		wait := func(d time.Duration) {
			out.Reset()
			time.Sleep(d)
			synctest.Wait()
		}
		count := func(text string, want int) {
			t.Helper()
			if got := strings.Count(out.String(), text); got != want {
				t.Errorf("%q is there %d times, want %d:\n%s", text, got, want, out.String())
			}
		}
		burst(287, log)
		burst(100, log.WithGroup("g").With("lock", "x")) // the same words
		log.Warn("no connection")                        // another level
		log.Error("another thing")
		log.Error("no connection", "resource", "pods") // other causes
		log.With("resource", "nodes").Error("no connection")
		count(`level=ERROR msg="no connection"`, 3)
		count("level=WARN", 1)
		count("another thing", 1)
		count("repeated", 0)

		wait(repeatsWhile)
		count("level=", 1)
		count(`msg="no connection" by=client-go g.lock=x g.try=99 g.repeated=386`, 1)

		burst(3, log) // it goes on
		count("level=", 1)
		wait(2*repeatsWhile - time.Second)
		count("level=", 0)
		wait(time.Second)
		count("repeated=3", 1)
		count("level=", 1)

		wait(repeatsMost) // it has ended
		count("level=", 0)
		burst(1, log)
		count(`msg="no connection"`, 1)
		count("repeated", 0)
		wait(repeatsWhile)
		count("level=", 0)

		for i := range 3 * repeatsKnown {
			log.Error(strconv.Itoa(i))
		}
		count("level=ERROR", 3*repeatsKnown)
		wait(repeatsMost)
		count("level=", 0)
	})
}

// TestRepeatsFromLevel: lower levels are shown as they are, and errors that the scheduler says itself are not.
func TestRepeatsFromLevel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		said := errors.New("down")
		log := slog.New(withoutRepeats(slog.NewTextHandler(&out, nil), slog.LevelWarn, func(err error) bool { return errors.Is(err, said) }))
		for range 5 {
			log.Info("info")
			log.Warn("warning")
			log.Error("error", "error", said)
		}
		if got := [3]int{strings.Count(out.String(), "msg=info"), strings.Count(out.String(), "msg=warning"), strings.Count(out.String(), "msg=error")}; got != [3]int{5, 1, 0} {
			t.Errorf("got %v:\n%s", got, out.String())
		}
	})
}

// TestRepeatsAreBounded: messages that never come again are not kept.
func TestRepeatsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &seen{records: make(map[alike]*streak)}
		for i := range 10 * repeatsKnown {
			s.first(alike{slog.LevelError, strconv.Itoa(i), ""}, slog.Record{}, nil)
		}
		if len(s.records) > repeatsKnown {
			t.Errorf("%d messages are kept, want at most %d", len(s.records), repeatsKnown)
		}
		time.Sleep(repeatsWhile)
		synctest.Wait()
		if len(s.records) > 0 {
			t.Errorf("%d messages are kept at the end", len(s.records))
		}
	})
}
