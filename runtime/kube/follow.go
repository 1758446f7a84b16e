package kube

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/openapi3"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/berth-scheduler/berth/abi/fieldpath"
	"github.com/berth-scheduler/berth/runtime/kube/openapi"
)

// maxFollowed is the most objects of a resource that are kept.
const maxFollowed = 100_000

// Followed are the objects of a resource of any kind, of which only a part is kept.
type Followed struct {
	clients         *Clients
	resource        fieldpath.Resource
	namespace, name string
	project         func(object map[string]any) any
	paths           []fieldpath.Path // held against the schema
	pauses          wait.Backoff     // between lists that fail

	mu      sync.Mutex
	kept    map[string]any // by namespace/name
	listed  chan struct{}  // closed with the first list
	many    bool           // there are too many objects, and none is kept
	err     error          // of the last list or watch
	checked bool           // the paths, since the last list
	wrong   error          // of the paths

	// track has what has changed remembered for changes: which objects, or all.
	track   bool
	changed map[string]bool
	all     bool
}

// Follow returns the objects of a resource, or of one namespace, or one of them alone. project says what is kept of an object, and must not
// keep the object itself. paths is where it looks for texts and numbers: they are held against the schema that the API server publishes.
// Nothing is watched before Run.
func (c *Clients) Follow(
	r fieldpath.Resource, namespace, name string, paths []fieldpath.Path, project func(object map[string]any) any,
) *Followed {
	return &Followed{
		clients: c, resource: r, namespace: namespace, name: name, paths: paths, project: project,
		kept: make(map[string]any), listed: make(chan struct{}),
		pauses: wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 1, Steps: 5, Cap: 15 * time.Second},
	}
}

// Run watches until the context ends. It lists again what it cannot watch, with growing pauses of at most 30 s, so that a resource that
// the API server gets later is watched then.
func (f *Followed) Run(ctx context.Context) {
	r := f.clients.Objects.Resource(schema.GroupVersionResource{
		Group: f.resource.Group, Version: f.resource.Version, Resource: f.resource.Plural,
	})
	options := func(o *metav1.ListOptions) {
		if f.name != "" {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, f.name).String()
		}
	}
	reflector := cache.NewReflectorWithOptions(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			options(&o)
			list, err := r.Namespace(f.namespace).List(ctx, o)
			f.ended(ctx, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			options(&o)
			stream, err := r.Namespace(f.namespace).Watch(ctx, o)
			f.ended(ctx, err)
			return stream, err
		},
	}, &unstructured.Unstructured{}, followedStore{f}, cache.ReflectorOptions{
		Name: "follow " + f.resource.String(), TypeDescription: f.resource.String(), Backoff: &f.pauses,
	})
	reflector.RunWithContext(klog.NewContext(ctx, klog.Logger{})) // Values has what it would log in each try
}

