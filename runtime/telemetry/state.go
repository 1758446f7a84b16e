package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// State is a snapshot of the scheduler's gauges.
type State struct {
	// Pending is the number of pods by queue: active, backoff, unschedulable, gated.
	Pending map[string]int
	// Oldest is for how long the pod that has been ready for longest has been pending, by queue; 0 for an empty queue.
	Oldest map[string]time.Duration
	// Unschedulable is the number of pods that each plugin rejected.
	Unschedulable map[PluginOf]int
	// Nodes, Pods and Assumed are counts of the cache; Pods includes Assumed.
	Nodes, Pods, Assumed int
	// Binding and Evicting count operations beside the loop.
	Binding, Evicting int
	// Events are the events, by name, that are kept for the Popped pods, which are being tried.
	Events map[string]int
	Popped int
	// Writes is the number of pending writes of pod status.
	Writes int
	// Failing are the writes that failed at some time, and Watches says of each watched kind how long it has not been watched; 0 if it is.
	Failing []FailingWrites
	Watches map[string]time.Duration
	// Unwritten counts the events that were not written, by reason: late or merged.
	Unwritten map[string]int64
	// Kept is what is kept of the answers of plugins.
	Kept Kept
	// Debts are preemptions whose pod is not bound yet.
	Debts Debts
	// Budgets are the attempts that plugins of some namespaces cause.
	Budgets []Budget
	// Breakers are the circuit breakers of module plugins, and Guests counts what their guests
	// did.
	Breakers []Breaker
	Guests   []Guest
	// Yanks says for each module plugin whether the index yanks it; empty without an index.
	Yanks []Yank
	// Trials are the plugins in shadow.
	Trials []TrialCounts
	// Rollouts are the new versions of plugins that take over step by step.
	Rollouts []Rollout
	// Folder says for each file of a plugin folder whether its module was refused.
	Folder map[string]bool
}

// FailingWrites are writes of a verb and a kind that failed with a code: the failures so far, the objects whose last write failed, for
// how long the first of them has, and for how long all writes of the verb and the kind have.
type FailingWrites struct {
	Verb, Kind, Code string
	Failures         int64
	Objects          int
	Oldest, Wholly   time.Duration
}

// PluginOf is a plugin in a profile.
type PluginOf struct{ Plugin, Profile string }

// Kept is how much is kept of the answers of plugins, and how many keys made room for others.
type Kept struct {
	Keys           int
	Bytes, Evicted int64
}

// Debts counts debts: those that are open, and since the start those that were opened, and how they ended.
type Debts struct {
	Open                                  int
	Opened, Paid, Decayed, Forgiven, Void int64
}

// Budget counts the attempts of a kind that plugins of some namespaces caused, how often a pod had to wait for its turn, and the
// pods that wait.
type Budget struct {
	Kind          string // pending, wakeups or activations
	Waiting       int
	Charged, Held int64
}

// Breaker is the circuit breaker of a plugin, and the starts that it looks at.
type Breaker struct {
	PluginOf
	Digest string
	Open   bool
	// Opened is how often it opened.
	Opened int
	// Namespaces are those with whose pods the plugin failed, so that it is not called for them. There are at most a few hundred.
	Namespaces []string
	// Starts counts starts of instances, by cause.
	Starts map[string]int64
}

// TrialCounts counts decisions that a plugin in shadow repeated, by how they compared, and those that it
// missed.
type TrialCounts struct {
	PluginOf
	Decisions map[string]int64
}

// Rollout is how far a new version of a plugin has taken over.
type Rollout struct {
	Plugin string
	Step   int
	// Failed is the bound that it went beyond; empty if it did not.
	Failed   string
	Versions []Version
}

// Version is a version of a plugin.
type Version struct {
	Version, Digest string // stable or canary
	// Share is the part of the pods that it decides for.
	Share    float64
	Attempts int64
}

// Yank says whether the index yanks a plugin's version.
type Yank struct {
	PluginOf
	Digest string
	Yanked bool
}

// Guest counts what the guests of a plugin did at a point.
type Guest struct {
	PluginOf
	Digest, Point string
	Fuel          int64
	Faults        map[string]int64 // by kind
}

