package kube

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/fieldpath"
	abiwire "github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/objectview"
	"github.com/berth-scheduler/berth/runtime/state"
)

// objectsEvery is how often what has changed of objects goes to the scheduler, so that many changes are one event.
const objectsEvery = 200 * time.Millisecond

// How much is kept of the objects of one resource for one view, and of all objects for all views.
const (
	maxObjectBytes    = 256 << 20
	maxAllObjectBytes = 512 << 20
)

// ObjectViews keeps a scheduler informed of what plugins read of objects. Each resource is listed and watched once for all of them.
type ObjectViews struct {
	clients *Clients
	set     chan struct{}

	mu     sync.Mutex
	wanted []abiwire.ObjectView
	err    error
}

// NewObjectViews returns one that follows nothing yet.
func NewObjectViews(c *Clients) *ObjectViews {
	return &ObjectViews{clients: c, set: make(chan struct{}, 1)}
}

// Set says what plugins read now. It does not block.
func (o *ObjectViews) Set(views []abiwire.ObjectView) {
	o.mu.Lock()
	o.wanted = views
	o.mu.Unlock()
	select {
	case o.set <- struct{}{}:
	default:
	}
}

// Failing says which objects cannot be followed, and what of objects was left out; nil if nothing.
func (o *ObjectViews) Failing() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// Run follows the objects until the context ends. It calls changed with what has changed, and afterwards looked.
func (o *ObjectViews) Run(ctx context.Context, changed func([]state.Feed), looked func()) {
	resources := make(map[string]*followedResource)
	defer func() {
		for _, r := range resources {
			r.stop()
		}
	}()
	ticks := time.NewTicker(objectsEvery) //nolint:forbidigo // what it brings enters the loop as events
	defer ticks.Stop()
	for {
		var news []state.Feed
		select {
		case <-ctx.Done():
			return
		case <-o.set:
			news = o.follow(ctx, resources)
		case <-ticks.C:
		}
		var errs []error
		for _, name := range slices.Sorted(maps.Keys(resources)) {
			more, err := resources[name].look()
			news, errs = append(news, more...), append(errs, err)
		}
		if len(news) > 0 {
			changed(news)
		}
		o.mu.Lock()
		o.err = errors.Join(errs...)
		o.mu.Unlock()
		looked()
	}
}

// follow follows the resources of the views that are wanted. A resource whose views have changed is listed again. It returns that what
// nobody reads any more is gone.
func (o *ObjectViews) follow(ctx context.Context, resources map[string]*followedResource) (gone []state.Feed) {
	o.mu.Lock()
	wanted := make(map[string][]abiwire.ObjectView)
	for _, v := range o.wanted {
		wanted[v.Resource] = append(wanted[v.Resource], v)
	}
	o.mu.Unlock()
	for resource, r := range resources {
		if views := wanted[resource]; !sameViews(r.views, views) {
			r.stop()
			delete(resources, resource)
			for key, table := range r.tables {
				if !slices.ContainsFunc(views, func(v abiwire.ObjectView) bool { return v.Key() == key }) {
					gone = append(gone, forget(table))
				}
			}
			if len(views) > 0 {
				resources[resource] = newFollowedResource(ctx, o.clients, views, r, bytesOf(resources))
			}
		}
	}
	for resource, views := range wanted {
		if resources[resource] == nil {
			resources[resource] = newFollowedResource(ctx, o.clients, views, nil, bytesOf(resources))
		}
	}
	return gone
}

// bytesOf returns what says how much is kept of all resources.
func bytesOf(resources map[string]*followedResource) func() int64 {
	return func() (sum int64) {
		for _, r := range resources {
			for _, table := range r.tables {
				sum += table.Bytes()
			}
		}
		return sum
	}
}

func sameViews(a, b []abiwire.ObjectView) bool {
	return slices.EqualFunc(a, b, func(x, y abiwire.ObjectView) bool { return x.Key() == y.Key() })
}

// forget empties a table, and says so.
func forget(t *objectview.Table) state.Feed {
	changed := map[string]state.Cell{objectview.Known: {}}
	t.Clear(changed)
	return t.Feed(changed)
}

