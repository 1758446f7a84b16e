package module

import (
	"encoding/json"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Limits are what a plugin's guest may use; zero values stand for the host's
// defaults. Fuel is in units of package runtime/wasm/meter.
type Limits struct {
	FuelPerCall, FuelPerRow, FuelPerCycle, FuelStart int64
	Deadline                                         time.Duration
	// Memory is besides what the host puts there, in bytes.
	Memory               uint32
	Depth, TableElements uint32
}

// limits reads the limits of args.
func (d *argsDecoder) limits(into *Limits) func(any, string) {
	number := func(most int64, store func(int64)) func(any, string) {
		return func(value any, path string) {
			n, _ := value.(json.Number)
			v, err := strconv.ParseInt(n.String(), 10, 64)
			if err != nil || v < 1 || v > most {
				d.add(path, show(value)+" is no limit", "write a whole number from 1 to "+strconv.FormatInt(most, 10))
				return
			}
			store(v)
		}
	}
	const most = 1 << 50
	small := func(into *uint32, most int64) func(any, string) {
		return number(most, func(v int64) { *into = uint32(v) })
	}
	fuel := func(into *int64) func(any, string) { return number(most, func(v int64) { *into = v }) }
	return func(value any, path string) {
		d.object(value, path, map[string]func(any, string){
			"fuelPerCall": fuel(&into.FuelPerCall), "fuelPerRow": fuel(&into.FuelPerRow),
			"fuelPerCycle": fuel(&into.FuelPerCycle), "fuelStart": fuel(&into.FuelStart),
			"depth": small(&into.Depth, 1_000_000), "tableElements": small(&into.TableElements, 10_000_000),
			"deadline": func(value any, path string) {
				s, _ := value.(string)
				v, err := time.ParseDuration(s)
				if err != nil || v < time.Millisecond {
					d.add(path, show(value)+" is no duration of at least 1ms", "write 500ms or 2s")
				}
				into.Deadline = v
			},
			"memory": func(value any, path string) {
				text := show(value)
				if s, ok := value.(string); ok {
					text = s
				}
				q, err := resource.ParseQuantity(text)
				if err != nil || q.Value() < 64<<10 || q.Value() > 3<<30 {
					d.add(path, show(value)+" is no size from 64Ki to 3Gi", "write 64Mi")
					return
				}
				into.Memory = uint32(q.Value())
			},
		})
	}
}
