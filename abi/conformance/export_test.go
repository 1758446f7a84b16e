package conformance

import (
	"testing"

	"github.com/berth-scheduler/berth/abi/wire"
)

// Tester is the interface of *testing.T in the kit's own tests.
type Tester = tester

// RunOn is Run on a Tester.
func RunOn(t Tester, h Host) { run(t, h) }

// RunSchedulerOn is RunScheduler on a Tester.
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