// stateCollector reads the state at each scrape.
type stateCollector struct {
	state                                                                                              func() *State
	inFlight, pending, oldest, queued, unschedulable, cache, goroutines, writes, breakerUp, breakerFor *prometheus.Desc
	opened, starts, fuel, faults, refused, yanked, shadow                                              *prometheus.Desc
	step, share, attempts, failed                                                                      *prometheus.Desc
	keptKeys, keptBytes, evicted                                                                       *prometheus.Desc
	waiting, charged, held                                                                             *prometheus.Desc
	debts, debtsTotal                                                                                  *prometheus.Desc
	writeFailures, writeObjects, writeOldest, writeWholly, unwatched, unwritten                        *prometheus.Desc
}

func newStateCollector(state func() *State) *stateCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName("", subsystem, name), help, labels, nil)
	}
	ofPlugin := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("berth_plugin_"+name, help, append([]string{"plugin", "digest", "profile"}, labels...), nil)
	}
	ofReuse := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("berth_reuse_"+name, help, nil, nil)
	}
	ofRollout := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("berth_rollout_"+name, help, append([]string{"plugin"}, labels...), nil)
	}
	ofWrites := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("berth_write_"+name, help, append([]string{"verb", "kind"}, labels...), nil)
	}
	return &stateCollector{
		state: state,
		writeFailures: ofWrites("failures_total",
			"Writes to the API server that failed, by verb, kind and code: the status of HTTP, or none without an answer.", "code"),
		writeObjects: ofWrites("failing_objects", "Objects whose last write failed.", "code"),
		writeOldest:  ofWrites("failing_seconds", "For how long the first of these objects could not be written.", "code"),
		writeWholly:  ofWrites("blocked_seconds", "For how long every write of the verb and the kind has failed; 0 if one succeeded since."),
		unwatched: prometheus.NewDesc("berth_watch_failing_seconds",
			"For how long objects of a kind could not be watched, so that decisions rest on what was; 0 if they are watched.", []string{"resource"}, nil),
		unwritten: prometheus.NewDesc("berth_events_unwritten_total",
			"Events that were not written because more came than may be sent: late ones, and those that were merged with a later one.", []string{"reason"}, nil),
		keptKeys:  ofReuse("keys", "Kinds of pods for which answers of a plugin, or the sums of all, are kept."),
		keptBytes: ofReuse("bytes", "Memory of the answers that are kept."),
		evicted:   ofReuse("evictions_total", "Kinds of pods whose kept answers made room for others."),
		pending:   desc("pending_pods", "Pending pods, by queue: active, backoff, unschedulable or gated; incomplete and pending, of pod groups, are 0.", "queue"),
		oldest: prometheus.NewDesc("berth_oldest_pending_seconds",
			"For how long the pod that has been ready to be tried for longest has been pending, by queue.", []string{"queue"}, nil),
		queued:        desc("queued_entities", "Pending pods, by queue: active, backoff, unschedulable or gated; the type is always pod.", "queue", "type"),
		unschedulable: desc("unschedulable_pods", "Unschedulable pods, by the plugin that rejected them; a pod counts once for each plugin.", "plugin", "profile"),
		cache:         desc("cache_size", "Nodes, pods and assumed pods in the cache.", "type"),
		inFlight:      desc("inflight_events", "Events kept for pods that are being tried, by name; PodPopped is the number of these pods.", "event"),
		goroutines:    desc("goroutines", "Operations that run beside the loop, by kind.", "operation"),
		writes:        desc("pending_async_api_calls", "Pending writes to the API server.", "call_type"),
		breakerUp:     ofPlugin("breaker_open", "1 if the plugin is not called for any namespace because of its faults, otherwise 0."),
		breakerFor:    ofPlugin("breaker_open_namespaces", "1 for each namespace with whose pods the plugin failed, so that it is not called for them.", "namespace"),
		yanked:        ofPlugin("yanked", "Whether the index says that a plugin's version is yanked: 1 or 0."),
		refused: prometheus.NewDesc("berth_plugin_folder_refused",
			"1 if a file of the plugin folder cannot be used, otherwise 0; its last good version runs instead, if any.", []string{"file"}, nil),
		opened: ofPlugin("breaker_opened_total", "How often the scheduler stopped calling a plugin because of its faults."),
		starts: ofPlugin("starts_total",
			"Starts of instances, by cause: first, lost (a call failed, or the instance had grown too large) or resized.", "cause"),
		shadow: prometheus.NewDesc("berth_shadow_decisions_total",
			"Decisions compared with those of a plugin in shadow, by result: same, elsewhere, placed, pending, preemption or failed; missed are those for which no time was left.",
			[]string{"plugin", "profile", "result"}, nil),
		waiting: prometheus.NewDesc("berth_budget_waiting_pods",
			"Pods that wait for their turn, because a plugin of their namespace caused too many attempts, by kind: pending, wakeups or activations.",
			[]string{"kind"}, nil),
		charged: prometheus.NewDesc("berth_budget_attempts_total",
			"Attempts that were charged to plugins of some namespaces, by kind.", []string{"kind"}, nil),
		held: prometheus.NewDesc("berth_budget_held_total",
			"How often a pod had to wait for its turn, because a plugin of its namespace caused too many attempts, by kind.", []string{"kind"}, nil),
		debts: prometheus.NewDesc("berth_preemption_debts",
			"Namespaces and pods for which no others make room for now, because some did for a pod that is not bound yet.", nil, nil),
		debtsTotal: prometheus.NewDesc("berth_preemption_debts_total",
			"Such debts that were opened, paid by a bound pod, that decayed, that were forgiven, and that were void because nobody left.",
			[]string{"event"}, nil),
		step:     ofRollout("step", "Number of the step at which a new version of a plugin takes over, from 1; 0 if none does."),
		share:    ofRollout("share", "Part of the pods that a version of a plugin decides for, from 0 to 1; version is stable or canary.", "version", "digest"),
		attempts: ofRollout("step_attempts", "Attempts that a version of a plugin decided at the current step, while this scheduler has led.", "version", "digest"),
		failed:   ofRollout("failed", "1 for a plugin whose new version went beyond a bound, until its object changes.", "bound"),
		fuel:     ofPlugin("fuel_total", "Units of fuel used by guests.", "extension_point"),
		faults:   ofPlugin("faults_by_kind_total", "Faults of guests, by kind; calls that were not made are included.", "extension_point", "kind"),
	}
}

