// Package race measures schedulers against each other: the same pods, in the same order, on the
// same API server, one scheduler after the other.
// A stream is created at full speed while the scheduler runs, which has placed other pods
// before; a backlog exists when the scheduler starts. The driver, the API server, etcd and the
// scheduler share the machine.
package race

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/berth-scheduler/berth/test/internal/cluster"
	"github.com/berth-scheduler/berth/test/internal/load"
	"github.com/berth-scheduler/berth/test/internal/workload"
)

// Mode is how pods are created.
type Mode string

// The modes.
const (
	Stream  Mode = "stream"
	Backlog Mode = "backlog"
)

// Leg is one measurement.
type Leg struct {
	Workload workload.Workload
	Nodes    int
	Mode     Mode
	// Pods are measured; Before are placed first, in a stream.
	Pods, Before int
}

func (l Leg) String() string {
	return fmt.Sprintf("%s, %d nodes, %s of %d", l.Workload.Name, l.Nodes, l.Mode, l.Pods)
}

// Result is the result of a scheduler in a leg.
type Result struct {
	Leg       Leg
	Scheduler cluster.Program
	// PodsPerSecond is the rate of bindings, from the first creation in a stream, or from the
	// start of the scheduler in a backlog, until the last binding.
	PodsPerSecond float64
	// P50 and P99 are how long pods waited, from their creation in a stream, or from the start
	// of the scheduler in a backlog, until a watch reported them as bound.
	P50, P99 time.Duration
	// CPUPerPod is the CPU time of the scheduler process for each pod: while the pods
	// were measured in a stream, from its start in a backlog.
	CPUPerPod time.Duration
	// PeakMemory of the process, in bytes.
	PeakMemory int64
	// Accepted is the number of placements that kube-scheduler's filters were asked about and
	// accepted: all of Berth's, or the run has failed; none of kube-scheduler's own.
	Accepted int
}

// Config configures a race.
type Config struct {
	Legs        []Leg
	Schedulers  []cluster.Program
	Repetitions int
	// BerthFlags are added to Berth's command line, and PluginFlags to that of WithPlugins.
	BerthFlags, PluginFlags []string
	// WhatIf is the time between two questions to WithPlugins about where pods would go; 0 for none.
	WhatIf time.Duration
	// Profiles is the folder for CPU profiles of WithPlugins; none if empty.
	Profiles string
	// SchedulerConfig is a KubeSchedulerConfiguration for all, the defaults if empty.
	SchedulerConfig string
	// Patience is the maximum duration of a leg.
	Patience time.Duration
	Progress io.Writer
}

const namespace = "race"

// WithPlugins is Berth once more, with PluginFlags.
const WithPlugins cluster.Program = "berth+plugins"

// ours reports whether a scheduler is Berth.
func ours(p cluster.Program) bool { return p == cluster.BerthProgram || p == WithPlugins }

// Run measures every scheduler in every leg. Legs of the same nodes should be next to each
// other: nodes are created when they change. In every second repetition the schedulers run in
// reverse order.
func Run(ctx context.Context, c *cluster.Cluster, config Config) ([]Result, error) {
	client, err := c.Client(cluster.Admin)
	if err != nil {
		return nil, err
	}
	r := &race{cluster: c, client: client, config: config}
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	var results []Result
	for _, leg := range config.Legs {
		for repetition := range config.Repetitions {
			order := slices.Clone(config.Schedulers)
			if repetition%2 == 1 {
				slices.Reverse(order)
			}
			for _, scheduler := range order {
				result, err := r.run(ctx, leg, scheduler)
				if err != nil {
					return results, fmt.Errorf("%v, %s: %w", leg, scheduler, err)
				}
				checked := ""
				if result.Accepted > 0 {
					checked = fmt.Sprintf(", %d placements that kube-scheduler accepts", result.Accepted)
				}
				fmt.Fprintf(config.Progress, "%v: %s %d: %.0f pods/s, p50 %v, p99 %v, %.2f ms CPU a pod, %d MiB%s\n", leg, scheduler, repetition+1,
					result.PodsPerSecond, result.P50.Round(time.Millisecond), result.P99.Round(time.Millisecond),
					result.CPUPerPod.Seconds()*1000, result.PeakMemory>>20, checked)
				results = append(results, result)
			}
		}
	}
	return results, nil
}

