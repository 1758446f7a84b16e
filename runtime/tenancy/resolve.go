package tenancy

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/tenancy/rollout"
)

// Objects are those that say which plugins run. Of their status, Resolve reads rollout.
type Objects struct {
	SchedulerPlugins []*v1alpha1.SchedulerPlugin
	PluginGrants     []*v1alpha1.PluginGrant
	TenantPlugins    []*v1alpha1.TenantPlugin
	// BadSpec and BadStatus say by UID why the spec or the status of an object cannot be read. Such an
	// object is refused, and its status stays as it is.
	BadSpec, BadStatus map[types.UID]error
	// Namespaces has the labels of namespaces by name. No labels select one that is absent: it may have
	// a label that a selector excludes.
	Namespaces map[string]map[string]string
}

// Config is what Resolve needs beside objects.
type Config struct {
	// Load returns the module of a reference, or ErrPending while it is being fetched. It is
	// called only for images in repositories that a grant names, with the grant, and for those of the platform.
	Load func(ref module.Reference, grant string) (*module.Loaded, error)
	// Read returns the configuration of a TenantPlugin whose object has it omitted, or ErrPending while it is being read. It is
	// called only for plugins that names, grant and quota allow, with the grant. It may be nil if no object has it omitted.
	Read func(p *v1alpha1.TenantPlugin, plugin, grant string) (*v1alpha1.Config, error)
	// Now is the time at which keys are judged.
	Now time.Time
	// Taken are names of plugins that profiles have already.
	Taken []string
	// Stopped are plugins that do not run, whatever their objects say.
	Stopped Stopped
	// Most is how many plugins can run; 0 means any number. Those of the platform count first,
	// then the oldest ones.
	Most int
	// Configs (optional) remembers configurations between calls.
	Configs *Configs

	running int // so far
	// tried are the objects so far of which a module was asked for and does not run; lastTried is the last one.
	tried     map[attempts]int32
	lastTried string
	// fetching are the plugins so far whose modules are being fetched, by namespace; fetched is the last one.
	fetching map[string]int32
	fetched  string
}

// ErrPending means that a module or a configuration is still being fetched.
var ErrPending = errors.New("still being fetched")

// Refusal says why an object is not in force.
type Refusal struct {
	Reason, Message string
	// Passes is true if it may pass by itself: the server of the module does not answer.
	Passes bool
}

// The reasons, which do not change between versions.
const (
	// Invalid: the object contradicts itself, or the API server did not check it.
	Invalid = "Invalid"
	// Disabled: the object or the scheduler's settings say so.
	Disabled = "Disabled"
	// NameTaken: a plugin of the scheduler's configuration has the name.
	NameTaken = "NameTaken"
	// Fetching: the module or its configuration is being fetched.
	Fetching = "Fetching"
	// ModuleRefused: the module cannot be fetched or verified, or its configuration is wrong.
	ModuleRefused = "ModuleRefused"
	// NoGrant: no grant is for the namespace.
	NoGrant = "NoGrant"
	// RepositoryNotGranted: the image is in no repository that a grant of the namespace names.
	RepositoryNotGranted = "RepositoryNotGranted"
	// ModuleNotGranted: publisher, signature or digest are not as granted.
	ModuleNotGranted = "ModuleNotGranted"
	// PointNotGranted: the module runs at a point that is not granted.
	PointNotGranted = "PointNotGranted"
	// ReadNotGranted: the module reads what tells it of other tenants, or a name of the configuration that is not granted.
	ReadNotGranted = "ReadNotGranted"
	// EffectNotGranted: the module asks for effects, which no grant allows.
	EffectNotGranted = "EffectNotGranted"
	// WeightNotGranted: the weight is higher than granted.
	WeightNotGranted = "WeightNotGranted"
	// TooManyPlugins: the namespace has as many older plugins as granted, or the scheduler as
	// many as it can run.
	TooManyPlugins = "TooManyPlugins"
	// MemoryNotGranted: older plugins have the memory that is granted in all.
	MemoryNotGranted = "MemoryNotGranted"
)

// The reasons of objects that are in force.
const (
	// Running: the plugin runs.
	Running = "Running"
	// InShadow: the plugin is tried, and decides nothing.
	InShadow = "InShadow"
	// InForce: the grant admits plugins.
	InForce = "InForce"
)

