package conformance

import (
	"testing"

	"github.com/berth-scheduler/berth/abi/wire"
)

// Tester is what the kit's own tests run it on.
type Tester = tester

// RunOn is Run on something else than a *testing.T.
func RunOn(t Tester, h Host) { run(t, h) }

// RunSchedulerOn is RunScheduler likewise.
func RunSchedulerOn(t Tester, s Scheduler) { runScheduler(t, s) }

// GuestModule returns a guest of testdata with the manifest that cases give it.
func GuestModule(t *testing.T, name string) ([]byte, *wire.Manifest) {
	t.Helper()
	lib, err := readLibrary()
	if err != nil {
		t.Fatal(err)
	}
	b, err := lib.build(&setupDoc{Guest: name})
	if err != nil {
		t.Fatal(err)
	}
	return b.Module, b.manifest
}
