package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
)

// How often the API server is asked whether it serves the kinds of berth.dev, and how soon again
// after it did not answer.
const (
	servedEvery = 10 * time.Second
	servedAgain = time.Second
)

// newPluginClient returns a client of berth.dev/v1alpha1, whose kinds are registered by add.
func newPluginClient(base *rest.Config, client *http.Client, add func(*runtime.Scheme) error) (rest.Interface, error) {
	scheme := runtime.NewScheme()
	if err := add(scheme); err != nil {
		return nil, err
	}
	gv := v1alpha1.GroupVersion()
	c := rest.CopyConfig(base)
	c.GroupVersion, c.APIPath = &gv, "/apis"
	c.AcceptContentTypes, c.ContentType = runtime.ContentTypeJSON, runtime.ContentTypeJSON // custom resources have no other
	c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	return rest.RESTClientForConfigAndClient(c, client)
}

// PluginObjects are the objects of berth.dev, and the labels of namespaces by name. They are
// shared and must not be changed.
type PluginObjects struct {
	SchedulerPlugins []*v1alpha1.SchedulerPlugin
	PluginGrants     []*v1alpha1.PluginGrant
	TenantPlugins    []*v1alpha1.TenantPlugin
	// BadSpec and BadStatus say by UID why the spec or the status of an object cannot be read.
	BadSpec, BadStatus map[types.UID]error
	Namespaces         map[string]map[string]string
}

// pluginWatch watches the kinds of berth.dev once the API server serves them.
type pluginWatch struct {
	cluster *Cluster
	changed chan struct{} // has an element when objects changed
	kinds   []*pluginKind
	group   sync.WaitGroup

	mu struct {
		sync.Mutex
		err error // of the last question what is served; nil after an answer
		// asked is true once the API server has said what it serves.
		asked, told bool
	}
}

// pluginKind is a kind of berth.dev.
type pluginKind struct {
	kind
	plural  string
	watched bool // guarded by the mutex of pluginWatch
}

// newPluginWatch prepares the watch. Without a client it has no kinds.
func newPluginWatch(c *Cluster) (*pluginWatch, error) {
	w := &pluginWatch{cluster: c, changed: make(chan struct{}, 1)}
	w.mu.err = errors.New("not asked yet")
	if c.deps.Plugins == nil {
		return w, nil
	}
	for _, name := range []string{v1alpha1.KindSchedulerPlugin, v1alpha1.KindPluginGrant, v1alpha1.KindTenantPlugin} {
		plural := v1alpha1.Plural(name)
		list := cache.NewListWatchFromClient(c.deps.Plugins, plural, metav1.NamespaceAll, fields.Everything())
		k := &pluginKind{plural: plural, kind: kind{name: plural + "." + v1alpha1.GroupVersion().Group, informer: cache.NewSharedIndexInformer(list, &apiPlugin{}, 0, cache.Indexers{})}}
		if err := k.informer.SetTransform(func(object any) (any, error) {
			if p, ok := object.(*apiPlugin); ok {
				p.decode(name)
			}
			return object, nil
		}); err != nil {
			return nil, err
		}
		if err := k.informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) { c.watches.failed(&k.kind, err) }); err != nil {
			return nil, err
		}
		if _, err := k.informer.AddEventHandler(handle(
			func(old, now metav1.Object) {
				c.arrivals.attached(old, now)
				if old == nil || old.GetGeneration() != now.GetGeneration() || !equality.Semantic.DeepEqual(rolloutOf(old), rolloutOf(now)) {
					w.signal()
				}
			},
			func(metav1.Object) { w.signal() })); err != nil {
			return nil, err
		}
		w.kinds = append(w.kinds, k)
	}
	return w, nil
}

// rolloutOf is the part of an object's status that says which versions decide.
func rolloutOf(o metav1.Object) *v1alpha1.RolloutStatus {
	switch x := o.(*apiPlugin).object.(type) {
	case *v1alpha1.SchedulerPlugin:
		return x.Status.Rollout
	case *v1alpha1.TenantPlugin:
		return x.Status.Rollout
	}
	return nil
}

func (w *pluginWatch) signal() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// start begins to watch, until the context ends.
func (w *pluginWatch) start(ctx context.Context) error {
	if len(w.kinds) == 0 {
		return nil
	}
	_, err := w.cluster.watches.namespaces.AddEventHandler(handle( // grants select by labels
		func(old, now *v1.Namespace) {
			if old == nil || !maps.Equal(old.Labels, now.Labels) {
				w.signal()
			}
		},
		func(*v1.Namespace) { w.signal() }))
	if err != nil {
		return err
	}
	w.group.Go(func() { w.run(ctx) })
	return nil
}