// Values returns what is kept, in no order. It waits for the first list until the context ends.
//
// # Errors
//
// The objects are not listed yet, or cannot be watched any more, or the API server does not answer, so that what was kept may be out of
// date; or the schema of the resource has none of the fields that are read.
func (f *Followed) Values(ctx context.Context) ([]any, error) {
	select {
	case <-f.listed:
	case <-ctx.Done():
	}
	f.mu.Lock()
	due := f.err == nil && !f.checked
	f.checked = f.checked || due
	f.mu.Unlock()
	if due {
		wrong := f.check()
		f.mu.Lock()
		f.wrong = wrong
		f.mu.Unlock()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.state(); err != nil {
		return nil, err
	}
	out := make([]any, 0, len(f.kept))
	for _, value := range f.kept {
		out = append(out, value)
	}
	return out, nil
}

// changes returns what is kept of the objects that have changed since it was last called, by their names, with nil for those that are gone;
// whole says that these are all that there are. Before the first list, objects is nil. It does not wait.
//
// # Errors
//
// As Values.
func (f *Followed) changes() (objects map[string]any, whole bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil && !f.isListed() {
		return nil, false, nil
	}
	if err := f.state(); err != nil {
		return nil, false, err
	}
	if !f.checked {
		f.checked = true
		f.mu.Unlock()
		wrong := f.check()
		f.mu.Lock()
		if f.wrong = wrong; wrong != nil {
			return nil, false, wrong
		}
	}
	objects = make(map[string]any)
	if whole = f.all; whole {
		maps.Copy(objects, f.kept)
	} else {
		for name := range f.changed {
			objects[name] = f.kept[name]
		}
	}
	f.changed, f.all = nil, false
	return objects, whole, nil
}

// touch remembers that an object has changed.
func (f *Followed) touch(name string) {
	if !f.track {
		return
	}
	if f.changed == nil {
		f.changed = make(map[string]bool)
	}
	f.changed[name] = true
}

func (f *Followed) isListed() bool {
	select {
	case <-f.listed:
		return true
	default:
		return false
	}
}

// state returns why what is kept does not count.
func (f *Followed) state() error {
	if f.err == nil && !f.isListed() {
		return fmt.Errorf("%s: not listed yet", f.resource)
	}
	if out := f.clients.Reach.outage(); out.kind != "" {
		return fmt.Errorf("%s: %w", f.resource, out.err)
	}
	if f.many {
		return fmt.Errorf("%s: more than %d objects: name one of them, or their namespace", f.resource, maxFollowed)
	}
	return errors.Join(f.err, f.wrong)
}

// ended remembers how a list or the beginning of a watch ended. Those that are too old are normal.
func (f *Followed) ended(ctx context.Context, err error) {
	switch {
	case ctx.Err() != nil || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || apierrors.IsInvalid(err):
		return
	case err == nil:
	case apierrors.IsNotFound(err):
		err = fmt.Errorf("the API server has no %s: install what brings it, or correct the name (%w)", f.resource, err)
	case apierrors.IsForbidden(err):
		err = fmt.Errorf("%w (the scheduler needs list and watch on %s: add it to objects of the chart, or to a ClusterRole of its user)",
			err, f.resource)
	default:
		err = fmt.Errorf("%s: %w", f.resource, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// check holds the paths against the schema. A schema that cannot be read refuses nothing.
func (f *Followed) check() (wrong error) {
	doc, err := openapi3.NewRoot(f.clients.Reviews.Discovery().OpenAPIV3()).
		GVSpec(schema.GroupVersion{Group: f.resource.Group, Version: f.resource.Version})
	if err != nil {
		return nil
	}
	object := openapi.Object(doc, f.resource)
	if object == nil {
		return nil
	}
	for _, path := range f.paths {
		at, err := openapi.Check(doc, object, path)
		if err == nil {
			if err = openapi.Scalar(at); err != nil {
				err = fmt.Errorf("%s: %w", path, err)
			}
		}
		if err != nil {
			wrong = errors.Join(wrong, fmt.Errorf("%s: %w", f.resource, err))
		}
	}
	return wrong
}

// followedStore is where a reflector puts objects. What it keeps of them are their names and what is projected.
type followedStore struct{ *Followed }

// projected is an object as the reflector's own store has it during a list.
type projected struct {
	metav1.ObjectMeta
	value any
}

// Transformer implements cache.TransformingStore: objects that are streamed are projected one by one.
func (s followedStore) Transformer() cache.TransformFunc {
	return func(object any) (any, error) { return s.of(object), nil }
}

// of projects an object, unless it is already.
func (s followedStore) of(object any) *projected {
	switch object := object.(type) {
	case *projected:
		return object
	case *unstructured.Unstructured:
		return &projected{metav1.ObjectMeta{Namespace: object.GetNamespace(), Name: object.GetName()}, s.project(object.Object)}
	}
	return &projected{}
}

func (p *projected) key() string { return p.Namespace + "/" + p.Name }

// Add implements cache.ReflectorStore.
func (s followedStore) Add(object any) error {
	p := s.of(object)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(p)
	return nil
}

// keep keeps what is projected of an object; of too many objects nothing is kept until the next list.
func (s followedStore) keep(p *projected) {
	if s.many = s.many || len(s.kept) >= maxFollowed; s.many {
		clear(s.kept)
		return
	}
	s.kept[p.key()] = p.value
	s.touch(p.key())
}

// Update implements cache.ReflectorStore.
func (s followedStore) Update(object any) error { return s.Add(object) }

// Delete implements cache.ReflectorStore.
func (s followedStore) Delete(object any) error {
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	p := s.of(object)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.kept, p.key())
	s.touch(p.key())
	return nil
}

// Replace implements cache.ReflectorStore.
func (s followedStore) Replace(objects []any, _ string) error {
	for i, object := range objects {
		objects[i] = s.of(object)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept, s.many, s.checked = make(map[string]any, len(objects)), false, false
	s.all = true
	for _, p := range objects {
		s.keep(p.(*projected))
	}
	select {
	case <-s.listed:
	default:
		close(s.listed)
	}
	return nil
}

// Resync implements cache.ReflectorStore.
func (s followedStore) Resync() error { return nil }
