package app

import (
	"fmt"
	"strconv"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/wasm/meter"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// limitInfo is a limit, with its name in a configuration's limits.
type limitInfo struct {
	Name string `json:"name"`
	// Default is the limit if none is set. Has is how much the module uses, or nil if
	// only a call can show that.
	Default string `json:"default"`
	Has     *int64 `json:"has,omitempty"`
	Meaning string `json:"meaning"`
}

// limitsOf returns all limits of a plugin.
func limitsOf(l *module.Loaded) []limitInfo {
	d, s, m := sandbox.Limits{}.WithDefaults(), meter.DefaultLimits(), l.Module
	globals, tables := int64(len(m.Globals)), int64(0)
	for i := range m.Tables {
		tables += int64(m.Tables[i].Min)
	}
	memory := int64(0)
	if len(m.Memories) > 0 {
		memory = int64(m.Memories[0].Min) * pageSize
	}
	bytes := func(n int) string { return size(int64(n)) }
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	has := func(n int64) *int64 { return &n }
	return []limitInfo{
		{"fuelPerCall", number(d.FuelBase), nil, "units of fuel for a call"},
		{"fuelPerRow", number(d.FuelPerRow), nil, "more units for each node or pod of the call"},
		{"fuelPerCycle", number(d.FuelPerCycle), nil, "units for all plugins of a tenant in a cycle"},
		{"fuelPerCycleRow", number(d.FuelPerCycleRow), nil, "more of these units for each node of the cluster"},
		{"fuelStart", number(d.FuelStart), nil, "units for starting an instance"},
		{"fuelRestarts", number(d.FuelRestarts), nil, "units for restarts in the last 100 calls"},
		{"deadline", d.CallDeadline(d.CallFuel(0)).String(), nil, "time limit of a call; by default more for calls with more fuel"},
		{"memory", bytes(int(d.OwnMemory)), has(memory), "bytes of an instance, without the host's data"},
		{"memoryTotal", bytes(int(d.TotalMemory)), nil, "bytes of all instances, with tables, stacks and the host's data"},
		{"tableElements", number(int64(d.TableElements)), has(tables), "elements of all tables"},
		{"depth", number(int64(d.Depth)), nil, "nested calls of functions"},
		{"functions", number(int64(s.Functions)), has(int64(len(m.Functions))), "functions of the module"},
		{"globals", number(int64(s.Globals)), has(globals), "globals of the module"},
		{"locals", number(int64(s.Locals)), nil, "locals of a function"},
		{"nesting", number(int64(s.Nesting)), nil, "nested blocks in a function"},
		{"moduleSize", bytes(min(s.Module, wire.MaxModuleSize)), has(int64(m.Size)), "bytes of the module"},
		{"configSize", bytes(abi.MaxConfigSize), nil, "bytes of the configuration"},
		{"stateSize", bytes(d.StateSize), nil, "bytes of state in a cycle"},
		{"reasonSize", bytes(d.TextSize), nil, "bytes of the reasons of a call"},
		{"directiveSize", bytes(d.DirectiveSize), nil, "bytes of the directives of a call, including patches"},
		{"logSize", bytes(d.LogSize), nil, "bytes of log for a pod"},
	}
}

func (p *printer) limits(limits []limitInfo) {
	rows := make([]table.Row, 0, len(limits))
	for _, l := range limits {
		has := "-"
		if l.Has != nil {
			has = fmt.Sprint(*l.Has)
		}
		rows = append(rows, table.Row{l.Name, l.Default, has, l.Meaning})
	}
	p.table([]column{{head: "LIMIT"}, {head: "DEFAULT", numbers: true}, {head: "HAS", numbers: true}, {head: "MEANING", least: 20}}, rows)
}
