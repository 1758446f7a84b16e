package conformance

import (
	"testing"

	"github.com/berth-scheduler/berth/abi/wire"
)

// Tester is the interface of *testing.T in the kit's own tests.
type Tester = tester

// Library is testdata, read once for many runs.
type Library = library

// ReadLibrary returns it.
func ReadLibrary(t *testing.T) *Library {
	t.Helper()
	lib, err := readLibrary()
	if err != nil {
		t.Fatal(err)
	}
	return lib
}

// RunOn is Run on a Tester.
func (lib *library) RunOn(t Tester, h Host) { lib.run(t, h) }

// RunSchedulerOn is RunScheduler on a Tester.
func (lib *library) RunSchedulerOn(t Tester, s Scheduler) { lib.runScheduler(t, s) }

// GuestModule returns a guest of testdata with the manifest that cases give it.
func GuestModule(t *testing.T, name string) ([]byte, *wire.Manifest) {
	t.Helper()
	lib := ReadLibrary(t)
	b, err := lib.build(&setupDoc{Guest: name})
	if err != nil {
		t.Fatal(err)
	}
	return b.Module, b.manifest
}
