package tenancy_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/tenancy"
)

// guests are modules with what matters of them, for an oracle that is written differently.
type guests struct {
	image  string
	points []string
	read   v1alpha1.Read // empty for none
	signed bool
}

func variety() []guests {
	return []guests{
		{image: "registry.test/a/filter", points: []string{"filter"}, signed: true},
		{image: "registry.test/a/score", points: []string{"filter", "score"}},
		{image: "registry.test/b/gate", points: []string{"preEnqueue"}, signed: true},
		{image: "registry.test/b/ports", points: []string{"filter"}, read: v1alpha1.ReadPorts},
		{image: "registry.test/b/scores", points: []string{"score"}},
	}
}

// drawn is a world whose modules are made once, for thousands of cases.
type drawn struct {
	world  *world
	loaded map[string]*module.Loaded
	key    v1alpha1.Key
}

func newDrawn(t *testing.T) *drawn {
	w := newWorld(t)
	d := &drawn{world: w, loaded: map[string]*module.Loaded{}}
	for _, g := range variety() {
		p := pushed{Image: g.image + ":1", Manifest: map[string]any{"points": map[string]any{}}}
		for _, point := range g.points {
			p.Manifest["points"].(map[string]any)[point] = map[string]any{}
		}
		if g.read != "" {
			p.Manifest["reads"] = map[string]any{"node": []any{string(g.read)}}
		}
		if g.signed {
			p.SignedBy = "EXAMPLE"
		}
		w.push(&p)
		l, err := w.load(module.Reference{Image: p.Image, Signed: true}, "")
		if err != nil {
			t.Fatal(err)
		}
		d.loaded[p.Image] = l
	}
	d.key = v1alpha1.Key{Name: "example", PublicKey: string(w.key("EXAMPLE").Public().PEM())}
	return d
}

func (d *drawn) resolve(o *tenancy.Objects) *tenancy.Result {
	return tenancy.Resolve(o, tenancy.Config{
		Load: func(ref module.Reference, _ string) (*module.Loaded, error) { return d.loaded[ref.Image], nil },
		Now:  time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC),
	})
}

func (d *drawn) grant(t *rapid.T, name string) *v1alpha1.PluginGrant {
	g := &v1alpha1.PluginGrant{ObjectMeta: metav1.ObjectMeta{Name: name}}
	s := &g.Spec
	for _, ns := range []v1alpha1.Namespace{"a", "b", "c"} {
		if rapid.Bool().Draw(t, "in "+string(ns)) {
			s.Namespaces = append(s.Namespaces, ns)
		}
	}
	if s.Namespaces == nil {
		s.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tenant": "yes"}}
	}
	item := v1alpha1.GrantedModules{Repositories: []v1alpha1.Repository{rapid.SampledFrom([]v1alpha1.Repository{
		"registry.test/*/*", "registry.test/a/*", "registry.test/b/gate", "registry.test/*",
	}).Draw(t, "repository")}}
	if rapid.Bool().Draw(t, "publisher") {
		item.Publisher = &v1alpha1.Publisher{Name: "Example", Keys: []v1alpha1.Key{d.key}}
	}
	s.Modules = []v1alpha1.GrantedModules{item}
	s.Points = rapid.SampledFrom([][]v1alpha1.TenantPoint{nil, {"filter"}, {"filter", "preEnqueue"}}).Draw(t, "points")
	s.Reads = rapid.SampledFrom([][]v1alpha1.Read{nil, {"ports"}, {"images"}}).Draw(t, "reads")
	s.MaxWeight = rapid.Int32Range(0, 3).Draw(t, "max weight")
	s.MaxPlugins = rapid.Int32Range(0, 3).Draw(t, "max plugins")
	if rapid.Bool().Draw(t, "memory") {
		s.MemoryPerPlugin, s.MemoryTotal = resource.NewQuantity(16<<20, resource.BinarySI), resource.NewQuantity(40<<20, resource.BinarySI)
	}
	return g
}

func (d *drawn) plugin(t *rapid.T, i int) *v1alpha1.TenantPlugin {
	g := rapid.SampledFrom(variety()).Draw(t, "module")
	p := &v1alpha1.TenantPlugin{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("p%d", i), Namespace: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "namespace"),
		CreationTimestamp: metav1.Unix(int64(i), 0),
	}}
	p.Spec.Module.Image = v1alpha1.Image(g.image + ":1")
	if slices.Contains(g.points, "score") {
		p.Spec.Weight = rapid.Int32Range(0, 4).Draw(t, "weight")
	}
	return p
}

func (d *drawn) objects(t *rapid.T) *tenancy.Objects {
	o := &tenancy.Objects{Namespaces: map[string]map[string]string{"a": {"tenant": "yes"}, "b": {}}}
	for i := range rapid.IntRange(0, 3).Draw(t, "grants") {
		o.PluginGrants = append(o.PluginGrants, d.grant(t, fmt.Sprintf("g%d", i)))
	}
	for i := range rapid.IntRange(0, 8).Draw(t, "plugins") {
		o.TenantPlugins = append(o.TenantPlugins, d.plugin(t, i))
	}
	return o
}

