package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/module"
)

// verifySample is after how many calls of a guest its columns are checked when
// not every call is.
const verifySample = 1024

// moduleOptions is the flags about plugin modules.
type moduleOptions struct {
	plugins []string
	cache   string
	verify  bool
}

func (o *moduleOptions) flags(f *pflag.FlagSet) {
	f.StringArrayVar(&o.plugins, "plugin", nil,
		"add a plugin module to every profile: `PATH.wasm[?weight=2&config=FILE&namespaces=a,b]`; repeatable")
	f.StringVar(&o.cache, "module-cache", defaultCache(), "`DIR` that keeps compiled modules; empty for memory only")
	f.BoolVar(&o.verify, "verify-columns", false, "check after every call, not after some, that a module left the snapshot alone")
}

// defaultCache is in the user's cache folder, if there is one.
func defaultCache() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "berth", "modules")
}

// open makes the place for modules.
func (o *moduleOptions) open() (*assembly.Modules, error) {
	c := assembly.ModulesConfig{CacheDir: o.cache, VerifyEvery: verifySample}
	if o.verify {
		c.VerifyEvery = 1
	}
	if o.cache != "" {
		if err := os.MkdirAll(o.cache, 0o700); err != nil {
			return nil, fmt.Errorf("--module-cache: %w (name a folder that can be made, or none)", err)
		}
	}
	return assembly.NewModules(c)
}

// enable loads the modules of --plugin and adds them to all profiles.
func (o *moduleOptions) enable(modules *assembly.Modules, scheduler *config.Scheduler) error {
	var errs []error
	for _, text := range o.plugins {
		if err := enable(modules, scheduler, text); err != nil {
			errs = append(errs, fmt.Errorf("--plugin: %w", err))
		}
	}
	return errors.Join(errs...)
}

func enable(modules *assembly.Modules, scheduler *config.Scheduler, text string) error {
	ref, err := module.ParseReference(text)
	if err != nil {
		return err
	}
	m, err := modules.Load(ref)
	if err != nil {
		return err
	}
	return m.Enable(scheduler)
}
