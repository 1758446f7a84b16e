package wasm

import (
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/fields"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// readsOf returns what a module's answers can depend on: what its manifest declares, and what
// its imported host functions return. At a point of scope node that is not the table of namespaces (ABI-4.15).
func readsOf(m *wire.Manifest) (out []plugin.Read) {
	r := &m.Reads
	for _, e := range fields.All() {
		if !r.Declares(&e) || e.Source == fields.FromNamespaces || e.Refers {
			continue
		}
		read := plugin.Read{Column: e.ID}
		if list := e.ArgList(); list != "" {
			read.Args = append([]string{}, r.List(list)...) // nil would mean all
		}
		if e.ID == abi.NodeRequestedSince { // of these resources, by the samples of these feeds
			read.Args = slices.Concat(r.Resources, []string{""}, r.Feeds)
		}
		if e.List == fields.ObjectColumns { // of these objects, whichever columns
			read.Args = []string{}
			for _, view := range m.ObjectViews() {
				if view.Table() == e.Table {
					read.Args = append(read.Args, view.Key())
				}
			}
		}
		if e.ByResource {
			read.Args = append([]string{}, r.Resources...)
		}
		if e.ID == abi.IncomingNow {
			read.Step = r.Step()
		}
		if e.ID == abi.NodePods || e.ID == abi.NodeNominated {
			read.Args = []string{} // of pods on nodes no more than what is declared
		}
		out = append(out, read)
	}
	for _, f := range fields.Functions() {
		if f.Reads != 0 && slices.Contains(m.Host, f.Name) {
			out = append(out, plugin.Read{Column: f.Reads})
		}
	}
	return out
}
