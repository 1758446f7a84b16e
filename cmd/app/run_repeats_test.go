package app

import (
	"bytes"
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
		log := slog.New(withoutRepeats(slog.NewTextHandler(&out, nil), func(error) bool { return false })).With("by", "client-go")
		burst := func(n int, where *slog.Logger) {
			for i := range n {
				where.Error("no connection", "try", i)
			}
		}
		count := func(text string, want int) {
			t.Helper()
			if got := strings.Count(out.String(), text); got != want {
				t.Errorf("%q is there %d times, want %d:\n%s", text, got, want, out.String())
			}
		}
		burst(7, log)
		burst(100, log.WithGroup("g").With("lock", "x")) // the same words
		log.Warn("no connection")                        // another level
		log.Error("another thing")
		count(`level=ERROR msg="no connection"`, repeatsShown)
		count("level=WARN", 1)
		count("another thing", 1)
		count("leftOut", 0)

		time.Sleep(repeatsWhile)
		out.Reset()
		burst(3, log)
		count(`msg="no connection"`, 3)
		count("leftOut=97", 1)

		time.Sleep(repeatsWhile)
		out.Reset()
		burst(1, log)
		count(`msg="no connection"`, 1)
		count("leftOut", 0)

		out.Reset()
		for i := range 3 * repeatsKnown {
			log.Error(strconv.Itoa(i))
		}
		count("level=ERROR", 3*repeatsKnown)
	})
}

// TestRepeatsAreBounded: messages that never come again are not kept.
func TestRepeatsAreBounded(t *testing.T) {
	s := &seen{records: make(map[alike]*streak)}
	for i := range 10 * repeatsKnown {
		s.take(alike{slog.LevelError, strconv.Itoa(i)}, time.Now())
	}
	if len(s.records) > repeatsKnown {
		t.Errorf("%d messages are kept, want at most %d", len(s.records), repeatsKnown)
	}
}
