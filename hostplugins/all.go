// Package hostplugins is the registry of the plugins that are compiled into Berth. Names,
// arguments, codes and reasons are those of kube-scheduler v1.37. RATIONALE.md has the reasons for how they work.
package hostplugins

import (
	"fmt"
	"time"

	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/hostplugins/defaultbinder"
	"github.com/berth-scheduler/berth/hostplugins/defaultpreemption"
	"github.com/berth-scheduler/berth/hostplugins/deferredpodscheduling"
	"github.com/berth-scheduler/berth/hostplugins/dynamicresources"
	"github.com/berth-scheduler/berth/hostplugins/imagelocality"
	"github.com/berth-scheduler/berth/hostplugins/interpodaffinity"
	"github.com/berth-scheduler/berth/hostplugins/nodeaffinity"
	"github.com/berth-scheduler/berth/hostplugins/nodedeclaredfeatures"
	"github.com/berth-scheduler/berth/hostplugins/nodename"
	"github.com/berth-scheduler/berth/hostplugins/nodeports"
	"github.com/berth-scheduler/berth/hostplugins/noderesources"
	"github.com/berth-scheduler/berth/hostplugins/nodeunschedulable"
	"github.com/berth-scheduler/berth/hostplugins/nodevolumelimits"
	"github.com/berth-scheduler/berth/hostplugins/podtopologyspread"
	"github.com/berth-scheduler/berth/hostplugins/prioritysort"
	"github.com/berth-scheduler/berth/hostplugins/schedulinggates"
	"github.com/berth-scheduler/berth/hostplugins/tainttoleration"
	"github.com/berth-scheduler/berth/hostplugins/volumebinding"
	"github.com/berth-scheduler/berth/hostplugins/volumerestrictions"
	"github.com/berth-scheduler/berth/hostplugins/volumezone"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
)

const (
	// Release is the minor version of Kubernetes 1 whose decisions plugins make.
	Release = 37
	// OldestRelease is the oldest one whose defaults and texts they can have instead, to repeat recordings.
	OldestRelease = 36
)

// Deps is what native plugins depend on.
type Deps struct {
	// Binder is for DefaultBinder, which cannot be built without it.
	Binder objects.Binder
	// Budgets (optional) is for DefaultPreemption. Without it no eviction violates a budget.
	Budgets objects.PodDisruptionBudgets
	// Storage is for the volume plugins. The zero value is a cluster without storage objects.
	Storage Storage
	// Devices is for DynamicResources. The zero value is a cluster without resource claims. Search
	// (optional) bounds its searches; Now is the time of the loop and Wall the time beside it, the
	// machine's if they are nil.
	Devices   Devices
	Search    objects.Search
	Now, Wall func() time.Time
	// Services and Controllers are for the default constraints of PodTopologySpread. A nil one
	// means that there are no such objects.
	Services    objects.Services
	Controllers objects.Controllers
	// Release is the minor version of Kubernetes 1 whose defaults and texts plugins have; 0 means the constant Release. What a
	// release changed without a feature gate is always as in the newest.
	Release uint64
	// CompareTolerations has the operators Lt and Gt of tolerations compare numbers, as kube-scheduler does with the gate
	// TaintTolerationComparisonOperators. Otherwise they tolerate nothing.
	CompareTolerations bool
	// ResizePreemption has DeferredPodScheduling let pods be evicted for a resize in place, as kube-scheduler does with the gate
	// InPlacePodVerticalScalingSchedulerPreemption. Otherwise that plugin does nothing.
	ResizePreemption bool
}

// before37 reports whether plugins have the defaults and texts of Kubernetes 1.36: VolumeBinding scores only with a shape,
// NodeVolumeLimits lets a pod onto a node that lacks its driver, and PostFilter says so if there is nothing to deallocate, and
// nothing of what preemption found.
func (d *Deps) before37() bool { return d.Release != 0 && d.Release < 37 }

