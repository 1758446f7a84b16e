package follow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/shadow"
	"github.com/berth-scheduler/berth/runtime/tenancy"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/breaker"
)

// world is an API, a registry and a scheduler in memory.
type world struct {
	t        *testing.T
	clock    *clock.Step
	follower *Follower
	changed  chan struct{}
	known    map[types.UID]*reported // of the leader

	mu struct {
		sync.Mutex
		objects  tenancy.Objects
		attached [][]assembly.Attached
		refuse   map[string]error // by plugin, what Attach says
		broken   string           // a plugin with which nothing can be attached
		open     map[string]bool  // breakers
		log      []string         // of each plugin
		debts    map[string]string
		trials   []shadow.Report
		fetched  []string       // plugins, in order
		compiled []string       // digests that nobody had compiled yet, in order
		users    map[string]int // of what is compiled, by digest
		running  map[string]int // fetches and compiles by namespace
		most     int
		written  []string
		events   []string
		fail     error    // of writes
		known    []string // how many objects pods need not be kept for any more, after which of attached
		told     []string // the plugins that Deps.Running was told of
	}
	config  func(p *v1alpha1.TenantPlugin) (*v1alpha1.Config, error) // what objects have omitted
	fetch   func(ctx context.Context, ref module.Reference) error    // optional
	compile func(ctx context.Context, name string) error             // optional
	size    func(ref module.Reference) int                           // optional, of modules
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, clock: clock.NewStep(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), changed: make(chan struct{}, 1), known: map[types.UID]*reported{}}
	w.mu.users = map[string]int{}
	w.mu.running, w.mu.refuse, w.mu.open = map[string]int{}, map[string]error{}, map[string]bool{}
	w.follower = New(Config{Taken: []string{"NodeName"}}, Deps{
		Source: w, Scheduler: w, Modules: w, Writer: w, Meter: &Meter{}, Clock: w.clock, Running: w.tell,
	})
	t.Cleanup(func() {
		w.follower.configs.wait()
		w.follower.fetch.wait()
		w.follower.compile.wait()
	})
	return w
}

// tell is Deps.Running.
func (w *world) tell(s assembly.Status) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.told = nil
	for i := range s.Plugins {
		w.mu.told = append(w.mu.told, s.Plugins[i].Name+" "+s.Plugins[i].Digest)
	}
}

// Objects implements Source.
func (w *world) Objects() *tenancy.Objects {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.mu.objects
	o.TenantPlugins, o.PluginGrants, o.Namespaces = slices.Clone(o.TenantPlugins), slices.Clone(o.PluginGrants), maps.Clone(o.Namespaces)
	return &o
}

// Changed implements Source.
func (w *world) Changed() <-chan struct{} { return w.changed }

// PluginConfig implements Source.
func (w *world) PluginConfig(_ context.Context, p *v1alpha1.TenantPlugin) (*v1alpha1.Config, error) {
	return w.config(p)
}

// AttachedPlugins implements Source: it counts the objects that there are.
func (w *world) AttachedPlugins() func() {
	w.mu.Lock()
	defer w.mu.Unlock()
	there := len(w.mu.objects.TenantPlugins)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.mu.known = append(w.mu.known, fmt.Sprintf("%d after %d", there, len(w.mu.attached)))
	}
}

// Attach implements Scheduler.
func (w *world) Attach(_ context.Context, all []assembly.Attached) (map[string]error, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if slices.ContainsFunc(all, func(x assembly.Attached) bool { return x.Name == w.mu.broken && x.Module != nil }) {
		return nil, errNo
	}
	w.mu.attached = append(w.mu.attached, all)
	return w.mu.refuse, nil
}

// Status implements Scheduler.
func (w *world) Status() (s assembly.Status) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.mu.attached) == 0 {
		return s
	}
	for _, x := range w.mu.attached[len(w.mu.attached)-1] {
		if x.Module == nil || w.mu.refuse[x.Name] != nil {
			continue
		}
		p := wasm.Status{Name: x.Name, Digest: x.Module.Loaded.Digest, Log: w.mu.log}
		if w.mu.open[x.Name] {
			p.Breaker = breaker.Status{State: breaker.Open, Cause: "3 of 10 calls were faults"}
		}
		s.Plugins = append(s.Plugins, assembly.PluginStatus{Status: p})
	}
	return s
}

// Trials implements Scheduler.
func (w *world) Trials() []shadow.Report {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.trials
}

// HeldBack implements Scheduler.
func (w *world) HeldBack(context.Context) map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.mu.debts)
}

// begin counts what is done for a namespace at once.
func (w *world) begin(namespace string) (end func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.running[namespace]++
	w.mu.most = max(w.mu.most, w.mu.running[namespace])
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.mu.running[namespace]--
	}
}

// Fetch implements Modules.
func (w *world) Fetch(ctx context.Context, ref module.Reference) (*module.Loaded, error) {
	defer w.begin(ref.Tenant)()
	w.mu.Lock()
	w.mu.fetched = append(w.mu.fetched, ref.Name)
	w.mu.Unlock()
	if w.fetch != nil {
		if err := w.fetch(ctx, ref); err != nil {
			return nil, err
		}
	}
	var data []byte
	if w.size != nil {
		data = make([]byte, w.size(ref))
	}
	image := string(v1alpha1.Image(ref.Image).Unpinned())
	_, version, _ := strings.Cut(image[strings.LastIndexByte(image, '/'):], ":")
	return &module.Loaded{Name: ref.Name, Path: ref.Image, Digest: digestOf(version), Image: imageOf(version), Bytes: data, Manifest: &wire.Manifest{
		Name: "guest", Version: version, Points: wire.ManifestPoints{Filter: &wire.ManifestPoint{}},
	}}, nil
}

