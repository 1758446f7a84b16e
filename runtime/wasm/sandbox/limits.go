package sandbox

import (
	"cmp"
	"math"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

// Limits are what a plugin may use. A zero value stands for the default.
type Limits struct {
	// FuelBase and FuelPerRow are the fuel of one call, in units of package meter:
	// base + perRow × the rows or pods that it is about.
	FuelBase, FuelPerRow int64
	// FuelPerCycle and FuelPerCycleRow are the fuel of all calls of a plugin's tenant in one
	// scheduling cycle, or about one event: per cycle + per row × the nodes of the cluster,
	// or the pods that the event is about.
	FuelPerCycle, FuelPerCycleRow int64
	// FuelStart is the fuel of making an instance: the copies of its segments, start section,
	// _initialize and configuration together. FuelRestarts is the fuel of making instances
	// again, during the last 100 cycles or calls; with it, that of allocating and filling
	// their regions.
	FuelStart, FuelRestarts int64
	// Deadline is how long a call may take by the clock; zero stands for what follows from
	// the call's fuel (CallDeadline). It is a backstop: fuel runs out long before.
	Deadline time.Duration
	// OwnMemory is the limit of an instance's memory without its region, in bytes.
	// TotalMemory is the limit of a plugin's memory: all instances with their regions, and
	// what the host keeps for them.
	OwnMemory   uint32
	TotalMemory int64
	// Depth is how many frames there may be, and TableElements how many elements all tables
	// have together.
	Depth, TableElements uint32
	// Functions, Globals, Locals (of a function) and Nesting (of blocks) are how many
	// the module may have; zero stands for RuntimeConfig.Structure.
	Functions, Globals, Locals, Nesting int
	// ModuleSize is the limit of the module's size in bytes; zero stands for
	// RuntimeConfig.Structure.
	ModuleSize int
	// All in bytes: StateSize limits what a plugin keeps in a cycle's state, TextSize the
	// reasons of a call, DirectiveSize the texts of its directives. They are at most the
	// ABI's (ABI-10). LogSize limits what it logs during one try to place a pod, or in one
	// second of calls that belong to no try; more is dropped.
	StateSize, TextSize, DirectiveSize, LogSize int
}

// The defaults. A unit takes some nanoseconds in ordinary code, some 50 in a loop that
// does nothing, and at worst 32 times that. The reference workload's Go guest uses 80
// units a node; the defaults give it 30 times as much.
const (
	// DefaultOwnMemory is an instance's memory without its region, in bytes.
	DefaultOwnMemory = 64 << 20

	DefaultFuelBase     int64 = 2_500_000
	DefaultFuelPerRow   int64 = 2_500
	DefaultFuelPerCycle int64 = 50_000_000
	DefaultFuelStart    int64 = 6_000_000
	DefaultFuelRestarts int64 = 6_000_000
	DefaultLogSize            = 32 << 10
	DefaultTotalMemory  int64 = 256 << 20 // or four times OwnMemory, if that is more
)

// WithDefaults returns the limits with zero values filled in.
func (l Limits) WithDefaults() Limits {
	fill := func(v *int64, d int64) {
		if *v == 0 {
			*v = d
		}
	}
	fill(&l.FuelBase, DefaultFuelBase)
	fill(&l.FuelPerRow, DefaultFuelPerRow)
	fill(&l.FuelPerCycle, DefaultFuelPerCycle)
	fill(&l.FuelStart, DefaultFuelStart)
	fill(&l.FuelRestarts, DefaultFuelRestarts)
	if l.OwnMemory == 0 {
		l.OwnMemory = DefaultOwnMemory
	}
	if l.TotalMemory == 0 {
		l.TotalMemory = max(DefaultTotalMemory, 4*int64(l.OwnMemory))
	}
	if l.Depth == 0 { // so that a stack takes an eighth of the memory at most
		l.Depth = uint32(min(meter.DefaultMaxDepth, max(1, uint64(l.TotalMemory)/8/stackBytes(1))))
	}
	if l.TableElements == 0 {
		l.TableElements = meter.DefaultTableMaxElements
	}
	size := func(v *int, most int) {
		if *v == 0 || *v > most {
			*v = most
		}
	}
	size(&l.StateSize, abi.MaxStateSize)
	size(&l.TextSize, abi.MaxTextsSize)
	size(&l.DirectiveSize, abi.MaxDirectiveText)
	if l.LogSize == 0 {
		l.LogSize = DefaultLogSize
	}
	return l
}

// structure returns the limits of a module's structure: those of l, and s where l has none.
func (l *Limits) structure(s meter.Limits) meter.Limits {
	for _, f := range []struct {
		to   *int
		from int
	}{{&s.Module, l.ModuleSize}, {&s.Functions, l.Functions}, {&s.Globals, l.Globals}, {&s.Locals, l.Locals}, {&s.Nesting, l.Nesting}} {
		if f.from != 0 {
			*f.to = f.from
		}
	}
	return s
}

const (
	// LeastDeadline is the deadline of a call with little fuel.
	LeastDeadline = 10 * time.Second
	// DeadlinePerUnit is the deadline of other calls, for each unit: what a unit of the slowest code takes at most, on a host
	// that is 20 times as slow as one where a unit of a plain loop takes 50 ns.
	DeadlinePerUnit = 20 * meter.MostTimesPlain * 50 * time.Nanosecond
)

// CallDeadline returns the deadline of a call with so much fuel. Unless one is set, fuel ends the call first.
func (l *Limits) CallDeadline(fuel int64) time.Duration {
	most := int64(math.MaxInt64 / DeadlinePerUnit)
	return cmp.Or(l.Deadline, max(LeastDeadline, time.Duration(min(fuel, most))*DeadlinePerUnit))
}

// CallFuel returns the fuel of a call about n rows or pods.
func (l *Limits) CallFuel(n int) int64 { return l.FuelBase + l.FuelPerRow*int64(n) }

// CycleFuel returns the fuel of a cycle with n nodes, or of an event about n pods.
func (l *Limits) CycleFuel(n int) int64 { return l.FuelPerCycle + l.FuelPerCycleRow*int64(n) }
