package tenancy

import (
	"errors"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/market/oci"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/tenancy/rollout"
)

// tenantPlugin judges a version of a tenant's plugin by the grants of its namespace. One of them must
// allow everything. If none does, the refusal is that of the grant that allows most.
func tenantPlugin(of *v1alpha1.TenantPlugin, v *rollout.Share, grants []*grant, c *Config) Plugin {
	p := *of
	p.Spec.Module, p.Spec.Config = v1alpha1.TenantModule{Image: v.Version.Module.Image, Digest: v.Version.Module.Digest}, v.Version.Config
	out := Plugin{
		Kind: v1alpha1.KindTenantPlugin, Namespace: p.Namespace, Object: p.Name, UID: p.UID, Generation: p.Generation,
		Name: tenantName(&p), Namespaces: []string{p.Namespace}, Holds: p.Spec.FailurePolicy != v1alpha1.Ignore,
	}
	var err error
	out.Reference, err = tenantReference(&p)
	out.takesPart(v)
	err = errors.Join(err, unlessOdd(p.Spec.Rollout, p.Spec.WhenDisabled))
	out.unlessTried()
	_, disabled := c.Stopped.of(tenantName(&p))
	disabled = disabled || p.Spec.Mode == v1alpha1.ModeDisabled
	var candidates []candidate
	if err != nil {
		out.Refusal = refuse(Invalid, "%v", err)
	} else if candidates, out.Refusal = out.candidates(grants); out.Refusal == nil {
		out.Refusal = out.full(candidates, disabled, c)
	}
	tries := out.Refusal == nil
	if tries { // only now, because anybody in the namespace can write it
		out.Refusal = out.read(&p, c)
	}
	asks := out.Refusal == nil
	out.unlessDisabled(tenantName(&p), p.Spec.Mode, p.Spec.WhenDisabled, asks, c)
	if out.Refusal == nil {
		out.load(c)
		out.unlessTried()
	}
	if out.Refusal == nil {
		out.admit(candidates, c)
	}
	switch {
	case out.Refusal == nil:
	case out.Refusal.Reason == Fetching:
		out.waits(grants, c)
	case tries:
		out.tried(disabled, c)
	}
	return out
}

// attempts are objects of a namespace. Those that are disabled count apart: they are no mistakes.
type attempts struct {
	namespace string
	disabled  bool
}

// tried counts an object of which a version was tried and does not run.
func (p *Plugin) tried(disabled bool, c *Config) {
	if c.lastTried != p.object() {
		c.tried[attempts{p.Namespace, disabled}]++
		c.lastTried = p.object()
	}
}

// candidates are the grants that name the repository of the plugin's image.
func (p *Plugin) candidates(grants []*grant) (out []candidate, refusal *Refusal) {
	if len(grants) == 0 {
		return nil, refuse(NoGrant, "no PluginGrant is for the namespace %s: ask the platform team for one", p.Namespace)
	}
	image, _ := oci.ParseReference(p.Reference.Image) // tenantReference has parsed it
	for _, g := range grants {
		for i := range g.modules {
			if item := &g.modules[i]; item.in(image.Place()) {
				out = append(out, candidate{grant: g, item: item})
				p.Reference.Signed = p.Reference.Signed || item.publisher != nil
				p.Reference.Limits.MemoryTotal = max(p.Reference.Limits.MemoryTotal, g.memory) // no more is fetched
			}
		}
	}
	if len(out) > 0 {
		p.fetchedFor = out[0].grant.name
	} else {
		return nil, refuse(RepositoryNotGranted, "spec.module.image: no grant of the namespace names the repository %s", image.Place())
	}
	return out, nil
}

// moreTried is how many plugins of a namespace are tried beyond maxPlugins while they cannot run.
const moreTried = 32

// full refuses a plugin that no candidate would admit, whatever its module is, so that nothing is
// decoded or fetched for it. Older plugins that are being fetched have their place. Beside those that a grant
// allows, some more are tried: an older one that cannot run does not keep the next one from running.
func (p *Plugin) full(candidates []candidate, disabled bool, c *Config) *Refusal {
	fetching := c.fetching[p.Namespace]
	if c.fetched == p.object() {
		fetching--
	}
	tried := c.tried[attempts{p.Namespace, disabled}]
	if c.lastTried == p.object() {
		tried--
	}
	var last *grant
	for _, at := range candidates {
		if last = at.grant; tried < last.maxPlugins+moreTried && (!p.counts() || last.others(p)+fetching < last.maxPlugins) {
			return nil
		}
	}
	if tried >= last.maxPlugins+moreTried {
		return refuse(TooManyPlugins, "%s has %d older plugins that cannot run, and no more are tried: delete or mend some of them",
			p.Namespace, tried)
	}
	return tooMany(last, p.Namespace)
}

