package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/berth-scheduler/berth/internal/bounded"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/debughttp"
	"github.com/berth-scheduler/berth/runtime/market/lock"
	"github.com/berth-scheduler/berth/runtime/market/policy"
	"github.com/berth-scheduler/berth/runtime/module"
)

// verifySample is the number of guest calls between checks of the guest's columns, unless
// every call is checked.
const verifySample = 1024

// moduleOptions holds the flags about plugin modules.
type moduleOptions struct {
	plugins []string
	// versions is true if several --plugin may have one name: they are versions of a plugin, all of which are loaded.
	versions bool
	verify   bool
	log      string
	json     bool // log in JSON, not in text
	memory   string
	policy   string
	lock     string
	// harmless means that no real cluster is affected: a module of --plugin is granted
	// everything that it declares, unless grant= limits that.
	harmless bool
	// loaded (optional) is called for each module that was loaded.
	loaded func(*module.Loaded, *module.Reference)
	// offline fetches nothing; unfetched are then the modules that are left out.
	offline   bool
	unfetched []string
	// to (optional) logs what is wrong with the cache.
	to *slog.Logger
	// recorded (optional) is a folder for the modules of a recording.
	recorded string
	// admitted (optional) has modules that the policy admitted before.
	admitted *lock.File
	compileOptions
}

func (o *moduleOptions) flags(f *pflag.FlagSet) {
	f.StringArrayVar(&o.plugins, "plugin", nil,
		"add a plugin `MODULE` to every profile: PATH.wasm, PATH.wasm?weight=2&config=FILE&namespaces=a,b, https://HOST/PATH?digest=sha256:…, or oci://REGISTRY/REPOSITORY:TAG; repeatable")
	if o.harmless {
		f.Lookup("plugin").Usage += "; it may do everything that it declares, or only what grant= lists"
	} else {
		f.Lookup("plugin").Usage += "; it may only answer, unless grant= permits more, as in grant=bind,labels:example.com/"
	}
	o.addTo(f)
	f.StringVar(&o.memory, "plugin-memory", "2Gi", "memory limit of all plugin modules together, as a `QUANTITY`")
	f.StringVar(&o.policy, "verification-policy", "", "run only modules that the VerificationPolicy in this `FILE` admits")
	f.StringVar(&o.lock, "lock", "", "use only modules that are in this `FILE`, as berth plugin lock wrote it; modules of a plugin folder need not be in it")
	f.StringVar(&o.log, "log-level", "none", "print log lines of modules of this `LEVEL` and above: debug, info, warn, error, or none")
	f.BoolVar(&o.verify, "verify-columns", false, "check after every call, instead of a sample, that a module did not change the snapshot")
}

// logger returns the logger of plugins and the scheduler, or nil.
func (o *moduleOptions) logger(w io.Writer) (*slog.Logger, error) {
	if o.log == "none" {
		return nil, nil
	}
	var level slog.LevelVar
	if err := o.setLevel(&level); err != nil {
		return nil, err
	}
	return newLogger(w, &level, o.json), nil
}

// setLevel sets the level that --log-level names.
func (o *moduleOptions) setLevel(v *slog.LevelVar) error {
	level, err := debughttp.ParseLevel(o.log)
	if err != nil {
		return fmt.Errorf("--log-level: %w", err)
	}
	v.Set(level)
	return nil
}

// open creates the set of modules.
func (o *moduleOptions) open(ctx context.Context) (*assembly.Modules, error) {
	c := assembly.ModulesConfig{VerifyEvery: verifySample, Recorded: o.recorded, Offline: o.offline}
	var err error
	if c.CacheDir, c.CacheOptional, err = o.cacheDir(); err != nil {
		return nil, err
	}
	if c.CacheSize, err = o.size(); err != nil {
		return nil, err
	}
	if c.Compiler, c.SmallCompiler, err = o.compilers(); err != nil {
		return nil, err
	}
	memory, err := resource.ParseQuantity(o.memory)
	if err != nil || memory.Value() < 1<<20 {
		return nil, fmt.Errorf("--plugin-memory: %q is not a size of at least 1Mi; write for example 2Gi", o.memory)
	}
	c.Memory = memory.Value()
	if c.Policy, err = readPolicy(ctx, "verification-policy", o.policy); err != nil {
		return nil, err
	}
	if c.Lock, err = readLock(ctx, o.lock); err != nil {
		return nil, err
	}
	c.Loaded, c.Admitted, c.Log = o.loaded, o.admitted, o.to
	if c.CacheDir != "" {
		c.SourceDir = besideModules(c.CacheDir, o.cache == "", "fetched")
	}
	if o.verify {
		c.VerifyEvery = 1
	}
	return assembly.NewModules(c), nil
}

// load reads a configuration file, which a flag (or, without one, an argument) names, or the defaults, with its modules and those
// of --plugin.
func (o *moduleOptions) load(
	ctx context.Context, flag, file string, catalog config.Catalog, modules *assembly.Modules,
) (*config.Scheduler, []config.Warning, error) {
	scheduler, warnings, err := config.Load(ctx, file, catalog)
	if err != nil {
		err = unreadable(err, flag, file)
	}
	if err == nil {
		return scheduler, warnings, o.enable(modules, scheduler)
	}
	if scheduler != nil {
		_, bad := modules.Resolve(scheduler)
		err = errors.Join(err, bad)
	}
	return nil, nil, err
}

// enable loads the modules of a configuration and of --plugin, and adds the latter to all profiles.
func (o *moduleOptions) enable(modules *assembly.Modules, scheduler *config.Scheduler) error {
	unfetched, err := modules.Resolve(scheduler)
	if err != nil {
		return err
	}
	o.unfetched = unfetched
	var errs []error
	for _, text := range o.plugins {
		if err := o.enableOne(modules, scheduler, text); err != nil {
			errs = append(errs, errors.New("--plugin: "+strings.ReplaceAll(err.Error(), "\n", "\n--plugin: ")))
		}
	}
	return errors.Join(errs...)
}

func (o *moduleOptions) enableOne(modules *assembly.Modules, scheduler *config.Scheduler, text string) error {
	ref, err := module.ParseReference(text)
	if err != nil {
		return err
	}
	ref.GrantAll = o.harmless && ref.Grants.Empty()
	m, err := modules.Load(ref)
	if why := (*module.Unfetched)(nil); errors.As(err, &why) {
		o.unfetched = append(o.unfetched, why.Error())
		return nil
	}
	if err != nil {
		return err
	}
	if o.versions && slices.ContainsFunc(scheduler.Profiles, func(p config.Profile) bool { return p.Args[m.Loaded.Name].Module != nil }) {
		return nil
	}
	return m.Enable(scheduler)
}

// readPolicy reads the policy that a flag names; nil for none.
func readPolicy(ctx context.Context, flag, file string) (*policy.Policy, error) {
	if file == "" {
		return nil, nil
	}
	text, err := bounded.File(ctx, file, policy.MaxSize)
	if err != nil {
		return nil, unreadable(err, flag, file)
	}
	p, err := policy.Parse(text)
	if err != nil {
		return nil, eachLine(file+": ", err)
	}
	return p, nil
}

// readLock reads the lock file of --lock; nil for none.
func readLock(ctx context.Context, file string) (*lock.File, error) {
	if file == "" {
		return nil, nil
	}
	text, err := bounded.File(ctx, file, lock.MaxSize)
	if err != nil {
		return nil, unreadable(err, "lock", file)
	}
	f, err := lock.Parse(text)
	if err != nil {
		return nil, eachLine(file+": ", err)
	}
	return f, nil
}