// Describe implements prometheus.Collector.
func (c *stateCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.inFlight, c.pending, c.oldest, c.queued, c.unschedulable, c.cache, c.goroutines, c.writes, c.breakerUp,
		c.breakerFor, c.opened, c.starts, c.fuel, c.faults, c.refused, c.yanked, c.shadow, c.step, c.share, c.attempts, c.failed,
		c.keptKeys, c.keptBytes, c.evicted, c.debts, c.debtsTotal, c.waiting, c.charged, c.held,
		c.writeFailures, c.writeObjects, c.writeOldest, c.writeWholly, c.unwatched, c.unwritten} {
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
	gauge := func(d *prometheus.Desc, n int, values ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), labels(values)...)
	}
	count := func(d *prometheus.Desc, n int64, values ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels(values)...)
	}
	for queue, n := range s.Pending {
		gauge(c.pending, n, queue)
		gauge(c.queued, n, queue, entity)
	}
	for queue, age := range s.Oldest {
		out <- prometheus.MustNewConstMetric(c.oldest, prometheus.GaugeValue, age.Seconds(), queue)
	}
	for _, queue := range []string{"incomplete", "pending"} {
		gauge(c.pending, 0, queue)
	}
	for p, n := range s.Unschedulable {
		gauge(c.unschedulable, n, p.Plugin, p.Profile)
	}
	gauge(c.cache, s.Nodes, "nodes")
	gauge(c.cache, s.Pods, "pods")
	gauge(c.cache, s.Assumed, "assumed_pods")
	for event, n := range s.Events {
		gauge(c.inFlight, n, event)
	}
	gauge(c.inFlight, s.Popped, "PodPopped")
	gauge(c.goroutines, s.Binding, "binding")
	gauge(c.goroutines, s.Evicting, "preemption")
	gauge(c.writes, s.Writes, "pod_status_patch")
	c.failing(s, out)
	for reason, n := range s.Unwritten {
		count(c.unwritten, n, reason)
	}
	gauge(c.keptKeys, s.Kept.Keys)
	gauge(c.keptBytes, int(s.Kept.Bytes))
	count(c.evicted, s.Kept.Evicted)
	for _, b := range s.Budgets {
		gauge(c.waiting, b.Waiting, b.Kind)
		count(c.charged, b.Charged, b.Kind)
		count(c.held, b.Held, b.Kind)
	}
	gauge(c.debts, s.Debts.Open)
	for event, n := range map[string]int64{
		"opened": s.Debts.Opened, "paid": s.Debts.Paid, "decayed": s.Debts.Decayed, "forgiven": s.Debts.Forgiven, "void": s.Debts.Void,
	} {
		count(c.debtsTotal, n, event)
	}
	flag := func(d *prometheus.Desc, set bool, labels ...string) {
		n := 0
		if set {
			n = 1
		}
		gauge(d, n, labels...)
	}
	files := make(map[string]bool, len(s.Folder)) // files whose labels are equal count as one
	for file, refused := range s.Folder {
		name := label(file)
		files[name] = files[name] || refused
	}
	for file, refused := range files {
		flag(c.refused, refused, file)
	}
	for _, b := range s.Breakers {
		flag(c.breakerUp, b.Open, b.Plugin, b.Digest, b.Profile)
		for _, namespace := range b.Namespaces {
			flag(c.breakerFor, true, b.Plugin, b.Digest, b.Profile, namespace)
		}
		count(c.opened, int64(b.Opened), b.Plugin, b.Digest, b.Profile)
		for cause, n := range b.Starts {
			count(c.starts, n, b.Plugin, b.Digest, b.Profile, cause)
		}
	}
	for _, y := range s.Yanks {
		flag(c.yanked, y.Yanked, y.Plugin, y.Digest, y.Profile)
	}
	for i := range s.Trials {
		t := &s.Trials[i]
		for result, n := range t.Decisions {
			count(c.shadow, n, t.Plugin, t.Profile, result)
		}
	}
	for i := range s.Rollouts {
		c.rollout(&s.Rollouts[i], out)
	}
	for i := range s.Guests {
		g := &s.Guests[i]
		count(c.fuel, g.Fuel, g.Plugin, g.Digest, g.Profile, g.Point)
		for kind, n := range g.Faults {
			count(c.faults, n, g.Plugin, g.Digest, g.Profile, g.Point, kind)
		}
	}
}