// All returns the registry. Arguments are nil or pointers to the types of
// k8s.io/kube-scheduler/config/v1, with or without defaults applied.
func All(deps Deps) plugin.Registry {
	storage, devices, before37 := deps.Storage.orEmpty(), deps.Devices.orEmpty(), deps.before37()
	return plugin.Registry{
		schedulinggates.Name:   noArgs(schedulinggates.New),
		prioritysort.Name:      noArgs(prioritysort.New),
		nodename.Name:          noArgs(nodename.New),
		nodeunschedulable.Name: noArgs(nodeunschedulable.New),
		tainttoleration.Name: noArgs(func() *tainttoleration.TaintToleration {
			return tainttoleration.New(tainttoleration.Config{Compare: deps.CompareTolerations})
		}),
		deferredpodscheduling.Name: noArgs(func() *deferredpodscheduling.DeferredPodScheduling {
			return deferredpodscheduling.New(deferredpodscheduling.Config{On: deps.ResizePreemption})
		}),
		nodeports.Name:     noArgs(nodeports.New),
		imagelocality.Name: noArgs(imagelocality.New),

		dynamicresources.Name:     devices.dynamicResources(&deps),
		nodedeclaredfeatures.Name: noArgs(nodedeclaredfeatures.New),
		volumerestrictions.Name:   noArgs(storage.restrictions),
		volumezone.Name:           noArgs(storage.zone),
		nodevolumelimits.Name:     noArgs(func() *nodevolumelimits.NodeVolumeLimits { return storage.limits(before37) }),
		volumebinding.Name:        storage.binding(before37),

		nodeaffinity.Name: func(args any) (plugin.Plugin, error) {
			return withArgs[configv1.NodeAffinityArgs](args, nodeaffinity.New)
		},
		noderesources.FitName: func(args any) (plugin.Plugin, error) {
			return withArgs(args, func(a *configv1.NodeResourcesFitArgs) (*noderesources.Fit, error) {
				return noderesources.NewFit(a, devices.ledger)
			})
		},
		noderesources.BalancedName: func(args any) (plugin.Plugin, error) {
			return withArgs(args, func(a *configv1.NodeResourcesBalancedAllocationArgs) (*noderesources.Balanced, error) {
				return noderesources.NewBalanced(a, devices.ledger)
			})
		},
		defaultpreemption.Name: func(args any) (plugin.Plugin, error) {
			return withArgs(args, func(a *configv1.DefaultPreemptionArgs) (*defaultpreemption.DefaultPreemption, error) {
				return defaultpreemption.New(a, defaultpreemption.Deps{Budgets: deps.Budgets, Quiet: before37})
			})
		},
		podtopologyspread.Name: func(args any) (plugin.Plugin, error) {
			return withArgs(args, func(args *configv1.PodTopologySpreadArgs) (*podtopologyspread.PodTopologySpread, error) {
				return podtopologyspread.New(args, podtopologyspread.Deps{
					Services: deps.Services, Controllers: deps.Controllers, CompareTolerations: deps.CompareTolerations,
				})
			})
		},
		interpodaffinity.Name: func(args any) (plugin.Plugin, error) {
			return withArgs[configv1.InterPodAffinityArgs](args, interpodaffinity.New)
		},
		defaultbinder.Name: func(args any) (plugin.Plugin, error) {
			if args != nil {
				return nil, fmt.Errorf("takes no args, got %T", args)
			}
			return orError(defaultbinder.New(deps.Binder))
		},
	}
}

func noArgs[P plugin.Plugin](make func() P) plugin.Factory {
	return func(args any) (plugin.Plugin, error) {
		if args != nil {
			return nil, fmt.Errorf("takes no args, got %T", args)
		}
		return make(), nil
	}
}

func withArgs[A any, P plugin.Plugin](args any, make func(*A) (P, error)) (plugin.Plugin, error) {
	if args == nil {
		return orError(make(nil))
	}
	typed, ok := args.(*A)
	if !ok {
		return nil, fmt.Errorf("wants args of type %T, got %T", typed, args)
	}
	return orError(make(typed))
}

// orError keeps a nil plugin of a failed constructor from becoming a non-nil interface.
func orError[P plugin.Plugin](p P, err error) (plugin.Plugin, error) {
	if err != nil {
		return nil, err
	}
	return p, nil
}
