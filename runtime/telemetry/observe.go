package telemetry

import (
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/state"
)

// manyTries is the highest number of attempts with a label value of its own, as in
// kube-scheduler.
const manyTries = 15

// Attempted counts a scheduling cycle. A pod with a chosen node counts as scheduled only when
// it is bound.
func (m *Metrics) Attempted(a *report.Attempt, _ func(row uint32) string) {
	m.algorithm.Observe(a.Duration.Seconds())
	if len(a.Victims) > 0 {
		m.victims.Observe(float64(len(a.Victims)))
	}
	if a.PostFilter != "" || len(a.Victims) > 0 {
		m.preemptions.Inc()
	}
	if a.Code != abi.Success {
		m.attempt(a.Profile, a.Code, a.Message, a.Duration)
	}
	m.timings(a.Profile, a.Timings, sampled(a.Sequence))
	m.ran(a.Profile, a.Points)
}

// Ended counts the end of a binding.
func (m *Metrics) Ended(e *report.Ending) {
	m.attempt(e.Profile, e.Code, e.Message, e.Duration)
	if e.Wait != nil {
		m.permitWait.WithLabelValues(e.Wait.Code.String()).Observe(e.Wait.Duration.Seconds())
	}
	if e.Code == abi.Success {
		m.tries.Observe(float64(e.Try))
		if e.Flushed {
			m.flushed.Inc()
		}
		for _, feature := range e.LeftToOthers {
			m.unenforced.WithLabelValues(feature, e.Profile).Inc()
		}
		m.sli.WithLabelValues(triesLabel(e.Try)).Observe(e.SinceFirst.Seconds())
	}
	m.timings(e.Profile, e.Timings, sampled(e.Sequence))
	m.ran(e.Profile, e.Points)
}

// Worked counts the calls of plugins outside of attempts: at PreEnqueue, for sorting the queue,
// and for queueing hints.
func (m *Metrics) Worked(profile string, timings []report.Timing) {
	m.timings(profile, timings, false)
}

// sampled reports whether the time of plugins is measured in an attempt: in one of ten, as in
// kube-scheduler. It is not every tenth, because pods that alternate could then always be
// missed.
func sampled(sequence uint64) bool { return sequence*0x9e3779b97f4a7c15>>32%10 == 0 }

// ran measures the points that ran.
func (m *Metrics) ran(profile string, points []report.PointTiming) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range points {
		key := pointOf{profile: profile, point: p.Point, code: p.Code}
		o := m.pointsOf[key]
		if o == nil {
			o = m.points.WithLabelValues(p.Point.String(), p.Code.String(), profile)
			m.pointsOf[key] = o
		}
		o.Observe(p.Duration.Seconds())
	}
}

type pointOf struct {
	profile string
	point   abi.Point
	code    abi.Code
}

// Handled measures the handling of a cluster event.
func (m *Metrics) Handled(event state.ClusterEvent, took time.Duration) {
	m.mu.Lock()
	o := m.handlings[event]
	if o == nil {
		o = m.handling.WithLabelValues(event.Name())
		m.handlings[event] = o
	}
	m.mu.Unlock()
	o.Observe(took.Seconds())
}

// maxLabel is the maximum size of a label value, in bytes.
const maxLabel = 512

// label converts a name to a label value, which must be UTF-8.
func label(name string) string { return plain.Line(name, maxLabel) }

func labels(names []string) []string {
	for i, name := range names {
		names[i] = label(name)
	}
	return names
}

func triesLabel(n int) string {
	if n > manyTries {
		return strconv.Itoa(manyTries) + "+"
	}
	return strconv.Itoa(n)
}

func (m *Metrics) attempt(profile string, code abi.Code, message string, took time.Duration) {
	result := "unschedulable"
	switch code {
	case abi.Success:
		result = "scheduled"
	case abi.Error:
		result = "error"
		if strings.Contains(message, "BUG: ") {
			m.bugs.WithLabelValues(profile).Inc()
		}
	}
	m.attempts.WithLabelValues(result, profile).Inc()
	m.attemptTime.WithLabelValues(result, profile).Observe(took.Seconds())
}

// work has the counters of a plugin at a point.
type work struct {
	evaluations                          prometheus.Counter // nil at points without evaluations
	calls, rows, reused, faults, seconds prometheus.Counter
}

type workOf struct {
	plugin, digest, profile string
	point                   abi.Point
}

func (w *workOf) module() Module { return Module{Plugin: w.plugin, Digest: w.digest} }

// saw remembers that a module has series; a native plugin has no digest. The caller holds m.mu.
func (m *Metrics) saw(x Module) {
	if x.Digest != "" {
		m.seen[x] = true
	}
}

