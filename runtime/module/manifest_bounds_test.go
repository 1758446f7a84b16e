package module

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
)

// TestManifestAttacks: reading and refusing a manifest never takes more memory than the
// scheduler's process may spend on a plugin that it never runs.
func TestManifestAttacks(t *testing.T) {
	repeat := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format+",", i)
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	for name, manifest := range map[string]string{
		"unknown fields":     `{` + repeat(7000, `"%d":0`) + `}`,
		"values of no type":  `{"host":[` + repeat(10_000, `%d`) + `]}`,
		"names":              `{"reads":{"node":[` + repeat(8000, `"%d"`) + `]}}`,
		"events":             `{"events":[` + repeat(1500, `{"resource":"Pods","actions":["A%d"]}`) + `]}`,
		"actions":            `{"events":[{"resource":"Node","actions":[` + repeat(7000, `"%d"`) + `]}]}`,
		"two lists of keys":  `{"publishes":[` + repeat(4000, `"%d"`) + `],"cycleLocal":[` + repeat(4000, `"%d"`) + `]}`,
		"one name that long": `{"reads":{"` + strings.Repeat("x", 60_000) + `":[]}}`,
		"a schema of values": `{"config":{"enum":[` + repeat(10_000, `%d`) + `]}}`,
		"nesting":            `{"config":{"enum":` + strings.Repeat("[", 30_000) + strings.Repeat("]", 30_000) + `}}`,
	} {
		if len(manifest) > abi.MaxManifestSize {
			t.Fatalf("%s: the size limit refuses %d bytes before they are read", name, len(manifest))
		}
		n := allocated(func() {
			m, err := wire.DecodeManifest([]byte(manifest))
			if err == nil {
				err = m.Validate()
			}
			if err == nil {
				t.Errorf("%s: it is accepted", name)
			} else {
				_ = wrap("guest.wasm", "", err).Error()
			}
		})
		if n > 48<<20 {
			t.Errorf("%s: %d bytes were allocated", name, n)
		}
		t.Logf("%s: %d KiB", name, n>>10)
	}
}

func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