// counts reports whether a version is one of those that make its object count. All of them together count
// as one plugin, whichever can run.
func (p *Plugin) counts() bool { return p.Role != rollout.Old }

// object names that of all versions. Objects of files have no UIDs.
func (p *Plugin) object() string { return p.Namespace + "/" + p.Object }

// waits counts a plugin whose module is being fetched, unless another version of it counts.
func (p *Plugin) waits(grants []*grant, c *Config) {
	admitted := slices.ContainsFunc(grants, func(g *grant) bool { return g.last == p.object() })
	if p.counts() && !admitted && c.fetched != p.object() {
		c.fetching[p.Namespace]++
		c.fetched = p.object()
	}
}

// others returns how many other plugins of the namespace the grant has admitted so far. The versions of an
// object are judged one after another.
func (g *grant) others(p *Plugin) int32 {
	if g.last == p.object() {
		return g.count[p.Namespace] - 1
	}
	return g.count[p.Namespace]
}

// counted counts a version that the grant admits.
func (g *grant) counted(p *Plugin, c *Config) {
	if p.counts() && g.last != p.object() {
		g.plugins++
		g.count[p.Namespace]++
		g.last = p.object()
	}
	if c.fetched == p.object() { // it counts already
		c.fetching[p.Namespace]--
		c.fetched = ""
	}
	if !p.Ready {
		g.used += g.memory
	}
}

func tooMany(g *grant, namespace string) *Refusal {
	return refuse(TooManyPlugins, "the grant %s allows %d plugins in a namespace, and %s has as many that are older", g.name, g.maxPlugins, namespace)
}

// candidate is a grant that may admit a plugin, by one item of its modules.
type candidate struct {
	grant *grant
	item  *granted
}

// admit takes the first candidate that admits the plugin.
func (p *Plugin) admit(candidates []candidate, c *Config) {
	furthest := -1
	for _, at := range candidates {
		refusal, step := at.judge(p, c)
		if refusal == nil {
			g := at.grant
			g.counted(p, c)
			p.Refusal, p.Grant, p.Reference.GrantAll = nil, g.name, false
			p.Reference.HideSeed = !slices.Contains(g.spec.Reads, v1alpha1.ReadSeed)
			p.Reference.HideGeneration = !slices.Contains(g.spec.Reads, v1alpha1.ReadGenerations)
			p.Reference.Attempts, p.Reference.MaxPriority = g.attempts, g.spec.MaxPriority
			p.Reference.Limits = module.Limits{
				// One call may not use more than a cycle, either.
				FuelPerCycle: g.fuel, FuelPerCycleRow: g.fuelRow, FuelPerCall: g.fuel, FuelPerRow: g.fuelRow, FuelRestarts: g.fuelStarts,
				// The rest is for what the host shows the plugin, and for further instances.
				MemoryTotal: g.memory, Memory: uint32(min(g.memory/2, defaultMemoryPerPlugin)),
			}
			return
		}
		if step > furthest {
			furthest, p.Refusal = step, refusal
		}
	}
}

// judge returns why the candidate does not admit the plugin, and how many steps it got; nil if
// it does.
func (c *candidate) judge(p *Plugin, config *Config) (*Refusal, int) {
	for i, step := range []func() *Refusal{
		func() *Refusal { return c.module(p, config) },
		func() *Refusal { return c.points(p) },
		func() *Refusal { return c.reads(p) },
		func() *Refusal { return c.configNames(p) },
		func() *Refusal { return c.effects(p) },
		func() *Refusal { return c.weight(p) },
		func() *Refusal { return c.quota(p, config) },
	} {
		if refusal := step(); refusal != nil {
			return refusal, i
		}
	}
	return nil, 0
}

