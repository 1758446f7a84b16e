package telemetry

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/report"
)

// manyTries is the last number of tries that has a label of its own, as in
// kube-scheduler.
const manyTries = 15

// Attempted counts a scheduling cycle. A pod that got a node is counted as scheduled
// when it is bound.
func (m *Metrics) Attempted(a *report.Attempt, _ func(row uint32) string) {
	m.algorithm.Observe(a.Duration.Seconds())
	if len(a.Victims) > 0 {
		m.victims.Observe(float64(len(a.Victims)))
	}
	if a.PostFilter != "" || len(a.Victims) > 0 {
		m.preemptions.Inc()
	}
	if a.Code != abi.Success {
		m.attempt(a.Profile, a.Code, a.Duration)
	}
	m.timings(a.Profile, a.Timings)
}

// Ended counts the end of a placement.
func (m *Metrics) Ended(e *report.Ending) {
	m.attempt(e.Profile, e.Code, e.Duration)
	if e.Code == abi.Success {
		m.tries.Observe(float64(e.Try))
		m.sli.WithLabelValues(triesLabel(e.Try)).Observe(e.SinceFirst.Seconds())
	}
	m.timings(e.Profile, e.Timings)
}

func triesLabel(n int) string {
	if n > manyTries {
		return strconv.Itoa(manyTries) + "+"
	}
	return strconv.Itoa(n)
}

func (m *Metrics) attempt(profile string, code abi.Code, took time.Duration) {
	result := "unschedulable"
	switch code {
	case abi.Success:
		result = "scheduled"
	case abi.Error:
		result = "error"
	}
	m.attempts.WithLabelValues(result, profile).Inc()
	m.attemptTime.WithLabelValues(result, profile).Observe(took.Seconds())
}

func (m *Metrics) timings(profile string, timings []report.Timing) {
	for i := range timings {
		t := &timings[i]
		point := t.Point.String()
		switch t.Point {
		case abi.PreFilter, abi.Filter, abi.PreScore, abi.Score:
			m.evaluations.WithLabelValues(t.Plugin, point, profile).Add(float64(t.Calls))
		}
		for _, x := range []struct {
			to *prometheus.CounterVec
			by float64
		}{
			{m.pluginCalls, float64(t.Calls)}, {m.pluginRows, float64(t.Rows)},
			{m.pluginFaults, float64(t.Faults)}, {m.pluginSeconds, t.Duration.Seconds()},
		} {
			x.to.WithLabelValues(t.Plugin, t.Digest, point, profile).Add(x.by)
		}
	}
}

// Queued counts a pod that came into a queue: active, backoff or unschedulable.
func (m *Metrics) Queued(queue, event string) { m.incoming.WithLabelValues(queue, event).Inc() }

// Wrote counts a write to the API server.
func (m *Metrics) Wrote(kind string, err error) {
	result := "success"
	if err != nil {
		result = "error"
	}
	m.calls.WithLabelValues(kind, result).Inc()
}

// Requested counts a request to the API server; code is its status, or "<error>".
func (m *Metrics) Requested(code, method, host string) {
	m.requests.WithLabelValues(code, method, host).Inc()
}

// RequestTook measures a request to the API server.
func (m *Metrics) RequestTook(verb, host string, took time.Duration) {
	m.requestLatency.WithLabelValues(verb, host).Observe(took.Seconds())
}

// Leads tells whether this replica holds the Lease of a name.
func (m *Metrics) Leads(name string, leads bool) {
	value := 0.0
	if leads {
		value = 1
	}
	m.leader.WithLabelValues(name).Set(value)
}
