package telemetry

import "github.com/prometheus/client_golang/prometheus"

// State is what is where at a moment.
type State struct {
	// Pending is the number of pods by queue: active, backoff, unschedulable, gated.
	Pending map[string]int
	// Unschedulable is the number of pods that each plugin holds back.
	Unschedulable map[PluginOf]int
	// Nodes, Pods and Assumed is what the cache has; Pods includes Assumed.
	Nodes, Pods, Assumed int
	// Binding and Evicting is what runs beside the loop.
	Binding, Evicting int
	// Writes is the writes of pod status that wait.
	Writes int
	// Open is the plugins whose breaker is open.
	Breakers []Breaker
}

// PluginOf is a plugin in a profile.
type PluginOf struct{ Plugin, Profile string }

// Breaker is the circuit breaker of a plugin.
type Breaker struct {
	PluginOf
	Digest string
	Open   bool
}

// stateCollector asks for the state at each scrape.
type stateCollector struct {
	state                                                        func() *State
	pending, unschedulable, cache, goroutines, writes, breakerUp *prometheus.Desc
}

func newStateCollector(state func() *State) *stateCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName("", subsystem, name), help, labels, nil)
	}
	return &stateCollector{
		state:         state,
		pending:       desc("pending_pods", "Pods that wait, by queue: active, backoff, unschedulable or gated.", "queue"),
		unschedulable: desc("unschedulable_pods", "Unschedulable pods by the plugin that rejected them; a pod counts for each.", "plugin", "profile"),
		cache:         desc("cache_size", "Nodes, pods and assumed pods in the cache.", "type"),
		goroutines:    desc("goroutines", "What runs beside the loop, by operation.", "operation"),
		writes:        desc("pending_async_api_calls", "Writes to the API server that wait.", "call_type"),
		breakerUp: prometheus.NewDesc("berth_plugin_breaker_open", "Whether a plugin is not called because of its faults: 1 or 0.",
			[]string{"plugin", "digest", "profile"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *stateCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.pending, c.unschedulable, c.cache, c.goroutines, c.writes, c.breakerUp} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *stateCollector) Collect(out chan<- prometheus.Metric) {
	if c.state == nil {
		return
	}
	s := c.state()
	if s == nil {
		return
	}
	gauge := func(d *prometheus.Desc, n int, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), labels...)
	}
	for queue, n := range s.Pending {
		gauge(c.pending, n, queue)
	}
	for p, n := range s.Unschedulable {
		gauge(c.unschedulable, n, p.Plugin, p.Profile)
	}
	gauge(c.cache, s.Nodes, "nodes")
	gauge(c.cache, s.Pods, "pods")
	gauge(c.cache, s.Assumed, "assumed_pods")
	gauge(c.goroutines, s.Binding, "binding")
	gauge(c.goroutines, s.Evicting, "preemption")
	gauge(c.writes, s.Writes, "pod_status_patch")
	for _, b := range s.Breakers {
		open := 0
		if b.Open {
			open = 1
		}
		gauge(c.breakerUp, open, b.Plugin, b.Digest, b.Profile)
	}
}
