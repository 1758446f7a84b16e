package app

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/debughttp"
	"github.com/berth-scheduler/berth/runtime/tenancy/rollout"
	"github.com/berth-scheduler/berth/runtime/whatif"
)

// again decides once more about the pods of the last attempts, with and without a plugin.
func (w *watched) again(ctx context.Context, plugin string, last int) (answer *whatif.Again, err error) {
	err = w.aboutNow(ctx, func(c *whatif.Cluster) error {
		now := w.running.Load()
		var err error
		if c.Scheduler, plugin, err = trying(now.assembly, plugin); err != nil {
			return whatif.Refuse(err)
		}
		c.Scheduler.Workers = 1
		var pods []*v1.Pod
		sequences := make(map[types.NamespacedName]uint64) // of the last attempt
		namespaces := namespacesOf(&c.Scheduler, plugin)
		w.recorder.Recent(last, func(e *debughttp.Explanation) bool {
			a := e.Attempt
			if len(namespaces) > 0 && !slices.Contains(namespaces, a.Namespace) {
				return false
			}
			name := types.NamespacedName{Namespace: a.Namespace, Name: a.Pod}
			if _, seen := sequences[name]; !seen {
				sequences[name] = a.Sequence
				if pod := now.cluster.Pod(name); pod != nil && pod.UID == a.UID && pod.DeletionTimestamp == nil {
					pods = append(pods, pod)
				}
			}
			return true
		})
		if answer, err = c.Again(ctx, plugin, pods); err != nil {
			return err
		}
		answer.Gone = len(sequences) - len(pods)
		for i := range answer.Trials {
			for j := range answer.Trials[i].Differences {
				d := &answer.Trials[i].Differences[j]
				d.Sequence = sequences[types.NamespacedName{Namespace: d.Namespace, Name: d.Pod}]
			}
		}
		return nil
	})
	return answer, err
}

// trying returns a configuration that tries a plugin: its canary in the place of the stable version, if it has
// both. It also returns the name of what is tried.
func trying(a *assembly.Assembly, plugin string) (assembly.Config, string, error) {
	canary := plugin + "@" + string(rollout.Canary)
	if c, err := a.Trying(canary, plugin); err == nil {
		return c, canary, nil
	}
	c, err := a.Trying(plugin, "")
	if err == nil {
		return c, plugin, nil
	}
	if c, err := a.Trying(canary, ""); err == nil { // there is no stable version yet
		return c, canary, nil
	}
	return c, plugin, err
}

// namespacesOf are those of the pods that a module is for; none means all.
func namespacesOf(c *assembly.Config, plugin string) []string {
	for i := range c.Scheduler.Profiles {
		if m, ok := c.Scheduler.Profiles[i].Args[plugin].Module.(*assembly.Module); ok {
			return m.Reference.Namespaces
		}
	}
	return nil
}
