package module

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/schema"
	"github.com/berth-scheduler/berth/abi/wire"
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

// limits reads the limits in args.
func (d *argsDecoder) limits(into *Limits) func(any, string) {
	number := func(most int64, store func(int64)) func(any, string) {
		return func(value any, path string) {
			n, _ := value.(json.Number)
			v, err := strconv.ParseInt(n.String(), 10, 64)
			if err != nil || v < 1 || v > most {
				d.add(path, schema.Show(value)+" is not a valid limit", "write a whole number from 1 to "+strconv.FormatInt(most, 10))
				return
			}
			store(v)
		}
	}
	const most = 1 << 50
	small := func(into *uint32, most int64) func(any, string) {
		return number(most, func(v int64) { *into = uint32(v) })
	}
	whole := func(into *int, most int64) func(any, string) {
		return number(most, func(v int64) { *into = int(v) })
	}
	fuel := func(into *int64) func(any, string) { return number(most, func(v int64) { *into = v }) }
	perRow := func(into *int64) func(any, string) { return number(1<<30, func(v int64) { *into = v }) } // times any number of rows fits into 64 bits
	quantity := func(least, most int64, store func(int64)) func(any, string) {
		return func(value any, path string) {
			text := schema.Show(value)
			if s, ok := value.(string); ok {
				text = s
			}
			q, err := resource.ParseQuantity(text)
			if err != nil || q.Value() < least || q.Value() > most {
				d.add(path, schema.Show(value)+" is not a size from "+inBytes(least)+" to "+inBytes(most), "write it as 64Ki")
				return
			}
			store(q.Value())
		}
	}
	bytes := func(into *int, most int64) func(any, string) {
		return quantity(1, most, func(v int64) { *into = int(v) })
	}
	return func(value any, path string) {
		d.object(value, path, map[string]func(any, string){
			"fuelPerCall": fuel(&into.FuelPerCall), "fuelPerRow": perRow(&into.FuelPerRow),
			"fuelPerCycle": fuel(&into.FuelPerCycle), "fuelPerCycleRow": perRow(&into.FuelPerCycleRow),
			"fuelStart": fuel(&into.FuelStart), "fuelRestarts": fuel(&into.FuelRestarts),
			"depth": small(&into.Depth, 1_000_000), "tableElements": small(&into.TableElements, 10_000_000),
			"functions": whole(&into.Functions, 1_000_000), "globals": whole(&into.Globals, 1_000_000),
			"locals": whole(&into.Locals, 50_000), "nesting": whole(&into.Nesting, 50_000),
			"moduleSize": bytes(&into.ModuleSize, wire.MaxModuleSize), "configSize": bytes(&into.ConfigSize, abi.MaxConfigSize),
			"stateSize": bytes(&into.StateSize, abi.MaxStateSize), "reasonSize": bytes(&into.ReasonSize, abi.MaxTextsSize),
			"directiveSize": bytes(&into.DirectiveSize, abi.MaxDirectiveText), "logSize": bytes(&into.LogSize, 64<<20),
			"memory":      quantity(64<<10, 3<<30, func(v int64) { into.Memory = uint32(v) }),
			"memoryTotal": quantity(1<<20, 1<<40, func(v int64) { into.MemoryTotal = v }),
			"deadline": func(value any, path string) {
				s, _ := value.(string)
				v, err := time.ParseDuration(s)
				if err != nil || v < time.Millisecond {
					d.add(path, schema.Show(value)+" is not a duration of at least 1ms", "write 500ms or 2s")
				}
				into.Deadline = v
			},
		})
	}
}

// inBytes formats a size as a quantity.
func inBytes(n int64) string { return resource.NewQuantity(n, resource.BinarySI).String() }
