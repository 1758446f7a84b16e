// Package telemetry is the metrics of a scheduler, in Prometheus' form. Where a
// metric means the same as one of kube-scheduler v1.36, it has its name, labels and
// buckets (k8s.io/kubernetes pkg/scheduler/metrics), so that dashboards and alerts
// go on to work; what kube-scheduler has no word for begins with berth_.
package telemetry

import (
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/berth-scheduler/berth/runtime/state"
)

// subsystem begins the names of metrics that kube-scheduler has, too.
const subsystem = "scheduler"

// Metrics is what is counted and measured. Its methods may be called from several
// goroutines.
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
	flushed     prometheus.Counter
	points      *prometheus.HistogramVec // extension_point, status, profile
	execution   *prometheus.HistogramVec // plugin, extension_point, status
	permitWait  *prometheus.HistogramVec // result
	handling    *prometheus.HistogramVec // event
	evaluations *prometheus.CounterVec   // plugin, extension_point, profile
	calls       *prometheus.CounterVec   // call_type, result
	callTime    *prometheus.HistogramVec // call_type, result

	pluginBroken                                                       *prometheus.CounterVec // plugin, digest
	pluginCalls, pluginRows, pluginReused, pluginFaults, pluginSeconds *prometheus.CounterVec // plugin, digest, extension_point, profile

	mu sync.Mutex
	// What is looked up by its labels many times for each pod; under mu.
	works     map[workOf]*work
	pointsOf  map[pointOf]prometheus.Observer
	handlings map[state.ClusterEvent]prometheus.Observer
}

// New returns metrics that nothing was counted in. now (optional) is asked at each
// scrape for what is where; it may return nil if that cannot be told.
func New(version string, now func() *State) *Metrics {
	r := prometheus.NewRegistry()
	m := &Metrics{registry: r, works: make(map[workOf]*work),
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
	m.attempts = counter(name("schedule_attempts_total", "Tries to schedule pods, by result: scheduled, unschedulable or error."), "result", "profile")
	m.attemptTime = histogram(name("scheduling_attempt_duration_seconds", "Time of a try, binding included."), latency, "result", "profile")
	m.algorithm = single(name("scheduling_algorithm_duration_seconds", "Time of a scheduling cycle."), latency)
	m.sli = histogram(name("pod_scheduling_sli_duration_seconds", "Time from when a pod was first ready to be tried until it was bound, by the number of tries."),
		prometheus.ExponentialBuckets(0.01, 2, 20), "attempts")
	m.tries = single(name("pod_scheduling_attempts", "Tries that a pod took until it was bound."), prometheus.ExponentialBuckets(1, 2, 5))
	m.preemptions = counter(name("preemption_attempts_total", "Tries to make room by preemption.")).WithLabelValues()
	m.victims = single(name("preemption_victims", "Pods that have to go for one pod."), prometheus.ExponentialBuckets(1, 2, 7))
	m.incoming = counter(name("queue_incoming_pods_total", "Pods that came into a queue, by the event that brought them there."), "queue", "event")
	m.flushed = counter(name("pod_scheduled_after_flush_total", "Pods that were bound after they had been unschedulable for so long that they were tried without an event.")).WithLabelValues()
	quick := prometheus.ExponentialBuckets(0.0001, 2, 12)
	m.points = histogram(name("framework_extension_point_duration_seconds", "Time of all plugins of an extension point."), quick, "extension_point", "status", "profile")
	m.execution = histogram(name("plugin_execution_duration_seconds",
		"Time of a plugin at an extension point in a try, for all nodes together; measured in one try of ten."),
		prometheus.ExponentialBuckets(0.00001, 1.5, 20), "plugin", "extension_point", "status")
	m.permitWait = histogram(name("permit_wait_duration_seconds", "Time that pods waited at Permit, by how that ended."), latency, "result")
	m.handling = histogram(name("event_handling_duration_seconds", "Time to take in an event of the cluster and to move the pods that it helps."), quick, "event")
	m.evaluations = counter(name("plugin_evaluation_total", "Evaluations by plugins: at Filter and Score of each node, at PreFilter and PreScore of each pod that they do not skip."),
		"plugin", "extension_point", "profile")
	m.calls = counter(name("async_api_call_execution_total", "Writes to the API server that were made."), "call_type", "result")
	m.callTime = histogram(name("async_api_call_execution_duration_seconds", "Time of writes to the API server."), latency, "call_type", "result")

	plugin := func(n, help string) *prometheus.CounterVec {
		return counter(prometheus.Opts{Namespace: "berth", Subsystem: "plugin", Name: n, Help: help}, "plugin", "digest", "extension_point", "profile")
	}
	m.pluginCalls = plugin("calls_total", "Calls of a plugin. Digest is that of its module, empty for a native plugin.")
	m.pluginRows = plugin("rows_total", "Nodes, or pods of a batch, that a plugin was asked about.")
	m.pluginReused = plugin("rows_reused_total", "Nodes for which an answer of the plugin about a pod that is alike was used again.")
	m.pluginBroken = counter(prometheus.Opts{
		Namespace: "berth", Subsystem: "plugin", Name: "reuse_demoted_total",
		Help: "Plugins whose answers are not reused any more, since one changed although nothing had that they declare to read.",
	}, "plugin", "digest")
	m.pluginFaults = plugin("faults_total", "Calls that a plugin's module did not answer as it must.")
	m.pluginSeconds = plugin("seconds_total", "Time that calls of a plugin took.")

	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: "berth", Name: "build_info", Help: "Always 1; the label has the version.", ConstLabels: prometheus.Labels{"version": version},
	})
	build.Set(1)
	r.MustRegister(build, newStateCollector(now))
	return m
}

// Describe implements half of prometheus.Collector: it tells all metrics of the scheduler,
// those included that have no series yet.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) { m.registry.Describe(out) }

// Handler serves the metrics, and those that Kubernetes' libraries keep for the whole
// process: of the Go runtime and the process, and where a cluster is connected of
// requests to the API server, leader election and work queues.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(prometheus.Gatherers{m.registry, legacyregistry.DefaultGatherer}, promhttp.HandlerOpts{})
}