// failing collects what of the requests to the API server fails.
func (c *stateCollector) failing(s *State, out chan<- prometheus.Metric) {
	seconds := func(d *prometheus.Desc, age time.Duration, values ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, age.Seconds(), labels(values)...)
	}
	blocked := make(map[[2]string]bool)
	for i := range s.Failing {
		f := &s.Failing[i]
		out <- prometheus.MustNewConstMetric(c.writeFailures, prometheus.CounterValue, float64(f.Failures), f.Verb, f.Kind, f.Code)
		out <- prometheus.MustNewConstMetric(c.writeObjects, prometheus.GaugeValue, float64(f.Objects), f.Verb, f.Kind, f.Code)
		seconds(c.writeOldest, f.Oldest, f.Verb, f.Kind, f.Code)
		if key := [2]string{f.Verb, f.Kind}; !blocked[key] {
			blocked[key] = true
			seconds(c.writeWholly, f.Wholly, f.Verb, f.Kind)
		}
	}
	for kind, age := range s.Watches {
		seconds(c.unwatched, age, kind)
	}
}

func (c *stateCollector) rollout(r *Rollout, out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, n float64, values ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, n, labels(append([]string{r.Plugin}, values...))...)
	}
	gauge(c.step, float64(r.Step))
	if r.Failed != "" {
		gauge(c.failed, 1, r.Failed)
	}
	for i := range r.Versions {
		v := &r.Versions[i]
		gauge(c.share, v.Share, v.Version, v.Digest)
		gauge(c.attempts, float64(v.Attempts), v.Version, v.Digest)
	}
}
