// Package bridge runs plugins that were written for kube-scheduler, against
// k8s.io/kube-scheduler/framework v0.37, unchanged in Berth.
// To Berth, a hosted plugin is a Berth plugin: its per-node points take a batch of rows. The
// bridge calls it node by node, with adapters for the objects of the framework: a NodeInfo for
// each row, built when the row has changed, a CycleState, listers over the snapshot, and a
// Handle. Codes, reasons, Skip, node sets, events and hints pass through unchanged.
// Handle methods that Berth does not support return an error that says so; see [Handle].
package bridge

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Factory creates a plugin of the framework. Its type is that of the factories in
// kube-scheduler's registries.
type Factory = func(ctx context.Context, args runtime.Object, h framework.Handle) (framework.Plugin, error)

// Config configures how plugins are hosted.
type Config struct {
	// Profile is the scheduler name of the profile that the plugins belong to. Like a framework
	// of kube-scheduler, a bridge belongs to one profile.
	Profile string
	// Parallelism is the number of goroutines that call a plugin for different nodes at once,
	// and the parallelism of its Parallelizer; 0 means 16, as in kube-scheduler.
	Parallelism int
}

// Deps is what hosted plugins see of the cluster through their handle. All fields are optional.
type Deps struct {
	// ClientSet and KubeConfig reach the API server. Without them each request fails with an
	// error that says so, as in a simulation.
	ClientSet  kubernetes.Interface
	KubeConfig *rest.Config
	// Informers is started and stopped by its owner. Without it plugins get informers without
	// objects.
	Informers informers.SharedInformerFactory
	// Without an EventRecorder events are dropped.
	EventRecorder events.EventRecorderLogger
	// Without CSI, a manager that reads the CSINodes of the informers is used.
	DRA           framework.SharedDRAManager
	CSI           framework.CSIManager
	PodGroups     framework.PodGroupManager
	Extenders     []framework.Extender
	APIDispatcher framework.APIDispatcher
	APICacher     framework.APICacher
	// Scheduler returns the loop that runs the profile, which is created after its plugins; nil
	// means that there is none, so that no pod waits and none can be activated.
	Scheduler func() plugin.Loop
}

// Source describes a plugin that can be hosted.
type Source struct {
	// Name is the plugin's name in a profile.
	Name    string
	Factory Factory
	// Enforces is the set of pod spec features that the plugin enforces.
	Enforces state.Feature
}

// Bridge hosts the plugins of one profile, which share a handle, a view of the snapshot and the
// state of each cycle. The points of the scheduling cycle must be called from the loop's
// goroutine, those of binding cycles from any.
type Bridge struct {
	config  Config
	deps    Deps
	cluster cluster
	handle  *Handle
}

// New returns a bridge without plugins.
func New(config Config, deps Deps) *Bridge {
	if config.Parallelism <= 0 {
		config.Parallelism = 16
	}
	if deps.KubeConfig == nil {
		deps.KubeConfig = unconnected()
	}
	if deps.ClientSet == nil {
		deps.ClientSet = kubernetes.NewForConfigOrDie(unconnected())
	}
	if deps.Informers == nil {
		deps.Informers = informers.NewSharedInformerFactory(deps.ClientSet, 0) // never started
	}
	if deps.CSI == nil {
		deps.CSI = csiNodes{deps.Informers.Storage().V1().CSINodes().Lister()}
	}
	if deps.EventRecorder == nil {
		deps.EventRecorder = noEvents{}
	}
	b := &Bridge{config: config, deps: deps}
	b.handle = newHandle(b)
	return b
}

// Registry returns factories that host the sources' plugins, for profiles. Args that are a
// runtime.Object are passed to the plugin unchanged; raw JSON is passed as a runtime.Unknown,
// as kube-scheduler does for args of unknown types.
func (b *Bridge) Registry(ctx context.Context, sources ...Source) plugin.Registry {
	r := make(plugin.Registry, len(sources))
	for _, s := range sources {
		r[s.Name] = func(args any) (plugin.Plugin, error) {
			object, err := objectOf(args)
			if err != nil {
				return nil, err
			}
			p, err := b.Host(ctx, s, object)
			if err != nil {
				return nil, err
			}
			return p, nil
		}
	}
	return r
}

func objectOf(args any) (runtime.Object, error) {
	switch a := args.(type) {
	case nil:
		return nil, nil
	case runtime.Object:
		return a, nil
	case []byte:
		return &runtime.Unknown{Raw: a, ContentType: runtime.ContentTypeJSON}, nil
	}
	return nil, fmt.Errorf("args of type %T are not supported: pass a runtime.Object, or JSON as []byte", args)
}

// Host creates a plugin. args may be nil.
func (b *Bridge) Host(ctx context.Context, s Source, args runtime.Object) (*Plugin, error) {
	if s.Factory == nil {
		return nil, errors.New("bridge: Source.Factory is required")
	}
	hosted, err := s.Factory(ctx, args, b.handle)
	if err != nil {
		return nil, err
	}
	if hosted == nil {
		return nil, fmt.Errorf("the factory of %s returned no plugin and no error", s.Name)
	}
	return newPlugin(ctx, b, s, hosted)
}