type race struct {
	cluster *cluster.Cluster
	client  kubernetes.Interface
	config  Config
	nodes   int // that there are
	tainted bool
	devices bool
}

func (r *race) prepare(ctx context.Context) error {
	_, err := r.client.CoreV1().Namespaces().Create(ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	_, err = r.client.SchedulingV1().PriorityClasses().Create(ctx, &schedulingv1.PriorityClass{
		ObjectMeta: metav1.ObjectMeta{Name: workload.Priority}, Value: 1000,
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}

// arrange creates the nodes of a leg.
func (r *race) arrange(ctx context.Context, leg Leg) error {
	claims := leg.Workload.Claims != ""
	if r.nodes == leg.Nodes && r.tainted == leg.Workload.Tainted && r.devices == claims {
		return nil
	}
	if r.devices {
		if err := load.NoDevices(ctx, r.client, r.nodes); err != nil {
			return err
		}
	}
	if err := load.Each(ctx, r.nodes, func(ctx context.Context, i int) error {
		return r.client.CoreV1().Nodes().Delete(ctx, workload.NodeName(i), metav1.DeleteOptions{})
	}); err != nil {
		return err
	}
	r.nodes, r.tainted, r.devices = leg.Nodes, leg.Workload.Tainted, claims
	if err := load.Nodes(ctx, r.client, 0, leg.Nodes, workload.Large(), leg.Workload.Tainted); err != nil || !claims {
		return err
	}
	if err := load.Template(ctx, r.client, namespace, leg.Workload.Claims, deviceClass); err != nil {
		return err
	}
	return load.Devices(ctx, r.client, deviceClass, nil, leg.Nodes)
}

// deviceClass is the class of the devices of claims.
const deviceClass = "race"

// fill fills the nodes of a leg that requires full nodes.
func (t *repetition) fill(ctx context.Context) error {
	if !t.leg.Workload.Full {
		return nil
	}
	return load.Each(ctx, t.leg.Nodes, func(ctx context.Context, i int) error {
		for _, pod := range workload.Filler(namespace, i) {
			if err := load.Pod(ctx, t.client, pod); err != nil {
				return err
			}
		}
		return nil
	})
}

// run measures one scheduler in one leg, from an empty cluster to an empty cluster. Then it
// checks Berth's placements.
func (r *race) run(ctx context.Context, leg Leg, scheduler cluster.Program) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, r.config.Patience)
	defer cancel()
	if err := r.arrange(ctx, leg); err != nil {
		return Result{}, err
	}
	t, err := r.newRepetition(ctx, leg, scheduler)
	if err != nil {
		return Result{}, err
	}
	result, err := t.measure(ctx)
	if err != nil || !ours(scheduler) {
		return result, err
	}
	result.Accepted, err = t.judge(ctx)
	return result, err
}

func (t *repetition) measure(ctx context.Context) (result Result, err error) {
	defer func() {
		err = errors.Join(err, load.Clear(context.WithoutCancel(ctx), t.client, namespace), load.ClearClaims(context.WithoutCancel(ctx), t.client, namespace))
	}()
	if t.leg.Workload.Claims != "" {
		end, err := load.ControlClaims(t.client)
		if err != nil {
			return Result{}, err
		}
		defer end()
	}
	if err := t.fill(ctx); err != nil {
		return Result{}, err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	pods, err := track(watching, t.client, namespace)
	if err != nil {
		return Result{}, err
	}
	if t.leg.Mode == Backlog {
		return t.backlog(ctx, pods)
	}
	return t.stream(ctx, pods)
}

func (t *repetition) stream(ctx context.Context, pods *tracker) (Result, error) {
	before, stop := context.WithCancel(ctx)
	defer stop()
	warm, err := track(before, t.client, namespace)
	if err != nil {
		return Result{}, err
	}
	process, err := t.start(ctx)
	if err != nil {
		return Result{}, err
	}
	defer process.Kill() //nolint:errcheck // a process that is gone is no error
	if err := t.create(ctx, warm, 0, t.leg.Before); err != nil {
		return Result{}, err
	}
	if err := warm.await(ctx, t.leg.Before); err != nil {
		return Result{}, err
	}
	stop()
	used, err := process.Usage()
	if err != nil {
		return Result{}, err
	}
	if err := t.create(ctx, pods, t.leg.Before, t.leg.Before+t.leg.Pods); err != nil {
		return Result{}, err
	}
	if err := pods.await(ctx, t.leg.Pods); err != nil {
		return Result{}, err
	}
	first, last, latencies := pods.times(time.Time{})
	return t.result(ctx, process, used.CPU, last.Sub(first), latencies)
}

func (t *repetition) backlog(ctx context.Context, pods *tracker) (Result, error) {
	if err := t.create(ctx, pods, 0, t.leg.Pods); err != nil {
		return Result{}, err
	}
	began := time.Now()
	process, err := t.start(ctx)
	if err != nil {
		return Result{}, err
	}
	defer process.Kill() //nolint:errcheck // a process that is gone is no error
	if err := pods.await(ctx, t.leg.Pods); err != nil {
		return Result{}, err
	}
	_, last, latencies := pods.times(began)
	return t.result(ctx, process, 0, last.Sub(began), latencies)
}

func (t *repetition) create(ctx context.Context, pods *tracker, from, to int) error {
	return load.Each(ctx, to-from, func(ctx context.Context, i int) error {
		pod := t.leg.Workload.Pod(namespace, from+i)
		pods.create(pod.Name)
		return load.Pod(ctx, t.client, pod)
	})
}

func (t *repetition) start(ctx context.Context) (*cluster.Process, error) {
	s := cluster.Scheduler{Program: t.scheduler, Config: t.config.SchedulerConfig}
	if ours(t.scheduler) {
		s.Program = cluster.BerthProgram
		s.Flags = append([]string{"--debug-socket=" + t.socket()}, t.config.BerthFlags...)
	}
	if t.scheduler == WithPlugins {
		s.Flags = append(s.Flags, t.config.PluginFlags...)
	}
	process, err := t.cluster.StartScheduler(s)
	if err == nil && t.scheduler == WithPlugins && t.config.WhatIf > 0 {
		t.quiet, err = t.questions(ctx)
	}
	if err == nil && t.scheduler == WithPlugins && t.config.Profiles != "" {
		t.profiled = t.profile(ctx)
	}
	return process, err
}

// result ends a run: it reads the scheduler's figures before it queries its decisions and stops
// it.
func (t *repetition) result(ctx context.Context, process *cluster.Process, before, took time.Duration, latencies []time.Duration) (Result, error) {
	if t.quiet != nil {
		answers, err := t.quiet()
		if err != nil {
			return Result{}, err
		}
		fmt.Fprintf(t.config.Progress, "%v: %s answered %d questions\n", t.leg, t.scheduler, answers)
	}
	if t.profiled != nil {
		if err := t.profiled(); err != nil {
			return Result{}, err
		}
	}
	used, err := process.Usage()
	if err != nil {
		return Result{}, err
	}
	if ours(t.scheduler) {
		if err := t.ask(ctx); err != nil {
			return Result{}, err
		}
	}
	slices.Sort(latencies)
	return Result{
		Leg: t.leg, Scheduler: t.scheduler,
		PodsPerSecond: float64(t.leg.Pods) / took.Seconds(),
		P50:           quantile(latencies, 0.5), P99: quantile(latencies, 0.99),
		CPUPerPod:  (used.CPU - before) / time.Duration(t.leg.Pods),
		PeakMemory: used.PeakMemory,
	}, process.Kill()
}

// quantile returns a quantile of sorted values, of which there must be at least one.
func quantile[T any](sorted []T, q float64) T {
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}
