package tenants

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
	hostiles "github.com/berth-scheduler/berth/test/internal/attack"
	"github.com/berth-scheduler/berth/test/internal/images"
)

// hostile is the namespace of the tenant that attacks. Every tenth pod that arrives is one of its.
const (
	hostile    = "hostile"
	hostileOne = 10
)

// attack is what a tenant does, with a module of the corpus of runtime/internal/hostile or with that
// of all others.
type attack struct {
	what, module string
	// changing says that its objects change all the time.
	changing bool
	// own says that the plugin is one of the measured tenant's own, on trial.
	own bool
}

func attacks() []attack {
	return []attack{
		{what: "another's plugin loops", module: "guests/fuel_loop"},
		{what: "another's plugin fails", module: "guests/trap_unreachable"},
		{what: "another's plugin floods the log", module: "guests/log_flood"},
		{what: "another's objects change 100 times a second", changing: true},
		{what: "one more plugin of its own is on trial", own: true},
	}
}

// Beside is the effect of a hostile tenant on the pods of another one: medians of the pairs.
type Beside struct {
	What          string
	Without, With times
	// Decided and Try are the ratios of With to Without.
	Decided, Try float64
	Faults       int64
}

// MeasureBeside has pods of a tenant arrive at an even pace, with and without a hostile tenant, and
// compares how long they take.
func MeasureBeside(ctx context.Context, c Config, root string) (out []Beside, err error) {
	dir, err := os.MkdirTemp("", "berth-beside-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	corpus, err := hostiles.Corpus(ctx, root, filepath.Join(dir, "corpus"))
	if err != nil {
		return nil, err
	}
	image, closeRegistry, err := images.Publish(ctx, c.Module, filepath.Join(dir, "registry"))
	if err != nil {
		return nil, err
	}
	defer closeRegistry()
	modules := assembly.NewModules(assembly.ModulesConfig{CacheDir: filepath.Join(dir, "cache"), SourceDir: filepath.Join(dir, "fetched")})
	defer func() { err = errors.Join(err, modules.Close(context.WithoutCancel(ctx))) }()
	w, err := newWorld(ctx, modules, c.Nodes)
	if err != nil {
		return nil, err
	}
	defer w.stop()
	if err := w.attach(ctx, image, 1, c.Plugins); err != nil {
		return nil, err
	}
	if _, _, err := w.leg(ctx, c, "warm-", image, nil); err != nil {
		return nil, err
	}
	for n, a := range attacks() {
		if c.Only != nil && !c.Only.MatchString(a.what) {
			continue
		}
		bad := image
		if a.module != "" {
			i := slices.IndexFunc(corpus, func(x hostiles.Attack) bool { return x.Name == a.module })
			if i < 0 {
				return nil, fmt.Errorf("the corpus has no %s", a.module)
			}
			var stop func()
			if bad, stop, err = images.Publish(ctx, corpus[i].Modules()[0], filepath.Join(dir, fmt.Sprint("registry-", n))); err != nil {
				return nil, err
			}
			defer stop()
		}
		b, err := w.beside(ctx, c, fmt.Sprint("attack-", n), bad, &a)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.what, err)
		}
		b.What = a.what
		out = append(out, b)
	}
	return out, nil
}

func never() bool { return false }

// hostilePod returns a function that makes every tenth pod's companion.
func hostilePod(prefix string) func(i int) *state.Pod {
	return func(i int) *state.Pod {
		if i%hostileOne != 0 {
			return nil
		}
		p := newPod(hostile, fmt.Sprint(prefix, "-hostile-", i/hostileOne))
		object := p.Object.DeepCopy()
		priority := int32(1) // guests of the corpus misbehave for it
		object.Spec.Priority = &priority
		return state.NewPod(object)
	}
}

