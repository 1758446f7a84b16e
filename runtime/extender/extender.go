// Package extender calls HTTP extenders as kube-scheduler does
// (k8s.io/kube-scheduler/extender/v1): services that filter and score nodes, change the
// candidates of a preemption, and bind pods. The cycle calls them after the plugins of any
// profile.
//
// Their answers in cycles are inputs, which a recording has and a replay repeats; see Tape.
package extender

import (
	"context"
	"fmt"
	"log/slog"

	v1 "k8s.io/api/core/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Name is the plugin name of all extenders: among the plugins that rejected a pod, and at Bind.
const Name = "Extender"

// Deps are the dependencies of extenders.
type Deps struct {
	// Patcher writes the patches of plugins to a pod before an extender binds it. Without it an
	// extender cannot bind such a pod.
	Patcher objects.Patcher
	// Tape (optional) answers, or listens, in cycles.
	Tape Tape
	// Log (optional) receives failures of ignorable extenders.
	Log *slog.Logger
}

// Tape stands between a cycle and its extenders: it returns what call does, which asks the extender of a
// number, by the order of the configuration, and sets result, or sets result to a recorded answer. It may
// be called concurrently, but not twice for the same extender.
type Tape func(number int, verb string, result any, call func() error) error

// Extenders are the extenders of a scheduler in the order of the calls: ignorable ones come
// last. nil means none. It has no state of cycles and is safe for concurrent use.
type Extenders struct {
	all  []*extender
	deps Deps
}

// extender is one extender.
type extender struct {
	config  configv1.Extender
	number  int // in the order of the configuration
	client  *client
	tape    Tape
	managed map[v1.ResourceName]bool // nil for all pods
}

// New makes the extenders of a validated configuration; nil if it has none. It reads the files
// that tlsConfig names.
func New(configs []configv1.Extender, deps Deps) (*Extenders, error) {
	if len(configs) == 0 {
		return nil, nil
	}
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	e := &Extenders{deps: deps}
	var ignorable []*extender
	for i := range configs {
		c, err := newClient(&configs[i])
		if err != nil {
			return nil, fmt.Errorf("extenders[%d]: %w", i, err)
		}
		x := &extender{config: configs[i], number: i, client: c, tape: deps.Tape}
		for _, resource := range configs[i].ManagedResources {
			if x.managed == nil {
				x.managed = make(map[v1.ResourceName]bool)
			}
			x.managed[v1.ResourceName(resource.Name)] = true
		}
		if x.config.Ignorable {
			ignorable = append(ignorable, x)
		} else {
			e.all = append(e.all, x)
		}
	}
	e.all = append(e.all, ignorable...)
	return e, nil
}

// Close closes idle connections.
func (e *Extenders) Close() {
	if e == nil {
		return
	}
	for _, x := range e.all {
		x.client.http.CloseIdleConnections()
	}
}

// Ignored returns the resources that NodeResourcesFit must ignore because an extender handles
// them.
func Ignored(configs []configv1.Extender) (names []string) {
	for i := range configs {
		for _, resource := range configs[i].ManagedResources {
			if resource.IgnoredByScheduler {
				names = append(names, resource.Name)
			}
		}
	}
	return names
}

// Filters reports whether any extender filters nodes.
func (e *Extenders) Filters() bool {
	return e.any(func(c *configv1.Extender) string { return c.FilterVerb })
}

// Prioritizes reports whether any extender scores nodes.
func (e *Extenders) Prioritizes() bool {
	return e.any(func(c *configv1.Extender) string { return c.PrioritizeVerb })
}

func (e *Extenders) any(verb func(*configv1.Extender) string) bool {
	if e == nil {
		return false
	}
	for _, x := range e.all {
		if verb(&x.config) != "" {
			return true
		}
	}
	return false
}

// ask asks the extender in a cycle; see client.call.
func (x *extender) ask(ctx context.Context, verb string, nodes int, args, result any) error {
	call := func() error { return x.client.call(ctx, verb, nodes, args, result) }
	if x.tape == nil {
		return call()
	}
	return x.tape(x.number, verb, result, call)
}

// interested reports whether the extender is called for a pod: one of its containers uses a
// resource that the extender manages.
func (x *extender) interested(pod *state.Pod) bool {
	if x.managed == nil {
		return true
	}
	spec := &pod.Object.Spec
	return x.manages(spec.Containers) || x.manages(spec.InitContainers)
}

func (x *extender) manages(containers []v1.Container) bool {
	for i := range containers {
		for _, list := range []v1.ResourceList{containers[i].Resources.Requests, containers[i].Resources.Limits} {
			for name := range list {
				if x.managed[name] {
					return true
				}
			}
		}
	}
	return false
}

// ignore reports whether a failure of an extender is ignored, and logs it if so.
func (e *Extenders) ignore(x *extender, verb string, pod *state.Pod, err error) bool {
	if x.config.Ignorable {
		e.deps.Log.Info("ignoring extender", "extender", x.client.name, "verb", verb, "pod", pod.Key(), "error", err)
	}
	return x.config.Ignorable
}
