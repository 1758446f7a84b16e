// Package telemetry has the metrics of a scheduler, for Prometheus. A metric with the meaning
// of one of kube-scheduler v1.37 has the same name, labels and buckets (k8s.io/kubernetes
// pkg/scheduler/metrics), so that dashboards and alerts keep working. Names of other metrics
// begin with berth_.
package telemetry

import (
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/berth-scheduler/berth/runtime/state"
)

// subsystem is the prefix of metrics that kube-scheduler also has.
const subsystem = "scheduler"

// Metrics are counters and histograms. Its methods are safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry

	attempts    *prometheus.CounterVec   // result, profile
	attemptTime *prometheus.HistogramVec // result, profile
	algorithm   prometheus.Histogram
	sli         *prometheus.HistogramVec // attempts
	tries       prometheus.Histogram
	preemptions prometheus.Counter
	victims     prometheus.Histogram
	incoming    *prometheus.CounterVec // queue, event
	entities    *prometheus.CounterVec // queue, event, type
	flushed     prometheus.Counter
	points      *prometheus.HistogramVec // extension_point, status, profile
	execution   *prometheus.HistogramVec // plugin, extension_point, status
	permitWait  *prometheus.HistogramVec // result
	handling    *prometheus.HistogramVec // event
	evaluations *prometheus.CounterVec   // plugin, extension_point, profile
	calls       *prometheus.CounterVec   // call_type, result
	callTime    *prometheus.HistogramVec // call_type, result
	claims      *prometheus.CounterVec   // status
	age         prometheus.Histogram
	prepared    *prometheus.CounterVec   // profile, driver, status
	prepareTime *prometheus.HistogramVec // profile, driver, status

	unenforced                                                         *prometheus.CounterVec // feature, profile
	bugs                                                               *prometheus.CounterVec // profile
	recordingStopped                                                   prometheus.Gauge
	recordingStops                                                     prometheus.Counter
	parts                                                              *prometheus.GaugeVec   // part
	panics                                                             *prometheus.CounterVec // place
	pluginBroken                                                       *prometheus.CounterVec // plugin, digest
	pluginCalls, pluginRows, pluginReused, pluginFaults, pluginSeconds *prometheus.CounterVec // plugin, digest, extension_point, profile

	byDigest, byName []*prometheus.MetricVec // all that have a label plugin, with a label digest and without

	mu   sync.Mutex
	seen map[Module]bool // that have series; under mu
	// Series that are looked up by labels many times per pod; under mu.
	works     map[workOf]*work
	pointsOf  map[pointOf]prometheus.Observer
	handlings map[state.ClusterEvent]prometheus.Observer
}