// beside measures one attack.
func (w *world) beside(ctx context.Context, c Config, prefix, image string, a *attack) (out Beside, err error) {
	var all [2][]times
	for pair := range c.Repetitions {
		for i := range 2 {
			leg := fmt.Sprintf("%s-%d-%d-", prefix, pair, i)
			in := a
			if i == 0 {
				in = nil
			}
			t, faults, err := w.leg(ctx, c, leg, image, in)
			if err != nil {
				return out, err
			}
			all[i] = append(all[i], t)
			out.Faults += faults
		}
	}
	median := func(of []times, get func(*times) time.Duration) time.Duration {
		var values []time.Duration
		for i := range of {
			values = append(values, get(&of[i]))
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	for i, into := range []*times{&out.Without, &out.With} {
		into.Decided = median(all[i], func(t *times) time.Duration { return t.Decided })
		into.Try = median(all[i], func(t *times) time.Duration { return t.Try })
		into.Pause = median(all[i], func(t *times) time.Duration { return t.Pause })
		into.LongestTry = median(all[i], func(t *times) time.Duration { return t.LongestTry })
	}
	out.Decided, out.Try = float64(out.With.Decided)/float64(out.Without.Decided), float64(out.With.Try)/float64(out.Without.Try)
	return out, nil
}

// leg measures pods with or, if it is nil, without the attack. The pods of the hostile tenant arrive
// in both.
func (w *world) leg(ctx context.Context, c Config, prefix, image string, a *attack) (t times, faults int64, err error) {
	changes, end := context.WithCancel(ctx)
	defer end()
	var changed sync.WaitGroup
	if a != nil {
		if err := w.attack(ctx, image, a.own); err != nil {
			return t, 0, err
		}
		if a.changing {
			changed.Go(func() { w.change(changes) })
		}
	}
	t, err = w.steady(ctx, namespace(0), prefix, c.Pods, never, hostilePod(prefix))
	end()
	changed.Wait()
	if err != nil {
		return t, 0, err
	}
	faults = faultsOf(w.assembly.Status(), hostile)
	w.remove(prefix+"-hostile-", c.Pods/hostileOne+1)
	if a != nil {
		w.set(nil)
		err = w.settled(ctx, func(n int) bool { return n == c.Plugins })
	}
	return t, faults, err
}

// faultsOf counts the faults of a tenant's plugins, without calls that were not made after them.
func faultsOf(s assembly.Status, namespace string) (n int64) {
	for i := range s.Plugins {
		for _, work := range s.Plugins[i].Work {
			for _, f := range work.Faults {
				if f.Kind != fault.BreakerOpen && slices.Equal(s.Plugins[i].Namespaces, []string{namespace}) {
					n += f.Count
				}
			}
		}
	}
	return n
}

// attacker is the name of the object that makes the attack.
const attacker = "attacker"

// set replaces the plugins that make the attack.
func (w *world) set(plugins []*v1alpha1.TenantPlugin) {
	w.mu.Lock()
	w.objects.TenantPlugins = append(slices.DeleteFunc(slices.Clone(w.objects.TenantPlugins), func(p *v1alpha1.TenantPlugin) bool { return p.Name == attacker }), plugins...)
	w.mu.Unlock()
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// attack attaches a module for the hostile tenant, and returns when it runs.
func (w *world) attack(ctx context.Context, image string, own bool) error {
	p := tenantPlugin(image, hostile, attacker)
	if p.Spec.Config = nil; own {
		p = tenantPlugin(image, namespace(0), attacker)
		p.Spec.Mode = v1alpha1.ModeShadow
	}
	before := len(w.assembly.Status().Plugins)
	w.mu.Lock()
	grant := w.objects.PluginGrants[0].DeepCopy()
	grant.Spec.Modules, grant.Generation = append(grant.Spec.Modules[:1:1], granted(image)...), grant.Generation+1
	w.objects.PluginGrants = []*v1alpha1.PluginGrant{grant}
	w.mu.Unlock()
	w.set([]*v1alpha1.TenantPlugin{p})
	return w.settled(ctx, func(n int) bool { return n > before })
}

// settled waits until some number of plugins runs.
func (w *world) settled(ctx context.Context, holds func(n int) bool) error {
	for !holds(len(w.assembly.Status().Plugins)) {
		for name, err := range w.assembly.Refusals() {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := sleepUntil(ctx, time.Now().Add(10*time.Millisecond)); err != nil {
			return err
		}
	}
	return nil
}

// change changes the configuration of the hostile tenant's plugin 100 times a second.
func (w *world) change(ctx context.Context) {
	w.mu.Lock()
	before := w.objects.TenantPlugins[len(w.objects.TenantPlugins)-1].DeepCopy()
	w.mu.Unlock()
	for i := 0; ctx.Err() == nil; i++ {
		p := before.DeepCopy()
		p.Generation += int64(i)
		p.Spec.Config = &v1alpha1.Config{}
		p.Spec.Config.Raw = fmt.Appendf(nil, `{"tenants":{%q:{"pools":["pool-%d"]}}}`, hostile, i%4)
		w.set([]*v1alpha1.TenantPlugin{p})
		_ = sleepUntil(ctx, time.Now().Add(10*time.Millisecond)) // the loop looks at the context
	}
}