// allows is the oracle: why one grant does not allow a plugin, numbers aside.
func allows(g *v1alpha1.PluginGrant, p *v1alpha1.TenantPlugin, labels map[string]string) string {
	image := strings.TrimSuffix(string(p.Spec.Module.Image), ":1")
	all := variety()
	m := all[slices.IndexFunc(all, func(m guests) bool { return m.image == image })]
	item := &g.Spec.Modules[0]
	repository, _ := path.Match(string(item.Repositories[0]), image)
	points := g.Spec.Points
	if points == nil {
		points = []v1alpha1.TenantPoint{"preFilter", "filter", "preScore", "score"}
	}
	switch {
	case !slices.Contains(g.Spec.Namespaces, v1alpha1.Namespace(p.Namespace)) && (g.Spec.NamespaceSelector == nil || labels["tenant"] != "yes"):
		return "namespace"
	case !repository:
		return "repository"
	case item.Publisher != nil && !m.signed:
		return "publisher"
	case m.read != "" && !slices.Contains(g.Spec.Reads, m.read):
		return "read"
	case p.Spec.Weight > max(1, g.Spec.MaxWeight):
		return "weight"
	}
	for _, point := range m.points {
		if !slices.Contains(points, v1alpha1.TenantPoint(point)) {
			return "point"
		}
	}
	return ""
}

// TestNothingWithoutAGrant: a tenant's plugin runs only for its own namespace, only if one grant
// allows all of it, and only within the numbers of that grant. One that is refused has no grant
// that allows it, unless the numbers are used up.
func TestNothingWithoutAGrant(t *testing.T) {
	d := newDrawn(t)
	seeded.Check(t, func(t *rapid.T) {
		o := d.objects(t)
		r := d.resolve(o)
		count := map[string]int32{}
		memory := map[string]int64{}
		for i := range r.Plugins {
			p := &r.Plugins[i]
			object := o.TenantPlugins[slices.IndexFunc(o.TenantPlugins, func(x *v1alpha1.TenantPlugin) bool { return x.Name == p.Object })]
			if p.Refusal != nil {
				for _, g := range o.PluginGrants {
					if allows(g, object, o.Namespaces[object.Namespace]) == "" && p.Refusal.Reason != tenancy.TooManyPlugins && p.Refusal.Reason != tenancy.MemoryNotGranted {
						t.Fatalf("%s is refused, although %s allows it: %+v", p.Name, g.Name, p.Refusal)
					}
				}
				continue
			}
			g := o.PluginGrants[slices.IndexFunc(o.PluginGrants, func(x *v1alpha1.PluginGrant) bool { return x.Name == p.Grant })]
			if why := allows(g, object, o.Namespaces[object.Namespace]); why != "" {
				t.Fatalf("%s runs by %s, which does not allow it: %s", p.Name, g.Name, why)
			}
			if !slices.Equal(p.Namespaces, []string{object.Namespace}) || !slices.Equal(p.Reference.Namespaces, p.Namespaces) || p.Name != object.Namespace+"/"+object.Name {
				t.Fatalf("%s runs as %s for %v", object.Name, p.Name, p.Reference.Namespaces)
			}
			if !p.Reference.HideSeed || !p.Reference.HideGeneration || p.Reference.GrantAll || !p.Reference.Grants.Empty() {
				t.Fatalf("%s is told or may do more than %s allows: %+v", p.Name, g.Name, p.Reference)
			}
			count[g.Name+" "+object.Namespace]++
			memory[g.Name] += p.Reference.Limits.MemoryTotal
			if count[g.Name+" "+object.Namespace] > max(1, g.Spec.MaxPlugins) || g.Spec.MemoryTotal != nil && memory[g.Name] > g.Spec.MemoryTotal.Value() {
				t.Fatalf("%s is more than %s allows", p.Name, g.Name)
			}
		}
	})
}

