// Package hostile is the corpus of attacks on the sandbox: guests that do their worst,
// and files that come with them. Each is a plugin as a stranger would hand it over, so
// that the whole program can be attacked with it: `make hostile` does.
//
// Attacks that a text can show are .wat files: the broken guests of runtime/wasm, the
// programs of runtime/wasm/meter, which get the exports of a plugin, and the wrong guests
// of the conformance kit. The others are made by functions, which the tests of those
// packages use, too.
package hostile

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/berth-scheduler/berth/runtime/internal/wat"
)

// Attack is one or more plugins that run together, and the cluster they run on.
type Attack struct {
	// Name is GROUP/NAME, a path below the folder that attacks are written to.
	Name string
	// About says in one line what the guest does.
	About   string
	Plugins []Plugin
	// Nodes is the size of the cluster; 0 means 20. Pods is how many it tries to place; 0 means 12.
	Nodes, Pods int
	// Cluster is a cluster file of its own, in which IMAGE and REPOSITORY stand for those of the first plugin, which runs As is
	// said there. Others are plugins of the platform. The attack is one on pods of namespace good, which must all be placed.
	Cluster []byte
	As      string
	// Evictions is how many pods of namespace good may be evicted.
	Evictions int
	// Barred is a pod of namespace evil that must not be placed, if there is one.
	Barred string
	// Crowd is how many pods of the tenant are there before those of its neighbours, in berth run. They have priority 1.
	Crowd int
	// Grants are those of the plugin, as its entry in a configuration has them.
	Grants map[string]bool
	// Feeds are those of the scheduler.
	Feeds []Feed
	// Refused is a text that the refusal of the plugin, or of the TenantPlugin, has; empty if it need not be refused.
	Refused string
	// Workers says that the plugin decides the same with any number of workers.
	Workers bool
}

// Plugin is a module with its manifest, and the configuration that comes with it.
type Plugin struct {
	Module []byte
	Config []byte // JSON; {} if empty
}

// Attacks returns the corpus; root is the folder of go.mod. Attacks that were found
// from outside come first.
func Attacks(root string) ([]Attack, error) {
	var out []Attack
	for _, group := range []func() ([]Attack, error){
		tenants, feeds, evictions, workers, waiting, neighbours, names, schemas, objects, starts, totals, messages, points, time,
		structure, escapes, sections, kinds,
		func() ([]Attack, error) { return bombs(root) },
		func() ([]Attack, error) { return programs(root) },
		func() ([]Attack, error) { return guests(root) },
		func() ([]Attack, error) { return kit(root) },
	} {
		attacks, err := group()
		if err != nil {
			return nil, err
		}
		out = append(out, attacks...)
	}
	return out, nil
}

// fields are those of a manifest that an attack sets.
type fields map[string]any

// filtering is a plugin with a filter.
func filtering() fields { return fields{"points": fields{"filter": fields{}}} }

// with returns f with another field.
func (f fields) with(name string, value any) fields {
	f[name] = value
	return f
}

// manifest returns a manifest with some fields set.
func manifest(set fields) string {
	m := fields{
		"name": "guest", "version": "1.0.0", "publisher": "stranger", "license": "Apache-2.0", "description": "an attack", "abi": "1.0",
		"points": fields{}, "host": []string{}, "reads": fields{"node": []string{"generation"}, "pod": []string{"priority"}},
		"events": []fields{{"resource": "Node", "actions": []string{"Add"}}},
	}
	for k, v := range set {
		m[k] = v
	}
	schema, ok := m["config"].(raw)
	if ok {
		m["config"] = placeholder
	}
	data, err := json.Marshal(m)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return strings.Replace(string(data), `"`+placeholder+`"`, string(schema), 1)
}

// raw is the text of a schema, which package json need not be able to read.
type raw string

const placeholder = "(schema)"

// module assembles source with the parts that every plugin has.
func module(source, manifest string) ([]byte, error) {
	parts, err := readParts(partsFile)
	if err != nil {
		return nil, err
	}
	return assemble(parts, source, manifest)
}

func assemble(parts map[string]string, source, manifest string) ([]byte, error) {
	source, err := withParts(parts, source)
	if err != nil {
		return nil, err
	}
	out, err := wat.Assemble(source)
	if err != nil {
		return nil, err
	}
	return custom(out, "berth.manifest", []byte(manifest)), nil
}

// one returns an attack by one plugin.
func one(name, about, source string, set fields, after ...func([]byte) []byte) (Attack, error) {
	m, err := module(source, manifest(set))
	if err != nil {
		return Attack{}, fmt.Errorf("%s: %w", name, err)
	}
	for _, f := range after {
		m = f(m)
	}
	return Attack{Name: name, About: about, Plugins: []Plugin{{Module: m}}}, nil
}

// list collects attacks until one cannot be made.
type list struct {
	attacks []Attack
	err     error
}

func (l *list) add(a Attack, err error) *Attack {
	if l.err == nil {
		l.err = err
	}
	l.attacks = append(l.attacks, a)
	return &l.attacks[len(l.attacks)-1]
}

func (l *list) all() ([]Attack, error) { return l.attacks, l.err }

// custom appends a custom section.
func custom(module []byte, name string, data []byte) []byte {
	return section(module, 0, append(text(name), data...))
}

func section(module []byte, id byte, data []byte) []byte {
	return append(append(module, append([]byte{id}, u32(len(data))...)...), data...)
}

// text is a name as modules have it.
func text(s string) []byte { return append(u32(len(s)), s...) }

// u32 is a number in LEB128.
func u32(n int) (out []byte) {
	for n >= 0x80 {
		out = append(out, byte(n)|0x80)
		n >>= 7
	}
	return append(out, byte(n))
}
