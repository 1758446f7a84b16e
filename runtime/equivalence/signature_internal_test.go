package equivalence

import (
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// TestWholeIDs: ids that have their lowest byte in common are different in names and keys.
func TestWholeIDs(t *testing.T) {
	low, high := []plugin.Read{{Column: 1}}, []plugin.Read{{Column: 1 + 3<<8}}
	if nameOf(low, nil, false) == nameOf(high, nil, false) {
		t.Error("projections of columns 1 and 769 have one name")
	}
	if seen := map[string]bool{string(appendID(nil, 1)): true}; seen[string(appendID(nil, abi.ColumnID(1+3<<8)))] {
		t.Error("columns 1 and 769 have the same bytes in keys")
	}
}
