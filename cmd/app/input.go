package app

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/sim"
	"github.com/berth-scheduler/berth/runtime/sim/input"
	"github.com/berth-scheduler/berth/runtime/state"
)

// inputOptions holds the flags for the simulated cluster.
type inputOptions struct {
	cluster    []string
	strict     bool
	trace      string
	nodes      string
	pods       string
	inflate    float64
	shuffle    bool
	departures bool
}

func (o *inputOptions) check() error {
	traceOnly := map[string]bool{
		"nodes": o.nodes != "", "pods": o.pods != "", "inflate": o.inflate != 0,
		"shuffle": o.shuffle, "departures": o.departures,
	}
	switch {
	case len(o.cluster) == 0 && o.trace == "":
		return errors.New("no input: name Kubernetes files with --cluster, or a trace with --trace openb --nodes FILE --pods FILE")
	case len(o.cluster) > 0 && o.trace != "":
		return errors.New("--cluster and --trace exclude each other: simulate one or the other")
	case o.trace != "" && o.strict:
		return errors.New("--strict needs --cluster: every line of a trace must be right anyway")
	case o.trace != "" && (o.nodes == "" || o.pods == ""):
		return errors.New("--trace needs the lists of nodes and pods: add --nodes FILE and --pods FILE")
	case o.trace != "":
		return nil
	}
	var errs []error
	for _, name := range []string{"nodes", "pods", "inflate", "shuffle", "departures"} {
		if traceOnly[name] {
			errs = append(errs, fmt.Errorf("--%s needs a trace: add --trace openb, or remove --%[1]s", name))
		}
	}
	return errors.Join(errs...)
}

// load reads the input into a simulation. It returns the objects of cluster files, none for a
// trace, and the typical pods of a trace.
func (o *inputOptions) load(ctx context.Context, c *sim.Config, seed int64) (*input.Objects, []input.TypicalPod, error) {
	if o.trace != "" {
		t, err := input.LoadTrace(ctx, o.trace, o.nodes, o.pods, input.TraceOptions{
			Seed: seed, Inflate: o.inflate, Shuffle: o.shuffle, Departures: o.departures,
		})
		if err := stopped(ctx, err); err != nil {
			return nil, nil, unreadable(unreadable(err, "nodes", o.nodes), "pods", o.pods)
		}
		c.Nodes, c.Arrivals = t.Nodes, t.Arrivals
		c.Assembly.Rank = func(node string) uint64 { return t.NodeRank[node] }
		return &input.Objects{Warnings: t.Warnings}, t.Typical, nil
	}
	objects, err := input.LoadCluster(ctx, o.cluster, o.strict)
	if err := stopped(ctx, err); err != nil {
		return nil, nil, err
	}
	c.Namespaces, c.Nodes, c.PodDisruptionBudgets = objects.Namespaces, objects.Nodes, objects.PodDisruptionBudgets
	c.Storage = objects.Storage()
	c.Owners = objects.Owners()
	c.Where = func(pod *v1.Pod) string {
		if source, ok := objects.Source(pod); ok {
			return source.String()
		}
		return ""
	}
	for _, pod := range objects.Pods {
		if pod.Spec.NodeName == "" {
			c.Arrivals = append(c.Arrivals, input.Arrival{Pod: pod})
			continue
		}
		c.Bound = append(c.Bound, state.NewPod(pod))
	}
	return objects, nil, nil
}

// leaveOthers leaves out the pods of schedulers other than the profiles, as a cluster does.
// It says of which.
func leaveOthers(c *sim.Config, s *config.Scheduler) string {
	var first *v1.Pod
	kept := c.Arrivals[:0:0]
	for _, a := range c.Arrivals {
		if slices.ContainsFunc(s.Profiles, func(p config.Profile) bool { return p.SchedulerName == a.Pod.Spec.SchedulerName }) {
			kept = append(kept, a)
		} else if first == nil {
			first = a.Pod
		}
	}
	left := len(c.Arrivals) - len(kept)
	if c.Arrivals = kept; left == 0 {
		return ""
	}
	return fmt.Sprintf("pending pods of other schedulers are left out: %d, the first is %s/%s of %s", left, first.Namespace, first.Name, first.Spec.SchedulerName)
}

// stopped turns an error from a cancelled context into a failure, because the input is
// not its cause.
func stopped(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return &failure{fmt.Errorf("stopped while reading the input: %w", context.Cause(ctx))}
	}
	return err
}