// New returns metrics without observations. It calls now (optional) at each scrape for the
// current state; now may return nil if the state is not available. The counters of panics at the places begin at 0:
// Prometheus sees no increase in a series that begins at 1.
func New(version string, now func() *State, places ...string) *Metrics {
	r := prometheus.NewRegistry()
	m := &Metrics{registry: r, works: make(map[workOf]*work), seen: make(map[Module]bool),
		pointsOf: make(map[pointOf]prometheus.Observer), handlings: make(map[state.ClusterEvent]prometheus.Observer)}
	name := func(n, help string) prometheus.Opts {
		return prometheus.Opts{Subsystem: subsystem, Name: n, Help: help}
	}
	counter := func(o prometheus.Opts, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts(o), labels)
		r.MustRegister(c)
		return c
	}
	histogram := func(o prometheus.Opts, buckets []float64, labels ...string) *prometheus.HistogramVec {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: o.Namespace, Subsystem: o.Subsystem, Name: o.Name, Help: o.Help, Buckets: buckets}, labels)
		r.MustRegister(h)
		return h
	}
	single := func(o prometheus.Opts, buckets []float64) prometheus.Histogram {
		return histogram(o, buckets).WithLabelValues().(prometheus.Histogram)
	}
	latency := prometheus.ExponentialBuckets(0.001, 2, 15)
	m.attempts = counter(name("schedule_attempts_total", "Attempts to schedule pods, by result: scheduled, unschedulable or error."), "result", "profile")
	m.attemptTime = histogram(name("scheduling_attempt_duration_seconds", "Time of an attempt, including binding."), latency, "result", "profile")
	m.algorithm = single(name("scheduling_algorithm_duration_seconds", "Time of a scheduling cycle."), latency)
	m.sli = histogram(name("pod_scheduling_sli_duration_seconds", "Time from when a pod first became ready for scheduling until it was bound, by the number of attempts."),
		prometheus.ExponentialBuckets(0.01, 2, 20), "attempts")
	m.tries = single(name("pod_scheduling_attempts", "Attempts that a pod needed until it was bound."), prometheus.ExponentialBuckets(1, 2, 5))
	m.preemptions = counter(name("preemption_attempts_total", "Preemption attempts.")).WithLabelValues()
	m.victims = single(name("preemption_victims", "Victims of one preemption."), prometheus.ExponentialBuckets(1, 2, 7))
	m.incoming = counter(name("queue_incoming_pods_total", "Pods that entered a queue, by the event that moved them there."), "queue", "event")
	m.entities = counter(name("queue_incoming_entities_total", "Pods that entered a queue, by the event that moved them there; the type is always pod."), "queue", "event", "type")
	m.flushed = counter(name("pod_scheduled_after_flush_total", "Pods bound after an attempt that was made without an event, because they had been unschedulable for long.")).WithLabelValues()
	quick := prometheus.ExponentialBuckets(0.0001, 2, 12)
	m.points = histogram(name("framework_extension_point_duration_seconds", "Time of all plugins of an extension point."), quick, "extension_point", "status", "profile")
	m.execution = histogram(name("plugin_execution_duration_seconds",
		"Time of a plugin at an extension point in one attempt, for all nodes; measured in one attempt of ten."),
		prometheus.ExponentialBuckets(0.00001, 1.5, 20), "plugin", "extension_point", "status")
	m.permitWait = histogram(name("permit_wait_duration_seconds", "Time that pods waited at Permit, by result."), latency, "result")
	m.handling = histogram(name("event_handling_duration_seconds", "Time to handle a cluster event, including moving the pods that it may help."), quick, "event")
	m.evaluations = counter(name("plugin_evaluation_total", "Evaluations by plugins: at Filter and Score of each node, at PreFilter and PreScore of each pod that they do not skip."),
		"plugin", "extension_point", "profile")
	m.calls = counter(name("async_api_call_execution_total", "Writes to the API server."), "call_type", "result")
	m.callTime = histogram(name("async_api_call_execution_duration_seconds", "Time of writes to the API server."), latency, "call_type", "result")
	m.age = single(prometheus.Opts{
		Namespace: "berth", Name: "decision_age_seconds", Help: "Age of a decision when its binding is sent: the time since the end of PreBind.",
	}, latency)
	m.claims = counter(prometheus.Opts{
		Subsystem: "dynamic_resource_allocation", Name: "resourceclaim_creates_total",
		Help: "Requests to create resource claims for extended resources, by status: success or failure.",
	}, "status", "admin_access", "owner_api_group", "owner_api_kind")
	m.prepared = counter(name("dra_bindingconditions_allocations_total", "Devices with binding conditions that pods waited for, by driver and status: success, failure, timeout or error."),
		"profile", "driver", "status")
	m.prepareTime = histogram(name("dra_bindingconditions_wait_duration_seconds", "Time that pods waited for their devices to become ready, for each device."),
		prometheus.ExponentialBuckets(0.1, 2, 14), "profile", "driver", "status")

	m.recordingStopped = prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: "berth", Name: "recording_stopped", Help: "1 while the recording that --record asks for cannot be written, otherwise 0.",
	})
	r.MustRegister(m.recordingStopped)
	m.recordingStops = counter(prometheus.Opts{
		Namespace: "berth", Name: "recording_stops_total", Help: "How often a recording ended early, or could not be begun.",
	}).WithLabelValues()
	m.parts = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: "berth", Name: "part_failing",
		Help: "1 while an optional part of the scheduler that its flags ask for does not work, otherwise 0.",
	}, []string{"part"})
	r.MustRegister(m.parts)
	m.unenforced = counter(prometheus.Opts{
		Namespace: "berth", Name: "pods_unenforced_total",
		Help: "Pods bound that use a feature that no plugin enforces and that their profile leaves to others (allowUnenforced).",
	}, "feature", "profile")

	m.bugs = counter(prometheus.Opts{
		Namespace: "berth", Name: "bugs_total",
		Help: "Attempts that ended because Berth or a plugin contradicted itself; their messages contain BUG. Please report them.",
	}, "profile")

	m.panics = counter(prometheus.Opts{
		Namespace: "berth", Name: "panics_total",
		Help: "Panics that were stopped, by place. The log has the stacks; please report them.",
	}, "place")
	for _, place := range places {
		m.panics.WithLabelValues(place)
	}

	plugin := func(n, help string) *prometheus.CounterVec {
		return counter(prometheus.Opts{Namespace: "berth", Subsystem: "plugin", Name: n, Help: help}, "plugin", "digest", "extension_point", "profile")
	}
	m.pluginCalls = plugin("calls_total", "Calls of the plugin. digest is the digest of its module, empty for a native plugin.")
	m.pluginRows = plugin("rows_total", "Nodes, or pods of a batch, passed to the plugin.")
	m.pluginReused = plugin("rows_reused_total", "Nodes for which the plugin's answer for a pod that is alike was reused.")
	m.pluginBroken = counter(prometheus.Opts{
		Namespace: "berth", Subsystem: "plugin", Name: "reuse_demoted_total",
		Help: "Plugins whose answers are no longer reused, because an answer changed although nothing that the plugin declares to read had.",
	}, "plugin", "digest")
	m.pluginFaults = plugin("faults_total", "Calls of a plugin's module that ended in a fault.")
	m.pluginSeconds = plugin("seconds_total", "Time of calls of the plugin.")

	m.byName = []*prometheus.MetricVec{m.execution.MetricVec, m.evaluations.MetricVec}
	for _, c := range []*prometheus.CounterVec{m.pluginCalls, m.pluginRows, m.pluginReused, m.pluginBroken, m.pluginFaults, m.pluginSeconds} {
		m.byDigest = append(m.byDigest, c.MetricVec)
	}

	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: "berth", Name: "build_info", Help: "Always 1; the label has the version.", ConstLabels: prometheus.Labels{"version": version},
	})
	build.Set(1)
	r.MustRegister(build, newStateCollector(m.pruning(now)))
	return m
}

// Describe implements half of prometheus.Collector: it describes all metrics of the scheduler,
// also those without series.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) { m.registry.Describe(out) }

// Handler serves these metrics and the process-wide ones of Kubernetes' libraries: the Go
// runtime, the process, and, if a cluster is connected, API requests, leader election and work
// queues.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(prometheus.Gatherers{m.registry, legacyregistry.DefaultGatherer}, promhttp.HandlerOpts{})
}
