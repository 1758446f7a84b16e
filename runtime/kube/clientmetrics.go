package kube

import (
	"context"
	"net/url"
	"time"

	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/metrics"
)

// ClientObserver hears what client-go does.
type ClientObserver interface {
	// Requested hears of a request to the API server; code is its status, or "<error>".
	Requested(code, method, host string)
	RequestTook(verb, host string, took time.Duration)
	// Leads hears whether this replica holds the Lease of a name.
	Leads(name string, leads bool)
}

// ObserveClients has client-go, which keeps this for the whole process, tell an
// observer what it does. Only the first call in a process has an effect, and it must
// come before Connect.
func ObserveClients(o ClientObserver) {
	metrics.Register(metrics.RegisterOpts{RequestResult: requestResult{o}, RequestLatency: requestLatency{o}})
	leaderelection.SetProvider(leaderProvider{o})
}

type requestResult struct{ ClientObserver }

func (r requestResult) Increment(_ context.Context, code, method, host string) {
	r.Requested(code, method, host)
}

type requestLatency struct{ ClientObserver }

func (r requestLatency) Observe(_ context.Context, verb string, u url.URL, latency time.Duration) {
	r.RequestTook(verb, u.Host, latency)
}

type leaderProvider struct{ ClientObserver }

func (p leaderProvider) NewLeaderMetric() leaderelection.LeaderMetric { return p }
func (p leaderProvider) On(name string)                               { p.Leads(name, true) }
func (p leaderProvider) Off(name string)                              { p.Leads(name, false) }
func (p leaderProvider) SlowpathExercised(string)                     {}