// run starts to watch each kind once it is served.
func (w *pluginWatch) run(ctx context.Context) {
	for {
		err := w.ask(ctx)
		pause := servedEvery
		if err != nil {
			pause = servedAgain
		}
		w.mu.Lock()
		w.mu.err = err
		all := !slices.ContainsFunc(w.kinds, func(k *pluginKind) bool { return !k.watched })
		tell := err == nil && !all && !w.mu.told
		w.mu.told = w.mu.told || tell
		w.mu.Unlock()
		if tell {
			w.cluster.log.Info("the API server does not serve berth.dev/v1alpha1: no plugins are attached through the API until its kinds are installed")
		}
		if all {
			return
		}
		next, stop := w.cluster.deps.Clock.Until(w.cluster.deps.Clock.Now().Add(pause))
		select {
		case <-next:
		case <-ctx.Done():
			stop()
			return
		}
	}
}

// ask asks which kinds are served, and watches them.
func (w *pluginWatch) ask(ctx context.Context) error {
	gv := v1alpha1.GroupVersion()
	limited, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	raw, err := w.cluster.deps.Plugins.Get().AbsPath("/apis", gv.Group, gv.Version).DoRaw(limited)
	var served metav1.APIResourceList
	switch {
	case err == nil:
		err = json.Unmarshal(raw, &served)
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		err = nil
	}
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.asked = true
	for _, k := range w.kinds {
		if !k.watched && slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Name == k.plural }) {
			k.watched = true
			w.group.Go(func() { k.informer.RunWithContext(ctx) })
		}
	}
	return nil
}

// synced returns nil if all objects that there are have been listed. Kinds that are not served,
// or that this scheduler may not list, have none.
func (w *pluginWatch) synced() error {
	if len(w.kinds) == 0 {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.mu.asked {
		return fmt.Errorf("berth.dev: %w", w.mu.err)
	}
	for _, k := range w.kinds {
		if !k.watched || k.informer.HasSynced() {
			continue
		}
		k.mu.Lock()
		err := k.mu.err
		k.mu.Unlock()
		switch {
		case apierrors.IsForbidden(err), apierrors.IsNotFound(err): // it was logged, and is tried again
		case err == nil:
			return fmt.Errorf("%s: not listed yet", k.name)
		default:
			return fmt.Errorf("%s: %w", k.name, err)
		}
	}
	return nil
}

// PluginsChanged has an element when PluginObjects has changed other than in status.
func (c *Cluster) PluginsChanged() <-chan struct{} { return c.plugins.changed }

// PluginObjects returns the objects of berth.dev as they are now. It may be called from any
// goroutine.
func (c *Cluster) PluginObjects() PluginObjects {
	o := PluginObjects{Namespaces: make(map[string]map[string]string), BadSpec: make(map[types.UID]error), BadStatus: make(map[types.UID]error)}
	for _, k := range c.plugins.kinds {
		for _, object := range k.informer.GetStore().List() {
			p := object.(*apiPlugin)
			if p.badSpec != nil {
				o.BadSpec[p.UID] = p.badSpec
			}
			if p.badStatus != nil {
				o.BadStatus[p.UID] = p.badStatus
			}
			switch x := p.object.(type) {
			case *v1alpha1.SchedulerPlugin:
				o.SchedulerPlugins = append(o.SchedulerPlugins, x)
			case *v1alpha1.PluginGrant:
				o.PluginGrants = append(o.PluginGrants, x)
			case *v1alpha1.TenantPlugin:
				o.TenantPlugins = append(o.TenantPlugins, x)
			}
		}
	}
	if len(o.PluginGrants) > 0 { // only they select namespaces
		for _, object := range c.watches.namespaces.GetStore().List() {
			ns := object.(*v1.Namespace)
			o.Namespaces[ns.Name] = ns.Labels
		}
	}
	return o
}

// PluginConfig reads the configuration of one of the PluginObjects that has it omitted.
//
// # Errors
//
// The API server does not answer, or the object has another configuration by now.
func (c *Cluster) PluginConfig(ctx context.Context, p *v1alpha1.TenantPlugin) (*v1alpha1.Config, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	var list apiPluginList // a get would need one more right
	err := c.deps.Plugins.Get().Resource(v1alpha1.Plural(v1alpha1.KindTenantPlugin)).Namespace(p.Namespace).
		VersionedParams(&metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", p.Name).String()}, metav1.ParameterCodec).
		Do(ctx).Into(&list)
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		var spec v1alpha1.TenantPluginSpec
		if o := &list.Items[i]; o.UID == p.UID && section("spec", o.Spec, &spec) == nil && spec.Config != nil {
			omitted := *spec.Config
			if omitted.Omit(keptConfig); o.Generation == p.Generation || omitted.Omitted != nil && *omitted.Omitted == *p.Spec.Config.Omitted {
				return spec.Config, nil
			}
		}
	}
	return nil, fmt.Errorf("the object has changed since it was read; reading it again")
}
