// Package native creates Berth's own plugins over a world.
package native

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/features"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/test/internal/world"
)

// Names returns the names of the plugins that are built.
func Names() []string { return hostplugins.All(Deps(nil, Bindings{})).Names() }

// Points returns the points of a plugin.
func Points(name string) []abi.Point {
	p, err := New(world.New(), name, nil, Bindings{})
	if err != nil {
		panic(fmt.Sprintf("BUG: %s with its default args: %v", name, err))
	}
	return plugin.Points(p)
}

// Deps is the dependencies of plugins, from the stores of a world through the interfaces of
// runtime/plugin/objects.
func Deps(w *world.World, binder objects.Binder) hostplugins.Deps {
	deps := hostplugins.Deps{Binder: binder, Budgets: budgets{w}, Services: owners{w}, Controllers: owners{w}}
	// as kube-scheduler's plugins have it
	deps.CompareTolerations = feature.DefaultFeatureGate.Enabled(features.TaintTolerationComparisonOperators)
	deps.ResizePreemption = Resizes()
	if w != nil {
		deps.Storage = hostplugins.Storage{Objects: w.Storage.Objects(), Writer: nobody{}, Waiter: nobody{}, Exists: nobody{}}
	}
	return deps
}

// budgets lists the PodDisruptionBudgets of a world.
type budgets struct{ world *world.World }

// List implements objects.PodDisruptionBudgets.
func (b budgets) List() ([]*policyv1.PodDisruptionBudget, error) {
	list, err := b.world.Informers.Policy().V1().PodDisruptionBudgets().Lister().List(labels.Everything())
	slices.SortFunc(list, func(x, y *policyv1.PodDisruptionBudget) int {
		return cmp.Or(strings.Compare(x.Namespace, y.Namespace), strings.Compare(x.Name, y.Name))
	})
	return list, err
}

// Resizes reports whether kube-scheduler has pods evicted for a deferred resize in place.
func Resizes() bool {
	return feature.DefaultFeatureGate.Enabled(features.InPlacePodVerticalScalingSchedulerPreemption)
}

// Load reads a configuration as Berth does. Empty data means no file.
func Load(data []byte) (*config.Scheduler, error) {
	if len(data) == 0 {
		return defaults(), nil
	}
	c, _, err := config.Parse(data, "scheduler.yaml", catalog())
	return c, err
}

// catalog is the one that Berth has with the feature gates of the process.
func catalog() config.Catalog {
	gates, _, err := config.ParseGates([]string{fmt.Sprintf("%s=%v", config.ResizePreemption, Resizes())})
	if err != nil {
		panic(fmt.Sprintf("BUG: %v", err))
	}
	return assembly.Catalog().WithGates(gates)
}

// defaults is the configuration without a file, which must not be modified.
//
//nolint:gochecknoglobals // a constant that is costly to make
var defaults = sync.OnceValue(func() *config.Scheduler { return config.Default(catalog()) })

// New makes one plugin over a world.
func New(w *world.World, name string, configuration []byte, binder objects.Binder) (plugin.Plugin, error) {
	c, err := Load(configuration)
	if err != nil {
		return nil, err
	}
	return hostplugins.All(Deps(w, binder)).New(name, c.Profiles[0].Args[name].Typed)
}

// Bindings records bindings.
type Bindings struct{ Note func(b objects.Binding) error }

// Bind implements objects.Binder.
func (b Bindings) Bind(_ context.Context, binding objects.Binding) error {
	if b.Note == nil {
		return errors.New("the simulated cluster cannot bind")
	}
	if err := b.Note(binding); err != nil {
		return fmt.Errorf("bind: %w", err)
	}
	return nil
}