// Plugin is what became of a SchedulerPlugin or a TenantPlugin.
type Plugin struct {
	// Kind, Namespace and Object name the object; Generation is the one that was judged.
	Kind, Namespace, Object string
	UID                     types.UID
	Generation              int64
	// Name is the plugin's in profiles: the object's name, or NAMESPACE/NAME of a tenant's.
	Name string
	// Namespaces are those whose pods the plugin applies to, sorted; empty means all.
	Namespaces []string
	// Holds is true if pods that the plugin applies to must not be placed without it.
	Holds bool
	// Refusal is nil if the plugin may be loaded.
	Refusal *Refusal
	// Role tells the versions of one object apart; it is empty for the stable or only one. Share is
	// the part of the pods that the version decides for. One that is Ready is compiled, and decides
	// nothing.
	Role  rollout.Role
	Share state.Share
	Ready bool
	// Reference and Module are what is to be loaded; Module is nil if it could not be fetched.
	Reference module.Reference
	Module    *module.Loaded
	// Grant admits a TenantPlugin.
	Grant      string
	fetchedFor string // a grant that names the repository
	// Signers are the names of the keys that signed the module, as far as somebody asked.
	Signers []string
}

// Grant is what became of a PluginGrant.
type Grant struct {
	Object     string
	UID        types.UID
	Generation int64
	// Refusal is nil if the grant is in force.
	Refusal *Refusal
	// Plugins is how many TenantPlugins it admits.
	Plugins int
}

// Result is what became of each object.
type Result struct {
	// Plugins are in the order in which they run at a point.
	Plugins []Plugin
	Grants  []Grant // by name
}

// Resolve judges each object alone: one that cannot be used keeps no other from being used,
// except that older plugins of a grant count first towards its limits.
func Resolve(o *Objects, c Config) *Result {
	r := &Result{}
	c.fetching, c.tried = make(map[string]int32), make(map[attempts]int32)
	if c.Configs == nil {
		c.Configs = &Configs{}
	}
	defer c.Configs.forget()
	platform := slices.SortedFunc(slices.Values(o.SchedulerPlugins), func(a, b *v1alpha1.SchedulerPlugin) int {
		return cmp.Or(cmp.Compare(a.Spec.Order, b.Spec.Order), cmp.Compare(a.Name, b.Name))
	})
	for _, p := range platform {
		if err := o.unreadable(p.UID); err != nil {
			x := unreadable{kind: v1alpha1.KindSchedulerPlugin, object: p, name: p.Name, namespaces: p.Spec.Namespaces, policy: p.Spec.FailurePolicy, mode: p.Spec.Mode, when: p.Spec.WhenDisabled}
			r.Plugins = append(r.Plugins, x.plugin(err, &c))
			continue
		}
		for _, v := range versions(p.Status.Rollout, PlanOf(p), string(p.UID), &c) {
			r.add(schedulerPlugin(p, &v, &c))
		}
	}
	grants := readGrants(o, r)
	tenants := slices.SortedFunc(slices.Values(o.TenantPlugins), func(a, b *v1alpha1.TenantPlugin) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	first := len(r.Plugins)
	for _, p := range tenants {
		if err := o.unreadable(p.UID); err != nil {
			x := unreadable{kind: v1alpha1.KindTenantPlugin, object: p, name: tenantName(p), namespaces: []v1alpha1.Namespace{v1alpha1.Namespace(p.Namespace)}, policy: p.Spec.FailurePolicy, mode: p.Spec.Mode, when: p.Spec.WhenDisabled}
			r.Plugins = append(r.Plugins, x.plugin(err, &c))
			continue
		}
		for _, v := range versions(p.Status.Rollout, TenantPlanOf(p), string(p.UID), &c) {
			r.add(tenantPlugin(p, &v, grants.of(p.Namespace), &c))
		}
	}
	for i := range grants.all {
		r.Grants[i].Plugins = grants.all[i].plugins
	}
	slices.SortFunc(r.Plugins[first:], func(a, b Plugin) int {
		// The versions of one object stay together: @ comes after - and digits.
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Object, b.Object), cmp.Compare(a.Role, b.Role))
	})
	return r
}

// add adds a plugin. One that is refused has no use for its configuration.
func (r *Result) add(p Plugin) {
	if p.Refusal != nil {
		p.Reference.Config = nil
	}
	r.Plugins = append(r.Plugins, p)
}

