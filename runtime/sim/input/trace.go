package input

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Names of a trace's columns on nodes and pods.
const (
	// TraceNamespace is the namespace of all pods of an openb trace.
	TraceNamespace = "openb"
	// GPUResource is the extended resource for GPUs, 1000 per device: a node has gpu×1000, a
	// pod requests num_gpu×gpu_milli.
	GPUResource v1.ResourceName = "berth.dev/gpu-milli"
	// GPUModelLabel is the node label with the model of the node's GPUs.
	GPUModelLabel = "berth.dev/gpu-model"
	// GPUCountAnnotation is the number of devices that a node has or a pod requests.
	GPUCountAnnotation = "berth.dev/gpu-count"
	// GPUMilliAnnotation is a pod's request for each of its devices, 0 to 1000.
	GPUMilliAnnotation = "berth.dev/gpu-milli"
	// GPUDevicesAnnotation has the devices that a plugin gave a pod, such as `0` or `0,1`.
	GPUDevicesAnnotation = "berth.dev/gpu-devices"
	// QoSLabel is the pod label with the trace's own service class (LS, BE, …).
	QoSLabel = "berth.dev/qos"
	// DefaultPodSlots is the pod capacity of a node in the published experiment.
	DefaultPodSlots = 1001
)

// TraceOptions say how a trace is converted to arrivals. With the zero value, pods are sorted
// by name, arrive one after the other, and stay.
type TraceOptions struct {
	// Seed is the seed of math/rand for shuffle, inflation and node order.
	Seed int64
	// Inflate is the target demand, as a multiple of the cluster's milli-GPU: clones of random
	// pods are appended until the next one would exceed it, or random pods are removed while the
	// trace is above it. 0 and 1 change nothing.
	Inflate float64
	// Shuffle puts the original pods in random order before inflation.
	Shuffle bool
	// Departures sets At and Until of each arrival from creation_time and deletion_time, and
	// sorts arrivals by At, stably.
	Departures bool
	// PodSlots is the pod capacity of each node; 0 means DefaultPodSlots.
	PodSlots int64
}

// Arrival is one pod of a trace and its time in the cluster.
type Arrival struct {
	Pod *v1.Pod
	// At and Until are offsets from the earliest creation in the trace. Both are zero without
	// Departures. An Until of 0 means that the pod never leaves; otherwise it is after At, by
	// one nanosecond if the trace says zero seconds.
	At, Until time.Duration
	// Runs is how long the pod stays once it is on a node; 0 for as long as Until says.
	Runs time.Duration
}

// Trace is a cluster and the pods that arrive in it.
type Trace struct {
	Nodes    []*v1.Node // in file order
	Arrivals []Arrival
	// NodeRank is the seeded order of nodes for tie-breaking; the smallest rank is preferred. It
	// has every node's name, and each of the ranks 0 … len(Nodes)−1 once.
	NodeRank map[string]uint64
	// Typical are the typical pods of the pod list, before inflation.
	Typical []TypicalPod
	// Warnings say what is assumed because the pod list does not have a column.
	Warnings []Warning
}

// LoadTrace reads a trace of the given format from two files. The only format is "openb", the
// production trace of Weng et al., USENIX ATC 2023: a node list with the columns sn, cpu_milli,
// memory_mib, gpu, model, and a pod list with name, cpu_milli, memory_mib, num_gpu, gpu_milli,
// perhaps gpu_spec and qos, and, for Departures, creation_time and deletion_time. Columns are
// found by their names in the first row, in any order; other columns are ignored.
//
// # Errors
//
// Mistakes in the files are an *Errors, with the column as Path. Other errors wrap a
// *fs.PathError if a file cannot be read, or, soon after the context has ended, are its cause.
func LoadTrace(ctx context.Context, format, nodesCSV, podsCSV string, o TraceOptions) (*Trace, error) {
	if err := checkFormat(format); err != nil {
		return nil, err
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	nodes, err := readFile(ctx, nodesCSV)
	if err != nil {
		return nil, unlessStopped(ctx, fmt.Errorf("node list of the trace: %w", err))
	}
	pods, err := readFile(ctx, podsCSV)
	if err != nil {
		return nil, unlessStopped(ctx, fmt.Errorf("pod list of the trace: %w", err))
	}
	return buildTrace(ctx, source{nodesCSV, nodes}, source{podsCSV, pods}, o)
}

func checkFormat(format string) error {
	if format != "openb" {
		return fmt.Errorf("unknown trace format %q (use openb)", format)
	}
	return nil
}

// source is the name and content of one input file.
type source struct {
	file string
	data []byte
}

func buildTrace(ctx context.Context, nodesFile, podsFile source, o TraceOptions) (*Trace, error) {
	var g gatherer
	nodes := readTraceNodes(ctx, nodesFile, &g)
	pods, assumed := readTracePods(ctx, podsFile, o, &g)
	if err := unlessStopped(ctx, g.err()); err != nil {
		return nil, err
	}
	typical := typicalPods(pods)
	r := newTraceRand(o.Seed)
	pods, err := r.order(ctx, pods, clusterMilliGPU(nodes), o)
	if err != nil {
		return nil, err
	}
	t := &Trace{NodeRank: r.nodeRank(nodes), Typical: typical, Warnings: assumed}
	for _, n := range nodes {
		t.Nodes = append(t.Nodes, n.object(o))
	}
	t.Arrivals = arrivals(ctx, pods, o)
	if err := unlessStopped(ctx, nil); err != nil {
		return nil, err
	}
	return t, nil
}

// unlessStopped returns the context's cause if it has ended, otherwise err.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (o TraceOptions) check() error {
	switch {
	case !(o.Inflate >= 0 && o.Inflate <= maxInflate): // also refuses NaN
		return fmt.Errorf("--inflate: %v is not between 0 and %d (1.3 means 130 %% of the cluster's GPUs)", o.Inflate, maxInflate)
	case o.PodSlots < 0:
		return fmt.Errorf("pod slots is %d: it must not be negative (0 means %d)", o.PodSlots, DefaultPodSlots)
	}
	return nil
}
