package tenancy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/berth-scheduler/berth/abi/fieldpath"
	"github.com/berth-scheduler/berth/internal/nearest"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/market/policy"
	"github.com/berth-scheduler/berth/runtime/module"
)

// The grant's limits where an object that no API server has seen leaves them out.
const (
	defaultMaxWeight       = 1
	defaultMaxPlugins      = 1
	defaultMemoryPerPlugin = 64 << 20
	leastMemory            = 1 << 20
	maxAttempts            = 60_000 // a minute
	maxFuelPerNode         = 1 << 30
	maxFuelPerPod          = 1 << 50 // with that of any number of nodes it fits into 64 bits
	mostMemory             = 1 << 40
)

// grant is a PluginGrant that is in force, and what it has admitted so far.
type grant struct {
	name       string
	spec       *v1alpha1.PluginGrantSpec
	namespaces labels.Selector
	modules    []granted

	maxWeight  int32
	maxPlugins int32
	fuel       int64 // for a pod
	fuelRow    int64 // and for each node
	memory     int64 // of a plugin
	attempts   module.Attempts
	fuelStarts int64 // 0 is the default of the scheduler
	total      int64 // of all plugins; 0 is unlimited

	plugins int
	used    int64
	count   map[string]int32 // by namespace
	last    string           // the object that was counted last
}

// granted is one item of a grant's modules.
type granted struct {
	spec *v1alpha1.GrantedModules
	// publisher is nil if anyone may have published the module.
	publisher *policy.Policy
}

// in reports whether the item names a repository.
func (g *granted) in(repository string) bool {
	return slices.ContainsFunc(g.spec.Repositories, func(pattern v1alpha1.Repository) bool {
		return pattern.Matches(repository)
	})
}

// grants are all that are in force, by name.
type grants struct {
	all        []grant // one for each PluginGrant; those that are not in force have no spec
	namespaces map[string]map[string]string
}

// readGrants adds to r what became of the grants.
func readGrants(o *Objects, r *Result) *grants {
	out := &grants{namespaces: o.Namespaces}
	sorted := slices.SortedFunc(slices.Values(o.PluginGrants), func(a, b *v1alpha1.PluginGrant) int { return cmp.Compare(a.Name, b.Name) })
	for _, p := range sorted {
		g, err := readGrant(p)
		if o.BadSpec[p.UID] != nil {
			err = o.BadSpec[p.UID]
		}
		state := Grant{Object: p.Name, UID: p.UID, Generation: p.Generation}
		if err != nil {
			g, state.Refusal = grant{}, refuse(Invalid, "%v", oneLine(err))
		}
		out.all, r.Grants = append(out.all, g), append(r.Grants, state)
	}
	return out
}

