package assembly

import (
	"slices"

	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/runtime/extender"
)

// newExtenders makes the HTTP extenders that the configuration names; nil for none.
func newExtenders(c *Config, d Deps) (*extender.Extenders, error) {
	configs := c.Scheduler.Extenders
	if c.IgnoreBindVerbs {
		configs = slices.Clone(configs)
		for i := range configs {
			configs[i].BindVerb = ""
		}
	}
	return extender.New(configs, extender.Deps{Patcher: d.Patcher, Log: d.Log})
}

// leaveToExtenders returns the arguments of NodeResourcesFit with the resources
// that extenders see to in place of those that it ignores, as kube-scheduler does;
// others as they are.
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
