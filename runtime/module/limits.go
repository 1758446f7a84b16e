package module

import (
	"cmp"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
)

// What a grant gives the plugins of a namespace by default, in units of fuel for a pod and more for each node.
const (
	GrantedFuelPerPod  = 100_000
	GrantedFuelPerNode = 150
)

// Limits are limits of a plugin's guest; zero means the host's default. Fuel is in units of
// package runtime/wasm/meter.
type Limits struct {
	FuelPerCall, FuelPerRow, FuelPerCycle, FuelPerCycleRow, FuelStart, FuelRestarts int64
	Deadline                                                                        time.Duration
	// Memory is the limit of one instance, without what the host writes there. MemoryTotal is
	// the limit of all instances of the plugin, with it. Both are in bytes.
	Memory               uint32
	MemoryTotal          int64
	Depth, TableElements uint32
	// Functions, Globals, Locals (of a function) and Nesting (of blocks) limit the module's
	// structure.
	Functions, Globals, Locals, Nesting int
	// Sizes in bytes: of the module's file; of the configuration; of the plugin's data in a
	// cycle's state; of the reasons of a call; of the directives of a call, patches included; of
	// the log that is read during a call. All but those of the module and the log are at most
	// what the ABI allows.
	ModuleSize, ConfigSize, StateSize, ReasonSize, DirectiveSize, LogSize int
}

// DefaultModuleSize is the host's default of Limits.ModuleSize, in bytes.
const DefaultModuleSize = 32 << 20

// mostBytes is how large a module may be that is to be used, so that no more of it is read, and what to do about a larger one. Its
// bytes are a part of the plugin's memory.
func (r *Reference) mostBytes() (most int64, fix string) {
	most, fix = int64(cmp.Or(r.Limits.ModuleSize, DefaultModuleSize)), "raise limits.moduleSize"
	if total := r.Limits.MemoryTotal; total > 0 && total < most {
		most, fix = total, "raise limits.memoryTotal, of which the module's bytes are a part"
	}
	return most, fix
}

func tooLarge(ref *Reference, size int64) error {
	most, fix := ref.mostBytes()
	return &Error{File: ref.Source(), Section: sectionModule, Detail: fmt.Sprintf("%d bytes, at most %d are allowed", size, most), Fix: fix}
}

// limitsOf returns the limits that are written, which are valid.
func limitsOf(l *v1alpha1.Limits) Limits {
	if l == nil {
		return Limits{}
	}
	number := func(n *int64) int64 { return ptr.Deref(n, 0) }
	bytes := func(q *resource.Quantity) int64 {
		if q == nil {
			return 0
		}
		return q.Value()
	}
	deadline, _ := time.ParseDuration(string(l.Deadline)) // 0 without one
	return Limits{
		FuelPerCall: number(l.FuelPerCall), FuelPerRow: number(l.FuelPerRow), FuelPerCycle: number(l.FuelPerCycle),
		FuelPerCycleRow: number(l.FuelPerCycleRow), FuelStart: number(l.FuelStart), FuelRestarts: number(l.FuelRestarts), Deadline: deadline,
		Memory: uint32(bytes(l.Memory)), MemoryTotal: bytes(l.MemoryTotal),
		Depth: uint32(number(l.Depth)), TableElements: uint32(number(l.TableElements)),
		Functions: int(number(l.Functions)), Globals: int(number(l.Globals)), Locals: int(number(l.Locals)), Nesting: int(number(l.Nesting)),
		ModuleSize: int(bytes(l.ModuleSize)), ConfigSize: int(bytes(l.ConfigSize)), StateSize: int(bytes(l.StateSize)),
		ReasonSize: int(bytes(l.ReasonSize)), DirectiveSize: int(bytes(l.DirectiveSize)), LogSize: int(bytes(l.LogSize)),
	}
}

// writtenLimits returns limits as they are written; nil if all are the defaults.
func writtenLimits(l *Limits) *v1alpha1.Limits {
	if *l == (Limits{}) {
		return nil
	}
	number := func(n int64) *int64 {
		if n == 0 {
			return nil
		}
		return &n
	}
	bytes := func(n int) *resource.Quantity {
		if n == 0 {
			return nil
		}
		return resource.NewQuantity(int64(n), resource.BinarySI)
	}
	out := &v1alpha1.Limits{
		FuelPerCall: number(l.FuelPerCall), FuelPerRow: number(l.FuelPerRow), FuelPerCycle: number(l.FuelPerCycle),
		FuelPerCycleRow: number(l.FuelPerCycleRow), FuelStart: number(l.FuelStart), FuelRestarts: number(l.FuelRestarts),
		Memory: bytes(int(l.Memory)), MemoryTotal: bytes(int(l.MemoryTotal)),
		Depth: number(int64(l.Depth)), TableElements: number(int64(l.TableElements)),
		Functions: number(int64(l.Functions)), Globals: number(int64(l.Globals)),
		Locals: number(int64(l.Locals)), Nesting: number(int64(l.Nesting)),
		ModuleSize: bytes(l.ModuleSize), ConfigSize: bytes(l.ConfigSize), StateSize: bytes(l.StateSize),
		ReasonSize: bytes(l.ReasonSize), DirectiveSize: bytes(l.DirectiveSize), LogSize: bytes(l.LogSize),
	}
	if l.Deadline != 0 {
		out.Deadline = v1alpha1.Duration(l.Deadline.String())
	}
	return out
}
