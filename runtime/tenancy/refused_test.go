package tenancy_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/tenancy"
)

// flood are objects of a namespace with configurations of 250 KiB each, the oldest first.
func flood(n int) *tenancy.Objects {
	o := &tenancy.Objects{Namespaces: map[string]map[string]string{"a": nil}}
	for i := range n {
		p := &v1alpha1.TenantPlugin{ObjectMeta: metav1.ObjectMeta{
			Namespace: "a", Name: fmt.Sprintf("p%03d", i), Generation: 1, CreationTimestamp: metav1.Unix(int64(i), 0),
		}}
		p.Spec.Module.Image, p.Spec.Config = "registry.test/guest:1", &v1alpha1.Config{}
		p.Spec.Config.Raw = fmt.Appendf(nil, `{"n":%d,"x":"%s"}`, i, strings.Repeat("x", 250<<10))
		o.TenantPlugins = append(o.TenantPlugins, p)
	}
	return o
}

func grantOfOne(repository v1alpha1.Repository) []*v1alpha1.PluginGrant {
	return []*v1alpha1.PluginGrant{{ObjectMeta: metav1.ObjectMeta{Name: "one"}, Spec: v1alpha1.PluginGrantSpec{
		NamespaceSelector: &metav1.LabelSelector{}, Modules: []v1alpha1.GrantedModules{{Repositories: []v1alpha1.Repository{repository}}},
	}}}
}

// allocated returns the bytes that a call allocates.
func allocated(call func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// TestRefusedConfigurations: no configuration is decoded for a plugin that its names, grant or quota keep from running, nothing of it
// is kept, and that of a plugin that runs is decoded once.
func TestRefusedConfigurations(t *testing.T) {
	const objects, each = 400, 32 << 10 // bytes for an object, whatever its configuration is
	filter := &module.Loaded{Manifest: &wire.Manifest{Points: wire.ManifestPoints{Filter: &wire.ManifestPoint{}}}}
	for _, c := range []struct {
		name      string
		grants    []*v1alpha1.PluginGrant
		weight    int32
		load      func(module.Reference) (*module.Loaded, error)
		reason    string
		loaded    int // objects whose modules are asked for
		unrefused int
	}{
		{name: "weight", grants: grantOfOne("registry.test/*"), weight: -1, reason: tenancy.Invalid},
		{name: "no grant", reason: tenancy.NoGrant},
		{name: "repository", grants: grantOfOne("other.test/*"), reason: tenancy.RepositoryNotGranted},
		{
			name: "quota", grants: grantOfOne("registry.test/*"), reason: tenancy.TooManyPlugins, loaded: 1, unrefused: 1,
			load: func(module.Reference) (*module.Loaded, error) { return filter, nil },
		},
		{
			name: "fetching", grants: grantOfOne("registry.test/*"), reason: tenancy.TooManyPlugins, loaded: 1,
			load: func(module.Reference) (*module.Loaded, error) { return nil, tenancy.ErrPending },
		},
		{
			name: "failing", grants: grantOfOne("registry.test/*"), reason: tenancy.TooManyPlugins, loaded: 33,
			load: func(module.Reference) (*module.Loaded, error) { return nil, errors.New("no such image") },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := flood(objects)
			o.PluginGrants = c.grants
			for _, p := range o.TenantPlugins {
				p.Spec.Weight = c.weight
			}
			loaded, configs := 0, &tenancy.Configs{}
			resolve := func() *tenancy.Result {
				return tenancy.Resolve(o, tenancy.Config{Now: time.Unix(1_800_000_000, 0), Configs: configs, Load: func(r module.Reference, _ string) (*module.Loaded, error) {
					loaded++
					return c.load(r)
				}})
			}
			var r *tenancy.Result
			first := allocated(func() { r = resolve() })
			if most := int64(objects*each + c.loaded*(4<<20)); first > most {
				t.Errorf("%d bytes are allocated for %d objects, at most %d were expected", first, objects, most)
			}
			if again := allocated(func() { resolve() }); again > objects*each {
				t.Errorf("%d bytes are allocated for objects that were judged before", again)
			}
			if loaded != 2*c.loaded {
				t.Errorf("modules of %d objects are asked for, not of %d", loaded/2, c.loaded)
			}
			runs := 0
			for i := range r.Plugins {
				switch p := &r.Plugins[i]; {
				case p.Refusal == nil:
					runs++
				case p.Reference.Config != nil:
					t.Errorf("%s is refused, and its configuration of %d bytes is kept", p.Name, len(p.Reference.Config))
				case i >= c.loaded && p.Refusal.Reason != c.reason:
					t.Errorf("%s: %+v", p.Name, p.Refusal)
				}
			}
			if runs != c.unrefused {
				t.Errorf("%d plugins run, and not %d", runs, c.unrefused)
			}
		})
	}
}
