package conformance_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi/conformance"
)

// recorder runs the kit and records what fails.
type recorder struct {
	ctx     context.Context
	name    string
	results *results
	failed  bool
	only    string // a case, or empty for all
}

type results struct {
	passed  int
	failed  []string // names of cases
	skipped []string
	texts   []string
}

var _ conformance.Tester = (*recorder)(nil)

func (r *recorder) Helper()                  {}
func (r *recorder) Context() context.Context { return r.ctx }

func (r *recorder) Errorf(format string, args ...any) {
	r.failed = true
	r.results.texts = append(r.results.texts, r.name+": "+fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprint(args...)) }

func (r *recorder) Skipf(format string, args ...any) {
	r.results.skipped = append(r.results.skipped, r.name+": "+fmt.Sprintf(format, args...))
	runtime.Goexit()
}

func (r *recorder) Skip(args ...any) { r.Skipf("%s", fmt.Sprint(args...)) }

func (r *recorder) Run(name string, f func(t conformance.Tester)) {
	child := &recorder{ctx: r.ctx, name: strings.TrimPrefix(r.name+"/"+name, "/"), results: r.results, only: r.only}
	if r.only != "" && child.name != r.only && !strings.HasPrefix(r.only, child.name+"/") {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { // for a host with a mistake
			if r := recover(); r != nil {
				child.failed = true
				child.results.texts = append(child.results.texts, fmt.Sprintf("%s: panic: %v", child.name, r))
			}
		}()
		f(child)
	}()
	<-done
	switch {
	case child.failed && strings.Contains(child.name, "/"):
		r.results.failed = append(r.results.failed, child.name)
	case child.failed:
		r.failed = true
	case strings.Contains(child.name, "/"):
		r.results.passed++
	}
}

func record(t *testing.T, h *reference) *results {
	t.Helper()
	return recordOnly(t, conformance.ReadLibrary(t), h, "")
}

func recordOnly(t *testing.T, lib *conformance.Library, h *reference, only string) *results {
	t.Helper()
	out := &results{}
	r := &recorder{ctx: t.Context(), results: out, only: only}
	lib.RunOn(r, h)
	lib.RunSchedulerOn(r, h)
	return out
}

// TestRunOfAReference: a host that does what SPEC.md says passes.
func TestRunOfAReference(t *testing.T) {
	got := record(t, &reference{})
	if len(got.failed) > 0 {
		t.Errorf("%d cases pass, %q fail:\n%s", got.passed, got.failed, strings.Join(got.texts, "\n"))
	}
	if got.passed < 400 || len(got.skipped) > 0 {
		t.Errorf("%d cases pass, skipped %q", got.passed, got.skipped)
	}
}