// Compile implements Modules.
func (w *world) Compile(ctx context.Context, m *assembly.Module) (func(), error) {
	if w.compile != nil {
		if err := w.compile(ctx, m.Loaded.Name); err != nil {
			return nil, err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	digest := m.Loaded.Digest
	if w.mu.users[digest]++; w.mu.users[digest] == 1 {
		w.mu.compiled = append(w.mu.compiled, short(digest))
	}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.mu.users[digest]--
	}, nil
}

// WritePluginStatus implements Writer, as an API server whose watch is quick.
func (w *world) WritePluginStatus(_ context.Context, kind string, of types.NamespacedName, uid types.UID, version string, s any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mu.fail != nil {
		return w.mu.fail
	}
	var said status
	switch s := s.(type) {
	case v1alpha1.PluginStatus:
		said.PluginStatus = s
		for i, p := range w.mu.objects.TenantPlugins {
			if p.UID == uid {
				if p.ResourceVersion != version {
					return apierrors.NewConflict(schema.GroupResource{Resource: "tenantplugins"}, of.Name, errNo)
				}
				p = p.DeepCopy()
				p.Status, p.ResourceVersion = s, p.ResourceVersion+"'"
				w.mu.objects.TenantPlugins[i] = p
			}
		}
	case v1alpha1.PluginGrantStatus:
		said = status{PluginStatus: v1alpha1.PluginStatus{Conditions: s.Conditions}, Plugins: s.Plugins}
		for i, g := range w.mu.objects.PluginGrants {
			if g.UID == uid {
				g = g.DeepCopy()
				g.Status = s
				w.mu.objects.PluginGrants[i] = g
			}
		}
	}
	c := said.condition(v1alpha1.Ready)
	text := fmt.Sprintf("%s %s: %s %s", kind, strings.TrimPrefix(of.String(), "/"), c.Status, c.Reason)
	if said.Version != "" {
		text += " " + said.Version
	}
	w.mu.written = append(w.mu.written, text)
	return nil
}

// TellOfPlugin implements Writer.
func (w *world) TellOfPlugin(_ string, of types.NamespacedName, _ types.UID, ready bool, reason, note string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.events = append(w.mu.events, fmt.Sprintf("%s %v %s: %s", of.Name, ready, reason, note))
}

// grant lets all namespaces attach n plugins each.
func (w *world) grant(n int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.objects.PluginGrants = []*v1alpha1.PluginGrant{{
		ObjectMeta: metav1.ObjectMeta{Name: "all", UID: "all", Generation: 1},
		Spec: v1alpha1.PluginGrantSpec{
			NamespaceSelector: &metav1.LabelSelector{}, MaxPlugins: n, Modules: []v1alpha1.GrantedModules{{Repositories: []v1alpha1.Repository{"registry.test/*"}}},
		},
	}}
}

// apply creates or changes a TenantPlugin.
func (w *world) apply(namespace, name, version string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := &v1alpha1.TenantPlugin{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + "/" + name), Generation: 1}}
	p.Spec.Module.Image = v1alpha1.Image("registry.test/guest:" + version)
	if w.mu.objects.Namespaces == nil {
		w.mu.objects.Namespaces = map[string]map[string]string{}
	}
	w.mu.objects.Namespaces[namespace] = nil
	all := &w.mu.objects.TenantPlugins
	at := slices.IndexFunc(*all, func(o *v1alpha1.TenantPlugin) bool { return o.UID == p.UID })
	if at < 0 {
		*all = append(*all, p)
		return
	}
	p.Generation, p.Status, p.ResourceVersion = (*all)[at].Generation+1, (*all)[at].Status, (*all)[at].ResourceVersion+"+"
	p.Spec.Mode, p.Spec.Rollout = (*all)[at].Spec.Mode, (*all)[at].Spec.Rollout
	(*all)[at] = p
}

// sync is Sync until nothing is fetched or compiled that could end by itself.
func (w *world) sync() {
	w.t.Helper()
	for range 3 {
		_ = w.follower.Sync(w.t.Context())
		w.follower.configs.wait()
		w.follower.fetch.wait()
		w.follower.compile.wait()
	}
	_ = w.follower.Sync(w.t.Context())
}

// start lets the time pass in which modules are not counted as changes.
func (w *world) start() {
	w.t.Helper()
	w.grant(64)
	w.apply("started", "p", "1")
	w.sync()
	w.clock.Advance(starting)
	w.mu.objects.TenantPlugins, w.mu.objects.PluginGrants, w.mu.fetched = nil, nil, nil
	w.sync()
}

// report lets the leader look at everything once, and returns what it wrote.
func (w *world) report() []string {
	for w.follower.report(w.t.Context(), w.known) {
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.mu.written
	w.mu.written = nil
	return out
}

// last are the plugins that the scheduler was told last.
func (w *world) last() []assembly.Attached {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.mu.attached); n > 0 {
		return w.mu.attached[n-1]
	}
	return nil
}

// now is the last plugins that the scheduler got: each with its digest, or with why it does not run.
func (w *world) now() map[string]string {
	out := map[string]string{}
	for _, x := range w.last() {
		if out[x.Name] = x.NotReady; x.Module != nil {
			out[x.Name] = "sha256:" + short(x.Module.Loaded.Digest)
		}
	}
	return out
}

// digestOf is the digest of a version, which short turns back.
// imageOf is the digest of the image of a version.
func imageOf(version string) string { return module.Digest([]byte(version)) }

func digestOf(version string) string { return "sha256:" + fmt.Sprintf("%064s", version) }

func short(digest string) string { return strings.TrimLeft(strings.TrimPrefix(digest, "sha256:"), "0") }

var errNo = errors.New("no")