// module holds digest and publisher against the grant.
func (c *candidate) module(p *Plugin, config *Config) *Refusal {
	if digests := c.item.spec.Digests; len(digests) > 0 &&
		!slices.Contains(digests, v1alpha1.Digest(p.Module.Digest)) && (p.Module.Image == "" || !slices.Contains(digests, v1alpha1.Digest(p.Module.Image))) {
		return refuse(ModuleNotGranted, "the grant %s does not list the module's digest %s", c.grant.name, p.Module.Digest)
	}
	if c.item.publisher == nil {
		return nil
	}
	signers, err := p.Module.Judge(c.item.publisher, config.Now)
	if err != nil {
		return refuse(ModuleNotGranted, "the grant %s admits modules of the publisher %s: %v", c.grant.name, c.item.spec.Publisher.Name, err)
	}
	p.Signers = signers
	return nil
}

func (c *candidate) points(p *Plugin) *Refusal {
	allowed := defaultPoints()
	if len(c.grant.spec.Points) > 0 {
		allowed = nil
		for _, point := range c.grant.spec.Points {
			allowed = append(allowed, string(point))
		}
	}
	for _, point := range points(p.Module.Manifest) {
		if !slices.Contains(allowed, point) {
			return refuse(PointNotGranted, "the module runs at %s; the grant %s allows %s", point, c.grant.name, strings.Join(allowed, ", "))
		}
	}
	return nil
}

func (c *candidate) reads(p *Plugin) *Refusal {
	for _, told := range tells(p.Module.Manifest) {
		if !slices.Contains(c.grant.spec.Reads, told.read) {
			return refuse(ReadNotGranted, "the module reads %s, which tells it of other tenants; the grant %s does not have %s in reads", told.by, c.grant.name, told.read)
		}
	}
	for _, feed := range feeds(p.Module.Manifest) {
		if !slices.ContainsFunc(c.grant.spec.Feeds, func(f v1alpha1.FeedPattern) bool { return f.Matches(feed) }) {
			return refuse(ReadNotGranted, "the module reads the feed %s, which tells it of other tenants; the grant %s does not have it in feeds",
				feed, c.grant.name)
		}
	}
	rights := p.Module.Manifest.Rights()
	for _, resource := range rights.Objects {
		if !slices.Contains(c.grant.spec.Objects, resource) {
			return refuse(ReadNotGranted, "the module reads objects of %s, which tell it of other tenants; the grant %s does not have it in objects",
				resource, c.grant.name)
		}
	}
	return nil
}

// configNames holds the names that the configuration brings against the grant. reads has done so with feeds.
func (c *candidate) configNames(p *Plugin) *Refusal {
	for _, b := range p.Module.Brought() {
		if b.List == "feeds" || slices.ContainsFunc(c.grant.spec.ConfigNames, func(n v1alpha1.NamePattern) bool { return n.Matches(b.Name) }) {
			continue
		}
		return refuse(ReadNotGranted, "spec.config: %s: %s, a name for reads.%s, is not among the configNames of the grant %s: "+
			"write a name that is, or ask the platform team to add it", b.Pointer, b.Name, b.List, c.grant.name)
	}
	return nil
}

// effects refuses directives: a tenant narrows and ranks nodes, and changes nothing.
func (c *candidate) effects(p *Plugin) *Refusal {
	if d := &p.Module.Manifest.Directives; !d.Empty() {
		return refuse(EffectNotGranted, "the module asks for effects, which only plugins of the platform may have: %s", d.JSON())
	}
	return nil
}

func (c *candidate) weight(p *Plugin) *Refusal {
	if w := p.Reference.Weight; w > c.grant.maxWeight {
		return refuse(WeightNotGranted, "spec.weight: %d is more than the grant %s allows, %d", w, c.grant.name, c.grant.maxWeight)
	}
	return weightOfScore(p.Reference.Weight, p.Module)
}

func (c *candidate) quota(p *Plugin, config *Config) *Refusal {
	g := c.grant
	if p.counts() && g.others(p) >= g.maxPlugins {
		return tooMany(g, p.Namespace)
	}
	if p.Ready {
		return nil
	}
	if g.total > 0 && g.memory > g.total-g.used {
		return refuse(MemoryNotGranted, "older plugins have the memory that the grant %s allows in all, %s", g.name, g.spec.MemoryTotal)
	}
	return config.room()
}
