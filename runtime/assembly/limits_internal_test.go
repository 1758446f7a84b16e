package assembly

import (
	"testing"

	"github.com/berth-scheduler/berth/runtime/module"
)

// TestFuelOfNamespaces: a plugin that is attached to namespaces has as much fuel as a grant gives, unless its limits speak of fuel.
func TestFuelOfNamespaces(t *testing.T) {
	for _, c := range []struct {
		name        string
		of          module.Reference
		call, cycle int64 // on 1,000 nodes
	}{
		{"all", module.Reference{}, 5_000_000, 50_000_000},
		{"namespaces", module.Reference{Namespaces: []string{"a"}}, 250_000, 250_000},
		{"own limits", module.Reference{Namespaces: []string{"a"}, Limits: module.Limits{FuelPerRow: 1_000}}, 3_500_000, 50_000_000},
	} {
		got := limitsOf(&c.of).WithDefaults()
		if got.CallFuel(1_000) != c.call || got.CycleFuel(1_000) != c.cycle {
			t.Errorf("%s: %d for a call and %d for a cycle, want %d and %d", c.name, got.CallFuel(1_000), got.CycleFuel(1_000), c.call, c.cycle)
		}
	}
}
