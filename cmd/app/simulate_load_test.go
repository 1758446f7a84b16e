package app

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/berth-scheduler/berth/abi/sdk/rust/cargo/cargotest"
	"github.com/berth-scheduler/berth/runtime/sim"
)

// TestRestRustHerd: of a thousand pods that come between two samples, the busiest node gets at most 1.05 times what it gets with a sample
// before each pod, because pods count of which samples know nothing. Without that, it is full.
func TestRestRustHerd(t *testing.T) {
	cargotest.Toolchain(t)
	const folder = "../../wasm-examples/catalogue/loadaware"
	module := filepath.Join(t.TempDir(), "target.wasm")
	call := func(args ...string) []byte {
		t.Helper()
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), args, &stdout, &stderr); code != exitOK {
			t.Fatalf("%v: %d, %s", args, code, stderr.String())
		}
		return stdout.Bytes()
	}
	call("plugin", "build", folder, "-o", module)
	busiest := func(feeds, config string) int64 {
		t.Helper()
		herd := folder + "/herd/"
		var r sim.Result
		err := json.Unmarshal(call("simulate", "--cluster", herd+"cluster.yaml", "--config", herd+"scheduler.yaml", "--feeds", herd+feeds,
			"--plugin", module+"?config="+herd+config, "-o", "json"), &r)
		if err != nil || r.Summary.Scheduled != 1_000 || len(r.Load) != 1 || r.Load[0].Mean != 24_500 {
			t.Fatalf("%v: %+v, %+v", err, r.Summary, r.Load)
		}
		return r.Load[0].Most
	}
	since, fresh, alone := busiest("samples.yaml", "config.json"), busiest("fresh.yaml", "ignore.json"), busiest("samples.yaml", "ignore.json")
	t.Logf("the busiest node uses %d milli-CPU with requestedSince, %d with fresh samples, %d with samples alone", since, fresh, alone)
	if float64(since) > 1.05*float64(fresh) || alone < 2*fresh {
		t.Error("requestedSince does not do what fresh samples do, or samples alone make no herd")
	}
}