// TestObjectsStandAlone: a younger plugin, whatever is wrong with it, changes nothing for older
// ones, and neither does the order in which objects are listed.
func TestObjectsStandAlone(t *testing.T) {
	d := newDrawn(t)
	seeded.Check(t, func(t *rapid.T) {
		o := d.objects(t)
		before := d.resolve(o)
		more := *o
		added := d.plugin(t, len(o.TenantPlugins))
		switch rapid.SampledFrom([]string{"", "image", "weight", "config"}).Draw(t, "broken") {
		case "image":
			added.Spec.Module.Image = "oci:/etc/passwd"
		case "weight":
			added.Spec.Weight = -1
		case "config":
			added.Spec.Config = &v1alpha1.Config{}
			added.Spec.Config.Raw = []byte("[")
		}
		more.TenantPlugins = append(slices.Clone(o.TenantPlugins), added)
		after := d.resolve(&more)
		after.Plugins = slices.DeleteFunc(after.Plugins, func(p tenancy.Plugin) bool { return p.Object == added.Name })
		for i := range after.Grants {
			after.Grants[i].Plugins = before.Grants[i].Plugins
		}
		if got, want := show(after), show(before); got != want {
			t.Fatalf("with another plugin:\n%s\nwithout:\n%s", got, want)
		}
		shuffled := *o
		shuffled.TenantPlugins = rapid.Permutation(o.TenantPlugins).Draw(t, "plugins")
		shuffled.PluginGrants = rapid.Permutation(o.PluginGrants).Draw(t, "grants")
		if got, want := show(d.resolve(&shuffled)), show(before); got != want {
			t.Fatalf("in another order:\n%s\nwant:\n%s", got, want)
		}
	})
}

// TestExpiredKey: a key that has expired admits no plugin.
func TestExpiredKey(t *testing.T) {
	d := newDrawn(t)
	expired := metav1.Date(2026, 10, 31, 0, 0, 0, 0, time.UTC)
	d.key.NotAfter = &expired
	l := d.loaded["registry.test/a/filter:1"]
	o := &tenancy.Objects{
		PluginGrants: []*v1alpha1.PluginGrant{{Spec: v1alpha1.PluginGrantSpec{Namespaces: []v1alpha1.Namespace{"a"}, Modules: []v1alpha1.GrantedModules{{
			Repositories: []v1alpha1.Repository{"registry.test/a/*"}, Publisher: &v1alpha1.Publisher{Name: l.Manifest.Publisher, Keys: []v1alpha1.Key{d.key}},
		}}}}},
		TenantPlugins: []*v1alpha1.TenantPlugin{{
			ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "a"}, Spec: v1alpha1.TenantPluginSpec{Module: v1alpha1.TenantModule{Image: "registry.test/a/filter:1"}},
		}},
	}
	p := d.resolve(o).Plugins[0]
	if p.Refusal == nil || p.Refusal.Reason != tenancy.ModuleNotGranted || !strings.Contains(p.Refusal.Message, "expired") {
		t.Errorf("%+v", p.Refusal)
	}
}

// TestUnknownNamespace: a namespace whose labels are not known yet may have the one that a grant excludes.
func TestUnknownNamespace(t *testing.T) {
	o := &tenancy.Objects{
		PluginGrants: []*v1alpha1.PluginGrant{{Spec: v1alpha1.PluginGrantSpec{
			NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "restricted", Operator: metav1.LabelSelectorOpDoesNotExist}}},
			Modules:           []v1alpha1.GrantedModules{{Repositories: []v1alpha1.Repository{"registry.test/*/*"}}},
		}}},
		TenantPlugins: []*v1alpha1.TenantPlugin{{
			ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "a"}, Spec: v1alpha1.TenantPluginSpec{Module: v1alpha1.TenantModule{Image: "registry.test/a/filter:1"}},
		}},
	}
	for want, namespaces := range map[string]map[string]map[string]string{
		tenancy.NoGrant: {"b": nil}, tenancy.Fetching: {"a": nil}, tenancy.NoGrant + " ": {"a": {"restricted": "yes"}},
	} {
		o.Namespaces = namespaces
		r := tenancy.Resolve(o, tenancy.Config{Load: func(module.Reference, string) (*module.Loaded, error) { return nil, tenancy.ErrPending }})
		if got := r.Plugins[0].Refusal.Reason; got != strings.TrimSpace(want) {
			t.Errorf("with the namespaces %v it is %s", namespaces, got)
		}
	}
}

// BenchmarkResolve resolves 10,000 TenantPlugins of 1,000 namespaces.
func BenchmarkResolve(b *testing.B) {
	l := &module.Loaded{}
	o := &tenancy.Objects{PluginGrants: []*v1alpha1.PluginGrant{{Spec: v1alpha1.PluginGrantSpec{
		NamespaceSelector: &metav1.LabelSelector{}, MaxPlugins: 5, Modules: []v1alpha1.GrantedModules{{Repositories: []v1alpha1.Repository{"registry.test/*/*"}}},
	}}}, Namespaces: map[string]map[string]string{}}
	for i := range 10_000 {
		p := &v1alpha1.TenantPlugin{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p%d", i), Namespace: fmt.Sprintf("ns%d", i%1000)}}
		p.Spec.Module.Image = "registry.test/a/filter:1"
		o.TenantPlugins, o.Namespaces[p.Namespace] = append(o.TenantPlugins, p), nil
	}
	for b.Loop() {
		tenancy.Resolve(o, tenancy.Config{Load: func(module.Reference, string) (*module.Loaded, error) { return l, tenancy.ErrPending }})
	}
}
