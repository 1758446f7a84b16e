package tenancy

import (
	"bytes"
	"fmt"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/module"
)

// Configs has the configurations of plugins that may run, so that each is decoded once, however often its object is judged. The zero
// value is empty. It is not safe for concurrent use.
type Configs struct{ last, next map[string]configuration } // by the plugin's name: of the last call of Resolve, and of the present one

// configuration is the text in an object, and what it is for a module, or why it cannot be read.
type configuration struct {
	text, canonical []byte
	err             error
}

// forget drops what was not asked for since the last call.
func (c *Configs) forget() { c.last, c.next = c.next, nil }

func (c *Configs) get(name string, from *v1alpha1.Config) ([]byte, error) {
	if from == nil {
		return module.Configuration(nil)
	}
	known, ok := c.last[name]
	if !ok || !bytes.Equal(known.text, from.Raw) {
		known = configuration{text: from.Raw}
		known.canonical, known.err = module.Configuration(from)
	}
	if c.next == nil {
		c.next = make(map[string]configuration)
	}
	c.next[name] = known
	return known.canonical, known.err
}

// read gives a tenant's plugin its configuration, which is read if it was omitted.
func (p *Plugin) read(of *v1alpha1.TenantPlugin, c *Config) *Refusal {
	from := of.Spec.Config
	if from != nil && from.Omitted != nil {
		var err error
		if from, err = c.Read(of, p.Name, p.fetchedFor); err != nil {
			return refuse(Fetching, "spec.config: %v", err)
		}
	}
	if err := p.configure(from, c); err != nil {
		return refuse(Invalid, "%v", err)
	}
	return nil
}

// configure gives the plugin its configuration.
func (p *Plugin) configure(from *v1alpha1.Config, c *Config) (err error) {
	if p.Reference.Config, err = c.Configs.get(p.Name, from); err != nil {
		return fmt.Errorf("spec.config: %w", err)
	}
	return nil
}
