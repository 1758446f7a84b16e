package cluster

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestProcess(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	sh := func(script string) *Process {
		p, err := start("sh", log, "/bin/sh", "-c", script)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	p := sh("echo one; echo two; exit 3")
	if code, err := p.Wait(ctx); code != 3 || err != nil {
		t.Errorf("exit status %d, %v", code, err)
	}
	if err := p.Stop(time.Second); err == nil {
		t.Error("a process that failed reports a clean stop")
	}
	if tail := p.Tail(1); !strings.Contains(tail, "two") || strings.Contains(tail, "one") {
		t.Errorf("the last line is %q", tail)
	}

	p = sh("trap 'exit 0' TERM; echo ready; while :; do sleep 0.05; done")
	for end := time.Now().Add(time.Minute); !strings.Contains(p.Log(), "ready"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not start")
		}
	}
	if !strings.Contains(p.Log(), "one") {
		t.Error("the log of an earlier process is gone")
	}
	if err := p.Pause(); err != nil {
		t.Error(err)
	}
	if err := p.Resume(); err != nil {
		t.Error(err)
	}
	if err := p.Stop(time.Minute); err != nil {
		t.Error(err)
	}

	p = sh("trap '' TERM; echo deaf; while :; do sleep 0.05; done")
	for !strings.Contains(p.Log(), "deaf") {
		time.Sleep(10 * time.Millisecond)
	}
	if err := p.Stop(200 * time.Millisecond); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("a process that does not listen has a port: %v", err)
	}
	if p.Running() {
		t.Error("it still runs")
	}
}

func TestUsage(t *testing.T) {
	p, err := start("sh", filepath.Join(t.TempDir(), "log"), "/bin/sh", "-c", "i=0; while :; do i=$((i+1)); done")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		used, err := p.Usage()
		if err != nil {
			t.Fatal(err)
		}
		if used.CPU > 0 && used.PeakMemory > 100<<10 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("a busy process has used %+v", used)
		}
	}
}