// of returns the counters of a plugin at a point. It looks them up by labels only once, because
// they are used some thirty times per pod.
func (m *Metrics) of(key workOf) *work {
	m.mu.Lock()
	defer m.mu.Unlock()
	if w := m.works[key]; w != nil {
		return w
	}
	m.saw(key.module())
	point := key.point.String()
	labels := labels([]string{key.plugin, key.digest, point, key.profile})
	w := &work{
		calls: m.pluginCalls.WithLabelValues(labels...), rows: m.pluginRows.WithLabelValues(labels...), reused: m.pluginReused.WithLabelValues(labels...),
		faults: m.pluginFaults.WithLabelValues(labels...), seconds: m.pluginSeconds.WithLabelValues(labels...),
	}
	switch key.point {
	case abi.PreFilter, abi.Filter, abi.PreScore, abi.Score:
		w.evaluations = m.evaluations.WithLabelValues(label(key.plugin), point, label(key.profile))
	}
	m.works[key] = w
	return w
}

func (m *Metrics) timings(profile string, timings []report.Timing, sampled bool) {
	for i := range timings {
		t := &timings[i]
		w := m.of(workOf{plugin: t.Plugin, digest: t.Digest, profile: profile, point: t.Point})
		if w.evaluations != nil {
			w.evaluations.Add(evaluations(t))
		}
		w.calls.Add(float64(t.Calls))
		w.rows.Add(float64(t.Rows))
		w.reused.Add(float64(t.Reused))
		w.faults.Add(float64(t.Faults))
		w.seconds.Add(t.Duration.Seconds())
		if sampled && t.Calls > 0 {
			m.executed(t)
		}
	}
}

func (m *Metrics) executed(t *report.Timing) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.saw(Module{t.Plugin, t.Digest})
	m.execution.WithLabelValues(label(t.Plugin), t.Point.String(), t.Code.String()).Observe(t.Duration.Seconds())
}

// Panicked counts a panic that was stopped.
func (m *Metrics) Panicked(place string) { m.panics.WithLabelValues(place).Inc() }

// Broken counts a plugin whose answers are no longer reused.
func (m *Metrics) Broken(plugin, digest string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.saw(Module{plugin, digest})
	m.pluginBroken.WithLabelValues(label(plugin), label(digest)).Inc()
}

// evaluations returns how often kube-scheduler would have called the plugin: at Filter and
// Score once per node. A call that returned Skip is not counted.
func evaluations(t *report.Timing) float64 {
	switch {
	case t.Code == abi.Skip:
		return 0
	case t.Point == abi.Filter, t.Point == abi.Score:
		return float64(t.Rows + t.Reused)
	}
	return float64(t.Calls)
}

// Queued counts a pod that entered a queue: active, backoff or unschedulable.
func (m *Metrics) Queued(queue, event string) {
	m.incoming.WithLabelValues(queue, event).Inc()
	m.entities.WithLabelValues(queue, event, entity).Inc()
}

// entity is what the queue holds, in the words of kube-scheduler's metrics.
const entity = "pod"

// Wrote counts and measures a write to the API server.
func (m *Metrics) Wrote(kind string, took time.Duration, err error) {
	result := "success"
	if err != nil {
		result = "error"
	}
	m.calls.WithLabelValues(kind, result).Inc()
	m.callTime.WithLabelValues(kind, result).Observe(took.Seconds())
	if kind == "claim_create" {
		m.claims.WithLabelValues(map[string]string{"success": "success", "error": "failure"}[result], "false", "", "Pod").Inc()
	}
}

// Sent measures the age of a decision.
func (m *Metrics) Sent(age time.Duration) { m.age.Observe(age.Seconds()) }

// Prepared counts and measures the wait for a device to become ready.
func (m *Metrics) Prepared(profile, driver, result string, own bool, took time.Duration) {
	m.prepareTime.WithLabelValues(profile, driver, result).Observe(took.Seconds())
	if own {
		m.prepared.WithLabelValues(profile, driver, result).Inc()
	}
}

// PartFailing tells whether an optional part does not work.
func (m *Metrics) PartFailing(part string, failing bool) {
	value := 0.0
	if failing {
		value = 1
	}
	m.parts.WithLabelValues(part).Set(value)
}

// Recording tells whether a recording is written. Each call with stopped is another time that it could not be.
func (m *Metrics) Recording(stopped bool) {
	if !stopped {
		m.recordingStopped.Set(0)
		return
	}
	m.recordingStopped.Set(1)
	m.recordingStops.Inc()
}
