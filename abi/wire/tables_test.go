package wire_test

import (
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi/wire"
)

// TestCheckTables: a table uses the host's memory before a guest runs (ABI-10).
func TestCheckTables(t *testing.T) {
	for _, test := range []struct {
		tables []wire.Table
		want   string
	}{
		{[]wire.Table{{Limits: wire.Limits{Min: 1 << 20}}}, ""},
		{[]wire.Table{{Limits: wire.Limits{Min: 1<<20 + 1}}}, "1048577 elements at start, at most 1048576"},
		{make([]wire.Table, 17), "17 tables are defined, at most 16"},
	} {
		err := wire.Check(&wire.Module{Tables: test.tables}, &wire.Manifest{}, "m")
		found := err != nil && strings.Contains(err.Error(), "table")
		if found != (test.want != "") || found && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%d tables: %v, want %q", len(test.tables), err, test.want)
		}
	}
}
