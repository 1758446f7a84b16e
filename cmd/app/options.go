package app

import (
	"errors"
	"fmt"
	"slices"

	"github.com/berth-scheduler/berth/hostplugins/bridge"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Option adds to what the command does.
type Option func(*program)

// WithPlugin compiles a plugin in that was written for kube-scheduler's framework, k8s.io/kube-scheduler/framework. The
// factory is what app.WithPlugin of kube-scheduler takes. Like any plugin it does nothing until a profile enables it, by
// its name; args reach the factory as a runtime.Unknown with JSON.
//
// enforces names the fields of a pod's spec that the plugin sees to in place of a default plugin; without one that does,
// pods that set such a field stay pending.
//
// # Notes
//
// The factory is called once for each profile that enables the plugin. With berth simulate and berth config check it
// gets a handle that knows no API server.
func WithPlugin(name string, factory bridge.Factory, enforces ...state.Feature) Option {
	return func(p *program) {
		p.named("WithPlugin", name, factory == nil)
		source := bridge.Source{Name: name, Factory: factory}
		for _, f := range enforces {
			source.Enforces |= f
		}
		p.framework = append(p.framework, source)
	}
}

// WithHostPlugin compiles a plugin in that implements interfaces of Berth's package runtime/plugin, which is called in
// batches. Like any plugin it does nothing until a profile enables it, by its name; args reach the factory as JSON, a
// []byte. The factory is called once for each profile that enables the plugin.
func WithHostPlugin(name string, factory plugin.Factory) Option {
	return func(p *program) {
		p.named("WithHostPlugin", name, factory == nil)
		p.host[name] = factory
	}
}

// WithVersion sets the version that the program prints, logs and shows in its metrics; "dev" without it.
func WithVersion(version string) Option {
	return func(p *program) {
		if version != "" {
			p.version = version
		}
	}
}

// program is what options say.
type program struct {
	version   string
	framework []bridge.Source
	host      plugin.Registry
	names     []string // of both
	errs      []error
}

func newProgram(options ...Option) *program {
	p := &program{version: "dev", host: make(plugin.Registry)}
	for _, o := range options {
		o(p)
	}
	if len(p.names) > 0 {
		c := assembly.Catalog()
		for _, name := range p.names {
			if slices.Contains(c.Known, name) || slices.Contains(c.Upstream, name) {
				p.errs = append(p.errs, fmt.Errorf("the plugin %q that is compiled in has the name of one of kube-scheduler's: "+
					"give it another name, and if it takes the other's place, disable that one in the configuration", name))
			}
		}
	}
	return p
}

// named notes the name of a plugin.
func (p *program) named(option, name string, nothing bool) {
	switch {
	case name == "" || name == "*":
		p.errs = append(p.errs, fmt.Errorf("app.%s: %q is not a name of a plugin: give the name that profiles enable it by", option, name))
	case nothing:
		p.errs = append(p.errs, fmt.Errorf("app.%s: the factory of %q is nil: give the function that makes the plugin", option, name))
	case slices.Contains(p.names, name):
		p.errs = append(p.errs, fmt.Errorf("app.%s: a plugin %q is compiled in already: leave one out, or give it another name", option, name))
	}
	p.names = append(p.names, name)
}

// check returns what is wrong with options.
func (p *program) check() error { return errors.Join(p.errs...) }

// addTo adds the plugins that are compiled in to what a scheduler is made of.
func (p *program) addTo(c assembly.Config) assembly.Config {
	c.Framework, c.Plugins = p.hosts(nil), p.host
	return c
}

// hosts returns what hosts the plugins of kube-scheduler's framework, and nil if there are none. deps may be nil.
func (p *program) hosts(deps func(profile string) bridge.Deps) assembly.Framework {
	if len(p.framework) == 0 {
		return nil
	}
	return &bridge.Hosts{Sources: p.framework, Deps: deps}
}
