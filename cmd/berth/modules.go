package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/debughttp"
	"github.com/berth-scheduler/berth/runtime/module"
)

// verifySample is after how many calls of a guest its columns are checked when
// not every call is.
const verifySample = 1024

// moduleOptions is the flags about plugin modules.
type moduleOptions struct {
	plugins []string
	verify  bool
	log     string
	json    bool // log in JSON, not in text
	memory  string
	// harmless says that nothing real is at stake: a module of --plugin is granted what
	// it declares, unless grant= says what.
	harmless bool
	compileOptions
}

func (o *moduleOptions) flags(f *pflag.FlagSet) {
	f.StringArrayVar(&o.plugins, "plugin", nil,
		"add a plugin `MODULE` to every profile: PATH.wasm, PATH.wasm?weight=2&config=FILE&namespaces=a,b, https://HOST/PATH?digest=sha256:…, or oci://REGISTRY/REPOSITORY:TAG; repeatable")
	if o.harmless {
		f.Lookup("plugin").Usage += "; it may do what it declares, or what grant= says"
	} else {
		f.Lookup("plugin").Usage += "; it may do nothing but answer, and what is granted, as in grant=bind,labels:example.com/"
	}
	o.addTo(f)
	f.StringVar(&o.memory, "plugin-memory", "2Gi", "how much memory all plugin modules may have together, as a `QUANTITY`")
	f.StringVar(&o.log, "log-level", "none", "print what modules log from this `LEVEL` on: debug, info, warn, error, or none")
	f.BoolVar(&o.verify, "verify-columns", false, "check after every call, not after some, that a module left the snapshot alone")
}

// logger returns where plugins and the scheduler log to; nil for nowhere.
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

// open makes the place for modules.
func (o *moduleOptions) open() (*assembly.Modules, error) {
	c := assembly.ModulesConfig{VerifyEvery: verifySample}
	var err error
	if c.CacheDir, c.CacheOptional, err = o.cacheDir(); err != nil {
		return nil, err
	}
	if c.Compiler, err = o.compiler(); err != nil {
		return nil, err
	}
	memory, err := resource.ParseQuantity(o.memory)
	if err != nil || memory.Value() < 1<<20 {
		return nil, fmt.Errorf("--plugin-memory: %q is no size of at least 1Mi: write 2Gi", o.memory)
	}
	c.Memory = memory.Value()
	switch {
	case c.CacheDir == "":
	case c.CacheOptional:
		c.SourceDir = filepath.Join(filepath.Dir(c.CacheDir), "fetched")
	default:
		c.SourceDir = filepath.Join(c.CacheDir, "fetched")
	}
	if o.verify {
		c.VerifyEvery = 1
	}
	return assembly.NewModules(c), nil
}

// enable loads the modules of --plugin and adds them to all profiles.
func (o *moduleOptions) enable(modules *assembly.Modules, scheduler *config.Scheduler) error {
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
	if err != nil {
		return err
	}
	return m.Enable(scheduler)
}
