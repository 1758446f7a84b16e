package wasm_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/breaker"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// TestLog: a guest's texts are logged under its name and level.
func TestLog(t *testing.T) {
	var out bytes.Buffer
	guest := native(func(g *tiny, _ string, _, _, _ uint32) int32 {
		g.env.Log(0, "too low")
		g.env.Log(1, "one\x1b[31m")
		g.env.Log(9, "worst")
		return 0
	}, abi.ExportFilter)
	p, err := wasm.New(context.Background(), wasm.Config{Name: "p"}, wasm.Deps{
		Factory: guest, Manifest: &wire.Manifest{Points: wire.ManifestPoints{Filter: &wire.ManifestPoint{}}},
		Log: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelInfo})),
	})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(1)
	filter(p, w.cycle(incoming("a", "p", 0)), w.rows())
	for _, want := range []string{"level=INFO msg=\"one\ufffd[31m\" plugin=p", "level=ERROR msg=worst plugin=p"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("log is %q, want %q in it", out.String(), want)
		}
	}
	if strings.Contains(out.String(), "too low") {
		t.Errorf("log is %q", out.String())
	}
}

// TestLastLines: a plugin's status has the last lines of its log, cut, and no others.
func TestLastLines(t *testing.T) {
	next := 0
	guest := native(func(g *tiny, _ string, _, _, _ uint32) int32 {
		for range 20 {
			next++
			g.env.Log(2, fmt.Sprint(next, "\x1b ", strings.Repeat("ü", 200)))
		}
		g.env.Log(0, "too low")
		return 0
	}, abi.ExportFilter)
	p, err := wasm.New(t.Context(), wasm.Config{Name: "p", Limits: sandbox.Limits{LogSize: 64 << 10}}, wasm.Deps{
		Factory: guest, Manifest: &wire.Manifest{Points: wire.ManifestPoints{Filter: &wire.ManifestPoint{}}}, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Status().Log; len(got) != 0 {
		t.Errorf("before it was called it logged %q", got)
	}
	w := newWorld(1)
	for range 3 {
		filter(p, w.cycle(incoming("a", "p", 0)), w.rows())
	}
	got := p.Status().Log
	if len(got) != wasm.LastLines {
		t.Fatalf("%d lines: %q", len(got), got)
	}
	for i, line := range got {
		if !strings.HasPrefix(line, fmt.Sprint("warn: ", 53+i, "\ufffd ü")) || len(line) > wasm.LastLine || !utf8.ValidString(line) {
			t.Errorf("line %d has %d bytes: %q", i, len(line), line)
		}
	}
}

// TestLogOfFaults: a fault is logged with its pod, and each change of the breaker with its cause.
func TestLogOfFaults(t *testing.T) {
	var out bytes.Buffer
	now, broken := clock.NewStep(time.Unix(0, 0)), true
	guest := native(func(*tiny, string, uint32, uint32, uint32) int32 {
		if broken {
			panic("broken")
		}
		return 0
	}, abi.ExportFilter)
	p, err := wasm.New(t.Context(), wasm.Config{Name: "guest", Breaker: breaker.Config{Faults: 2, Backoff: time.Second}}, wasm.Deps{
		Factory: guest, Manifest: &wire.Manifest{Points: wire.ManifestPoints{Filter: &wire.ManifestPoint{}}}, Clock: now,
		Log: slog.New(slog.NewTextHandler(&out, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(1)
	for range 2 {
		filter(p, w.cycle(incoming("a", "p", 0)), w.rows())
		p.Settle("a")
	}
	now.Advance(time.Second)
	broken = false
	filter(p, w.cycle(incoming("a", "p", 0)), w.rows())
	p.Settle("a")
	rest := out.String()
	for _, want := range []string{
		`msg="plugin fault"`, ` pod=a/p`, "its breaker opens", `cause="2 calls in a row were faulted"`, "retryIn=1s", "its breaker is half open", "its breaker closes",
	} {
		_, after, ok := strings.Cut(rest, want)
		if !ok {
			t.Fatalf("there is no %s in its place in the log:\n%s", want, &out)
		}
		rest = after
	}
}