// followedResource is a resource and what views have of its objects.
type followedResource struct {
	views    []abiwire.ObjectView
	followed *Followed
	end      func()
	tables   map[string]*objectview.Table // by the key of the view
	known    map[string]bool              // likewise: the scheduler knows that the objects are known
	full     map[string]bool
	all      func() int64 // bytes that are kept of all resources
	most     [2]int64     // maxObjectBytes and maxAllObjectBytes
}

// newFollowedResource begins to follow a resource. What was known for views that stay is kept until the first list.
func newFollowedResource(
	ctx context.Context, c *Clients, views []abiwire.ObjectView, before *followedResource, all func() int64,
) *followedResource {
	r := &followedResource{
		views: views, tables: make(map[string]*objectview.Table), known: make(map[string]bool), full: make(map[string]bool), all: all,
		most: [2]int64{maxObjectBytes, maxAllObjectBytes},
	}
	var readers []*objectview.View
	var paths []fieldpath.Path
	for i := range views {
		reader := objectview.New(&views[i])
		readers, paths = append(readers, reader), append(paths, reader.Paths()...)
		key := views[i].Key()
		r.tables[key] = objectview.NewTable(&views[i])
		if before != nil && before.tables[key] != nil {
			r.tables[key], r.known[key] = before.tables[key], before.known[key]
		}
	}
	resource, _ := fieldpath.ParseResource(views[0].Resource) // validated before
	r.followed = c.Follow(resource, "", "", paths, func(object map[string]any) any {
		out := make([]*objectview.Object, len(readers))
		for i, reader := range readers {
			out[i] = reader.Read(object)
		}
		return out
	})
	r.followed.track = true
	ctx, r.end = context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.followed.Run(ctx)
	}()
	end := r.end
	r.end = func() { end(); <-done }
	return r
}

func (r *followedResource) stop() { r.end() }

// look returns what has changed since the last look, and what is wrong.
func (r *followedResource) look() (out []state.Feed, err error) {
	objects, whole, err := r.followed.changes()
	if err != nil {
		if apierrors.IsNotFound(err) { // the kind is gone, and its objects with it
			for key, table := range r.tables {
				if r.known[key] {
					out, r.known[key] = append(out, forget(table)), false
				}
			}
		}
		return out, err
	}
	if objects == nil {
		return nil, nil
	}
	var wrong []error
	for i := range r.views {
		key := r.views[i].Key()
		changed := r.apply(i, objects, whole)
		if !r.known[key] && !r.full[key] {
			r.known[key] = true
			changed[objectview.Known] = state.Cell{State: abi.FeedFresh}
		}
		if len(changed) > 0 {
			out = append(out, r.tables[key].Feed(changed))
		}
		wrong = append(wrong, r.tables[key].Left(r.views[i].Resource)...)
		if r.full[key] {
			wrong = append(wrong, fmt.Errorf("%s: what a plugin reads of its objects is more than %d MiB, or what all plugins read more than %d: "+
				"read less", r.views[i].Resource, maxObjectBytes>>20, maxAllObjectBytes>>20))
		}
	}
	return out, errors.Join(wrong...)
}

// apply changes the table of a view, and returns which cells have changed.
func (r *followedResource) apply(view int, objects map[string]any, whole bool) map[string]state.Cell {
	key := r.views[view].Key()
	table, changed := r.tables[key], make(map[string]state.Cell)
	if whole {
		r.full[key] = false
		for _, name := range table.Names() {
			if objects[name] == nil {
				table.Delete(name, changed)
			}
		}
	}
	if r.full[key] {
		return changed
	}
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		if all, ok := objects[name].([]*objectview.Object); ok {
			table.Set(all[view], changed)
		} else {
			table.Delete(name, changed)
		}
	}
	if table.Bytes() > r.most[0] || r.all() > r.most[1] {
		table.Clear(changed)
		r.full[key], r.known[key] = true, false
		changed[objectview.Known] = state.Cell{}
	}
	return changed
}