func readGrant(p *v1alpha1.PluginGrant) (grant, error) {
	s := &p.Spec
	g := grant{
		name: p.Name, spec: s, maxWeight: cmp.Or(s.MaxWeight, defaultMaxWeight), maxPlugins: cmp.Or(s.MaxPlugins, defaultMaxPlugins),
		fuel: cmp.Or(s.FuelPerPod, module.GrantedFuelPerPod), fuelRow: cmp.Or(s.FuelPerNode, module.GrantedFuelPerNode),
		memory:     defaultMemoryPerPlugin,
		fuelStarts: s.FuelForStarts,
		count:      map[string]int32{},
	}
	if s.Namespaces == nil && s.NamespaceSelector == nil {
		return g, fmt.Errorf("spec: name namespaces, or select them by labels with namespaceSelector; {} selects all")
	}
	g.attempts = module.Attempts{
		Pending: int(s.PendingPerMinute), Wakeups: int(s.WakeupsPerMinute), Activations: int(s.ActivationsPerMinute),
		All: int(s.AttemptsPerMinute),
	}
	var err error
	if g.namespaces, err = metav1.LabelSelectorAsSelector(s.NamespaceSelector); err != nil {
		return g, fmt.Errorf("spec.namespaceSelector: %w", err)
	}
	if s.MemoryPerPlugin != nil {
		g.memory = s.MemoryPerPlugin.Value()
	}
	if s.MemoryTotal != nil {
		g.total = s.MemoryTotal.Value()
	}
	switch {
	case g.maxWeight < 1 || g.maxWeight > maxWeight:
		return g, fmt.Errorf("spec.maxWeight: %d is not from 1 to %d", g.maxWeight, maxWeight)
	case g.maxPlugins < 1:
		return g, fmt.Errorf("spec.maxPlugins: %d is not from 1", g.maxPlugins)
	case g.fuel < 1 || g.fuel > maxFuelPerPod:
		return g, fmt.Errorf("spec.fuelPerPod: %d is not from 1 to %d", g.fuel, maxFuelPerPod)
	case g.fuelRow < 1 || g.fuelRow > maxFuelPerNode:
		return g, fmt.Errorf("spec.fuelPerNode: %d is not from 1 to %d", g.fuelRow, maxFuelPerNode)
	case g.fuelStarts < 0 || g.fuelStarts > maxFuelPerPod:
		return g, fmt.Errorf("spec.fuelForStarts: %d is not from 1 to %d", g.fuelStarts, maxFuelPerPod)
	case g.memory < leastMemory || g.memory > mostMemory:
		return g, fmt.Errorf("spec.memoryPerPlugin: %s is not from 1Mi to 1Ti", s.MemoryPerPlugin)
	case s.MemoryTotal != nil && g.total < g.memory:
		return g, fmt.Errorf("spec.memoryTotal: %s is less than memoryPerPlugin", s.MemoryTotal)
	case len(s.Modules) == 0:
		return g, fmt.Errorf("spec.modules: it is empty, so nothing may be attached: add repositories")
	}
	for _, of := range []struct {
		name string
		n    int
	}{
		{"pending", g.attempts.Pending}, {"wakeups", g.attempts.Wakeups}, {"activations", g.attempts.Activations}, {"attempts", g.attempts.All},
	} {
		if of.n < 0 || of.n > maxAttempts {
			return g, fmt.Errorf("spec.%sPerMinute: %d is not from 1 to %d", of.name, of.n, maxAttempts)
		}
	}
	for i, point := range s.Points {
		if !slices.Contains(tenantPoints(), string(point)) {
			return g, fmt.Errorf("spec.points[%d]: %q is not an extension point for tenants; %s", i, point, nearest.DidYouMean(string(point), tenantPoints()))
		}
	}
	for i, read := range s.Reads {
		if !slices.Contains(allReads(), read) {
			return g, fmt.Errorf("spec.reads[%d]: %q is not something that can be granted; known are %s", i, read, strings.Trim(fmt.Sprint(allReads()), "[]"))
		}
	}
	for i, feed := range s.Feeds {
		if err := feed.Check(); err != nil {
			return g, fmt.Errorf("spec.feeds[%d]: %w", i, err)
		}
	}
	for i, resource := range s.Objects {
		if _, err := fieldpath.ParseResource(resource + "/v1"); err != nil || strings.Contains(resource, "/") {
			return g, fmt.Errorf("spec.objects[%d]: %q is not a resource whose objects may be read: write plural.group, such as "+
				"noderesourcetopologies.topology.node.k8s.io", i, resource)
		}
	}
	for i, name := range s.ConfigNames {
		if err := name.Check(); err != nil {
			return g, fmt.Errorf("spec.configNames[%d]: %w", i, err)
		}
	}
	for i := range s.Modules {
		item, err := readItem(&s.Modules[i])
		if err != nil {
			return g, fmt.Errorf("spec.modules[%d].%w", i, err)
		}
		g.modules = append(g.modules, item)
	}
	return g, nil
}

func readItem(m *v1alpha1.GrantedModules) (granted, error) {
	out := granted{spec: m}
	if len(m.Repositories) == 0 {
		return out, fmt.Errorf("repositories: it is empty: add REGISTRY/REPOSITORY")
	}
	for i, pattern := range m.Repositories {
		if err := pattern.Check(); err != nil {
			return out, fmt.Errorf("repositories[%d]: %w", i, err)
		}
	}
	if m.Publisher == nil {
		return out, nil
	}
	if m.Publisher.Name == "" || len(m.Publisher.Keys) == 0 {
		return out, fmt.Errorf("publisher: it needs a name and a key")
	}
	var err error
	if out.publisher, err = trusted(m.Publisher.Keys, 1, m.Publisher.Name); err != nil {
		return out, fmt.Errorf("publisher: %w", err)
	}
	return out, nil
}

// of returns the grants for a namespace, by name.
func (g *grants) of(namespace string) (out []*grant) {
	for i := range g.all {
		one := &g.all[i]
		if one.spec == nil {
			continue
		}
		labelled, known := g.namespaces[namespace]
		if slices.Contains(one.spec.Namespaces, v1alpha1.Namespace(namespace)) || known && one.namespaces.Matches(labels.Set(labelled)) {
			out = append(out, one)
		}
	}
	return out
}
