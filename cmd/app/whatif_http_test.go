package app

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/debughttp"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/owners"
	"github.com/berth-scheduler/berth/runtime/whatif"
)

// TestAsksAgain: a server that is busy is asked again after the time that it says, and not if there is too little time for that.
func TestAsksAgain(t *testing.T) {
	for _, c := range []struct {
		name  string
		after []string // what the server says before it answers
		waits []time.Duration
		want  string
	}{
		{"twice", []string{"7", ""}, []time.Duration{7 * time.Second, time.Second}, ""},
		{"not a number", []string{"Wed, 21 Oct 2015 07:28:00 GMT"}, []time.Duration{time.Second}, ""},
		{"too long", []string{"2", "7200"}, []time.Duration{2 * time.Second}, "another question is being answered: try again"},
	} {
		asked := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			text, _ := io.ReadAll(r.Body)
			if asked++; asked <= len(c.after) {
				w.Header().Set("Retry-After", c.after[asked-1])
				http.Error(w, whatif.ErrBusy.Error(), http.StatusTooManyRequests)
				return
			}
			_, _ = w.Write(text)
		}))
		var waits []time.Duration
		o := serverOptions{server: server.URL, output: "json", timeLimit: time.Hour, after: func(d time.Duration) <-chan time.Time {
			waits = append(waits, d)
			over := make(chan time.Time)
			close(over)
			return over
		}}
		answer, err := o.ask(t.Context(), http.MethodPost, debughttp.WhatIfPath, "the question")
		server.Close()
		if !slices.Equal(waits, c.waits) {
			t.Errorf("%s: it waited %v, want %v", c.name, waits, c.waits)
		}
		var failed *failure
		switch {
		case c.want == "" && (err != nil || string(answer) != "the question"):
			t.Errorf("%s: %q, %v", c.name, answer, err)
		case c.want != "" && (!errors.As(err, &failed) || err.Error() != c.want):
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

// TestWhatIfPanics: a question that panics in the running scheduler is answered with what it was about. The panic is counted, and the
// loop goes on.
func TestWhatIfPanics(t *testing.T) {
	w := newWatched(newProgram())
	c, owned := &confirming{}, owners.New()
	var caught []*plugin.Panic
	a, err := assembly.New(assembly.Config{Seed: 1, Scheduler: assembly.Default()}, assembly.Deps{
		Binder: c, Outlet: c, Services: owned, Controllers: owned, Observer: both{w}, Panicked: func(p *plugin.Panic) { caught = append(caught, p) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	w.running.Store(&running{assembly: a}) // without a cluster, which every question uses
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Scheduler.Run(ctx) }()
	server := httptest.NewServer(whatif.Handler(w.whatIf))
	defer server.Close()
	for range 2 {
		o := serverOptions{server: server.URL, output: "json", timeLimit: time.Minute}
		_, err := o.ask(t.Context(), http.MethodPost, debughttp.WhatIfPath, `{"apiVersion":"berth.dev/v1alpha1","kind":"WhatIfRequest","removeNodes":["a"]}`)
		if err == nil || !strings.Contains(err.Error(), "panic") || strings.Contains(err.Error(), "goroutine ") {
			t.Errorf("the answer is %v", err)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if len(caught) != 2 || caught[0].Place != plugin.InQuestion {
		t.Errorf("%d panics were counted", len(caught))
	}
}