// schedulerPlugin judges a version of a plugin of the platform.
func schedulerPlugin(of *v1alpha1.SchedulerPlugin, v *rollout.Share, c *Config) Plugin {
	p := *of
	p.Spec.Module, p.Spec.Config = v.Version.Module, v.Version.Config
	out := Plugin{
		Kind: v1alpha1.KindSchedulerPlugin, Object: p.Name, UID: p.UID, Generation: p.Generation, Name: p.Name,
		Holds: p.Spec.FailurePolicy != v1alpha1.Ignore,
	}
	for _, ns := range p.Spec.Namespaces {
		out.Namespaces = append(out.Namespaces, string(ns))
	}
	slices.Sort(out.Namespaces)
	var err error
	out.Reference, err = platformReference(&p)
	out.takesPart(v)
	err = errors.Join(err, unlessOdd(p.Spec.Rollout, p.Spec.WhenDisabled))
	if err == nil {
		err = out.configure(p.Spec.Config, c)
	}
	if out.unlessDisabled(p.Name, p.Spec.Mode, p.Spec.WhenDisabled, err == nil, c); out.Refusal != nil {
		return out
	}
	if err != nil {
		out.Refusal = refuse(Invalid, "%v", err)
		return out
	}
	if slices.Contains(c.Taken, p.Name) {
		out.Refusal = refuse(NameTaken, "the scheduler's configuration has a plugin %s already: rename one of the two", p.Name)
		return out
	}
	out.load(c)
	out.unlessTried()
	if out.Refusal == nil {
		out.Refusal = onlyDeclared(&p.Spec, out.Module)
	}
	if out.Refusal == nil && out.Role == rollout.Canary && slices.Contains(points(out.Module.Manifest), "queueSort") {
		out.Refusal = refuse(Invalid, "spec.mode: the module sorts the queue, which all pods share, so it cannot take over step by step: try it in Shadow, and then set Enforce")
	}
	if out.Refusal == nil && !out.Ready {
		out.Refusal = c.room()
	}
	return out
}

// unlessTried lets no pod wait for a plugin in shadow.
func (p *Plugin) unlessTried() {
	p.Holds = p.Holds && p.Reference.Use.Mode != v1alpha1.ModeShadow
}

// Runs says how a plugin that is not refused runs: the reason and message of its status.
func (p *Plugin) Runs() (reason, message string) {
	if p.Reference.Use.Mode == v1alpha1.ModeShadow {
		return InShadow, "the plugin is tried, and decides nothing"
	}
	return Running, "the plugin runs"
}

// room counts a plugin that is to run, unless there are too many.
func (c *Config) room() *Refusal {
	if c.Most > 0 && c.running >= c.Most {
		return refuse(TooManyPlugins, "the scheduler runs at most %d plugins of the API, and has as many that come first", c.Most)
	}
	c.running++
	return nil
}

// onlyDeclared refuses points and a weight that the module has no use for.
func onlyDeclared(s *v1alpha1.SchedulerPluginSpec, m *module.Loaded) *Refusal {
	declared := points(m.Manifest)
	for i, p := range s.Points {
		if !slices.Contains(declared, string(p)) {
			return refuse(Invalid, "spec.points[%d]: the module does not run at %s; it runs at %s", i, p, strings.Join(declared, ", "))
		}
	}
	return weightOfScore(s.Weight, m)
}

// weightOfScore refuses a weight without a score.
func weightOfScore(weight int32, m *module.Loaded) *Refusal {
	if weight > 0 && m.Manifest.Points.Score == nil {
		return refuse(Invalid, "spec.weight: the module has no score: leave the weight out")
	}
	return nil
}

// load gets the module of the reference.
func (p *Plugin) load(c *Config) {
	var err error
	p.Module, err = c.Load(p.Reference, p.fetchedFor)
	switch {
	case errors.Is(err, ErrPending):
		p.Refusal = refuse(Fetching, "%v", err)
	case err != nil:
		p.Module, p.Refusal = nil, refuse(ModuleRefused, "%v", oneLine(err))
		p.Refusal.Passes = module.Passes(err)
	default:
		p.Signers = p.Module.Signers
	}
	if err == nil && p.Reference.FailurePolicy.All == "" {
		p.Holds = slices.ContainsFunc(p.Module.Manifest.Declared(), func(point abi.Point) bool {
			return p.Reference.FailurePolicy.For(point) == v1alpha1.Fail
		})
	}
}

// maxMessage is the maximum size of a refusal's message, in bytes.
const maxMessage = 2 << 10

func refuse(reason, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Message: plain.Line(fmt.Sprintf(format, args...), maxMessage)}
}
