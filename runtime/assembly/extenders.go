package assembly

import (
	"slices"

	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/runtime/extender"
)

// newExtenders makes the HTTP extenders in the configuration; nil for none.
func newExtenders(c *Config, d Deps) (*extender.Extenders, error) {
	if c.WithoutExtenders {
		return nil, nil
	}
	configs := c.Scheduler.Extenders
	if c.IgnoreBindVerbs {
		configs = slices.Clone(configs)
		for i := range configs {
			configs[i].BindVerb = ""
		}
	}
	return extender.New(configs, extender.Deps{Patcher: d.Patcher, Log: d.Log})
}

// leaveToExtenders returns the arguments of NodeResourcesFit with ignoredResources replaced by
// the resources that extenders handle, as kube-scheduler does. It returns other arguments
// unchanged.
func leaveToExtenders(args any, extenders []configv1.Extender) any {
	fit, ok := args.(*configv1.NodeResourcesFitArgs)
	ignored := extender.Ignored(extenders)
	if !ok || len(ignored) == 0 {
		return args
	}
	own := *fit
	own.IgnoredResources = ignored
	return &own
}
