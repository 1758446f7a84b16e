package main

import (
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/telemetry"
	"github.com/berth-scheduler/berth/runtime/wasm"
)

// pluginsOf translates what has become of the modules into metrics.
func pluginsOf(s assembly.Status) (breakers []telemetry.Breaker, guests []telemetry.Guest) {
	for i := range s.Plugins {
		p := &s.Plugins[i]
		of := telemetry.PluginOf{Plugin: p.Name, Profile: p.Profile}
		breakers = append(breakers, telemetry.Breaker{PluginOf: of, Digest: p.Digest, Open: p.Breaker != wasm.Closed, Opened: p.Opened})
		for j := range p.Work {
			w := &p.Work[j]
			g := telemetry.Guest{PluginOf: of, Digest: p.Digest, Point: w.Point.String(), Fuel: w.Fuel, Faults: make(map[string]int64)}
			for _, f := range w.Faults {
				g.Faults[string(f.Kind)] = f.Count
			}
			guests = append(guests, g)
		}
	}
	return breakers, guests
}
