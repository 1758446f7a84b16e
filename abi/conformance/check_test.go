package conformance_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/conformance"
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/testrest"
)

// native is a plugin of the Go SDK as a guest, with mistakes in the part of the SDK.
type native struct {
	wrongly
	make func() berth.Plugin
	live *int
}

func (n native) New(_ context.Context, f conformance.Functions) (conformance.Instance, error) {
	if n.wrong("cannot be instantiated") {
		return nil, errors.New("no memory")
	}
	*n.live++
	return &nativeInstance{native: n, guest: berth.NewNative(n.make(), f)}, nil
}

func (n native) Exports(name string) bool {
	return slices.Contains(berth.Implements(n.make()), name)
}

type nativeInstance struct {
	native
	guest  *berth.Native
	allocs int
	calls  int
	region uint32
	faulty bool
	// Of the first call, and of the first call in an epoch.
	directory, known uint32
	header, column   uint32 // of the last place
	call, answers    uint32
	layout, most     uint32
	epoch            uint64
}

// trapped converts a panic to a trap, which it would be in a module.
func trapped(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("panic: %v", r)
	}
}

func (i *nativeInstance) Memory() []byte { return i.guest.Memory() }

func (i *nativeInstance) Alloc(_ context.Context, size, align uint32) (at uint32, err error) {
	defer trapped(&err)
	i.allocs++
	first := i.region
	switch {
	case i.wrong("has no room"):
		return 0, nil
	case i.wrong("the region is not aligned"):
		return i.guest.Alloc(size+align, align) + 8, nil
	case i.wrong("has no room for what it aligns"):
		return (i.guest.Alloc(size, 1) + align - 1) &^ (align - 1), nil
	case i.wrong("the region is out of bounds"):
		return (uint32(len(i.guest.Memory())) - size/2) &^ 63, nil
	case i.wrong("the region is over the configuration") && i.allocs == 2:
		i.guest.Alloc(size, align)
		return first &^ 63, nil
	case i.wrong("a large block is over the one before") && i.allocs > 2 && size >= 1<<16-105:
		i.guest.Alloc(size, align)
		return first &^ (align - 1), nil
	}
	i.region = i.guest.Alloc(size, align)
	return i.region, nil
}

func (i *nativeInstance) Configure(_ context.Context, at, length uint32) (result int32, err error) {
	defer trapped(&err)
	return i.guest.Configure(at, length), nil
}

func (i *nativeInstance) Call(_ context.Context, export string, call, lo, hi uint32) (result int32, err error) {
	defer trapped(&err)
	if i.faulty {
		panic("it was called after a fault")
	}
	defer func() { i.faulty = err != nil }()
	if i.call == 0 {
		i.call = call
	}
	if i.wrong("keeps where its first call was") {
		call = i.call
	}
	i.calls++
	if i.wrong("keeps room for each call") {
		i.guest.Alloc(256, 8)
	}
	memory := i.guest.Memory()
	header := binary.LittleEndian.Uint32(memory[call:])
	restore := i.remembers(memory, header, call)
	rows := binary.LittleEndian.Uint32(memory[call+abi.CallRows:])
	if i.wrong("a row set is not looked at by score") && export == abi.ExportScore {
		binary.LittleEndian.PutUint32(memory[call+abi.CallRows:], 0)
	}
	misread, first := i.misreads(memory, call, lo)
	result = i.guest.Call(export, call, first, hi+first-lo)
	memory = i.guest.Memory()
	misread.restore(memory)
	restore()
	binary.LittleEndian.PutUint32(memory[call+abi.CallRows:], rows)
	at := func(offset uint32) []byte { return memory[binary.LittleEndian.Uint32(memory[call+offset:]):] }
	n := binary.LittleEndian.Uint32(memory[call+abi.CallRowCount:])
	switch {
	case i.wrong("writes into the header"):
		memory[header+abi.HeaderGeneration]++
	case i.wrong("writes beyond its codes"):
		at(abi.CallCodes)[n] = 1
	case i.wrong("writes into a column"):
		table := at(abi.CallHeader)[abi.HeaderDirectory:]
		columns := memory[binary.LittleEndian.Uint32(table):][abi.TableColumnsAddr:]
		memory[binary.LittleEndian.Uint32(memory[binary.LittleEndian.Uint32(columns)+abi.ColumnAddress:])]++
	case i.wrong("fails after a while") && i.calls > 800 && export == abi.ExportPreFilter:
		return int32(abi.Error), nil
	case i.wrong("returns 9"):
		return 9, nil
	case i.wrong("has a reason set that is not there") && export == abi.ExportFilter:
		binary.LittleEndian.PutUint32(memory[call+abi.CallStatusReason:], 99)
	case i.wrong("has reasons beyond the memory"):
		binary.LittleEndian.PutUint32(memory[call+abi.CallReasonSets:], 0xfffffff0)
		binary.LittleEndian.PutUint32(memory[call+abi.CallReasonCount:], 2)
	case i.wrong("an overlay row is not judged") && export == abi.ExportFilter && binary.LittleEndian.Uint32(memory[call+abi.CallFlags:])&abi.CallOverlayRows != 0:
		at(abi.CallCodes)[0] = 0
	case i.wrong("reasons are in reverse") && export == abi.ExportFilter:
		slices.Reverse(unsafe.Slice((*uint16)(unsafe.Pointer(&at(abi.CallReasons)[0])), n))
	case i.wrong("all pods of a list are answered as the first") && export == abi.ExportPreEnqueue:
		copy(at(abi.CallCodes)[1:n], bytes.Repeat(at(abi.CallCodes)[:1], int(n)))
	case i.wrong("only the first 64 pods are held back") && export == abi.ExportPreEnqueue:
		clear(at(abi.CallCodes)[min(n, 64):n])
	case i.wrong("minds what it does not know") && binary.LittleEndian.Uint16(memory[header+abi.HeaderMinor:]) > abi.Minor:
		return int32(abi.Error), nil
	}
	return result, nil
}

// remembers has the guest see what it kept of an earlier call, and returns what undoes it.
func (i *nativeInstance) remembers(memory []byte, header, call uint32) (restore func()) {
	put := func(at, value uint32) func() {
		was := binary.LittleEndian.Uint32(memory[at:])
		binary.LittleEndian.PutUint32(memory[at:], value)
		return func() { binary.LittleEndian.PutUint32(memory[at:], was) }
	}
	tables := binary.LittleEndian.Uint32(memory[header+abi.HeaderDirectory:])
	if i.directory == 0 {
		i.directory = tables
	}
	if i.wrong("looks at a layout once at each place") {
		return i.placed(memory, header, put)
	}
	if i.wrong("keeps where the tables are") {
		return put(header+abi.HeaderDirectory, i.directory)
	}
	if layout := binary.LittleEndian.Uint32(memory[header+abi.HeaderLayout:]); i.wrong("a layout has 16 bits") {
		if uint16(i.layout) != uint16(layout) {
			i.layout, i.directory = layout, tables
		}
		return put(header+abi.HeaderDirectory, i.directory)
	}
	if i.wrong("keeps where scores go while the layout stays") {
		return i.laid(memory, header, call+abi.CallScores, put)
	}
	if i.wrong("keeps where the header is while the layout stays") {
		return i.laid(memory, header, call+abi.CallHeader, put)
	}
	if i.wrong("keeps where the pod is while the layout stays") {
		return i.laid(memory, header, call+abi.CallPod, put)
	}
	short := i.wrong("an epoch has 32 bits")
	if i.wrong("scans strings once in an epoch") || short {
		for n := range binary.LittleEndian.Uint32(memory[header+abi.HeaderTables:]) {
			entry := tables + n*abi.TableSize
			if abi.TableID(binary.LittleEndian.Uint32(memory[entry+abi.TableEntryID:])) != abi.TableStrings {
				continue
			}
			rows := binary.LittleEndian.Uint32(memory[entry+abi.TableRows:])
			if epoch := binary.LittleEndian.Uint64(memory[header+abi.HeaderEpoch:]); epoch != i.epoch && (!short || uint32(epoch) != uint32(i.epoch)) {
				i.epoch, i.known = epoch, rows
			}
			return put(entry+abi.TableRows, min(i.known, rows))
		}
	}
	return func() {}
}

// laid has the guest see what a field of the call record was in the first call with the layout.
func (i *nativeInstance) laid(memory []byte, header, field uint32, put func(at, value uint32) func()) (restore func()) {
	if layout := binary.LittleEndian.Uint32(memory[header+abi.HeaderLayout:]); i.layout != layout {
		i.layout, i.answers = layout, binary.LittleEndian.Uint32(memory[field:])
	}
	return put(field, i.answers)
}

// placed has the guest see the address of the strings' bytes that it saw with a header at the
// same place.
func (i *nativeInstance) placed(memory []byte, header uint32, put func(at, value uint32) func()) (restore func()) {
	tables := binary.LittleEndian.Uint32(memory[header+abi.HeaderDirectory:])
	for n := range binary.LittleEndian.Uint32(memory[header+abi.HeaderTables:]) {
		entry := tables + n*abi.TableSize
		if abi.TableID(binary.LittleEndian.Uint32(memory[entry:])) != abi.TableStrings {
			continue
		}
		column := binary.LittleEndian.Uint32(memory[entry+abi.TableColumnsAddr:]) + abi.ColumnSize + abi.ColumnAddress
		if i.header != header {
			i.header, i.column = header, binary.LittleEndian.Uint32(memory[column:])
		}
		return put(column, i.column)
	}
	return func() {}
}

func (i *nativeInstance) Close(context.Context) error {
	*i.live--
	return nil
}

// check checks a plugin of guests_test.go.
func check(t *testing.T, name, mistake string, cycles int) *conformance.Report {
	t.Helper()
	return checkSeed(t, 5, name, mistake, cycles)
}

func checkSeed(t *testing.T, seed uint64, name, mistake string, cycles int) *conformance.Report {
	t.Helper()
	text, man := manifests(t, name)
	o := conformance.Options{Seed: seed, Cycles: cycles, Published: map[string][]byte{"plan/bonus": []byte("3")}}
	live := 0
	guest := native{wrongly: wrongly{mistake}, live: &live, make: func() berth.Plugin { return newEverything(text, mistake) }}
	switch name {
	case "sums":
		guest.make = func() berth.Plugin { return newSums(text, mistake) }
	case "pools":
		o.Config = []byte(`{"team-a": "gpu", "team-b": "a"}`)
		guest.make = func() berth.Plugin { return newPools(text, mistake) }
	}
	if mistake == "logs what it did not declare" {
		man.Host = slices.DeleteFunc(man.Host, func(f string) bool { return f == abi.HostLog })
	}
	report, err := conformance.Check(t.Context(), guest, man, o)
	if err != nil {
		t.Fatal(err)
	}
	if live != 0 {
		t.Errorf("%d instances are not closed", live)
	}
	return report
}

// rightGuest returns the report of 24 cycles of a plugin without a mistake, which several tests read.
func rightGuest(t *testing.T, name string) *conformance.Report {
	t.Helper()
	if report := rightGuests[name]; report != nil {
		return report
	}
	report := check(t, name, "", 24)
	rightGuests[name] = report
	return report
}

var rightGuests = map[string]*conformance.Report{}

// TestCheckPassesGoodGuests: plugins that fulfil all duties pass, one of scope node and one
// with every point. Every duty is checked for at least one of them.
func TestCheckPassesGoodGuests(t *testing.T) {
	looked := map[string]bool{}
	for _, name := range []string{"pools", "everything", "sums"} {
		report := rightGuest(t, name)
		if !report.OK() {
			t.Errorf("%s:\n%s", name, report)
		}
		for _, d := range report.Duties {
			looked[d.Name] = looked[d.Name] || d.Verdict == conformance.Passed && d.Times > 0
		}
		if report.Answers["preScore"]["Error"] > 0 {
			t.Errorf("%s: published values are missing", name)
		}
		for point, answers := range report.Answers {
			if len(answers) < 2 && !slices.Contains([]string{"addPod", "removePod", "preFilter", "unreserve", "postBind", "preBind", "reserve"}, point) {
				t.Errorf("%s: all answers are the same at %s: %v", name, point, answers)
			}
		}
	}
	for name, ok := range looked {
		if !ok && name != "the module is as its manifest says" {
			t.Errorf("for no good guest it was checked that %s", name)
		}
	}
}

// TestCheckOfFewCycles: with few cycles the clusters have fewer nodes, pods and labels than what else a call may be about,
// an event for example, which must have room too.
func TestCheckOfFewCycles(t *testing.T)     { checkOfFewCycles(t) }
func TestRestCheckOfFewCycles(t *testing.T) { checkOfFewCycles(t) }

func checkOfFewCycles(t *testing.T) {
	t.Helper()
	seeds := uint64(12)
	if !testrest.In(t) {
		seeds = 3 // slow: each is a whole check of three plugins
	}
	for seed := range seeds {
		for _, name := range []string{"pools", "everything", "sums"} {
			cycles := 1 + int(seed)%4
			if report := checkSeed(t, seed, name, "", cycles); !report.OK() {
				t.Errorf("%s, seed %d, %d cycles:\n%s", name, seed, cycles, report)
			}
		}
	}
}

// TestCheckFindsMistakes: a guest with one mistake fails the duty that is about it, with an
// example that a person can read.
func TestCheckFindsMistakes(t *testing.T)     { checkFindsMistakes(t) }
func TestRestCheckFindsMistakes(t *testing.T) { checkFindsMistakes(t) }

func checkFindsMistakes(t *testing.T) {
	t.Helper()
	all, sample := guestMistakes(), rand.New(rand.NewPCG(1, 1))
	for _, mistake := range slices.Sorted(maps.Keys(all)) {
		if drawn := sample.IntN(16) == 0; !drawn && !testrest.In(t) {
			continue // slow: each is a whole check, of all duties
		}
		want := all[mistake]
		t.Run(mistake, func(t *testing.T) {
			// Most are found in a few cycles, which are much quicker than those that authors get.
			for _, cycles := range []int{8, 24, 0} {
				report := check(t, want.plugin, mistake, cycles)
				at := slices.IndexFunc(report.Duties, func(d conformance.Duty) bool { return strings.HasPrefix(d.Name+" (", want.duty) })
				if at < 0 {
					t.Fatalf("unknown duty %q", want.duty)
				}
				if d := report.Duties[at]; !report.OK() && d.Verdict == conformance.Failed && d.Failures > 0 && d.Example != "" && len(d.Cites) > 0 {
					return
				} else if cycles == 0 {
					t.Errorf("%q does not fail:\n%s", want.duty, report)
				}
			}
		})
	}
}

// TestGuestMistakesAreMade: the guests can make each mistake in the list, and each that they
// can make is in the list.
func TestGuestMistakesAreMade(t *testing.T) {
	made := map[string]bool{}
	for _, path := range []string{"check_test.go", "guests_test.go", "guests_sums_test.go", "guests_memory_test.go"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`wrong\("([^"]+)"\)`).FindAllStringSubmatch(string(text), -1) {
			made[m[1]] = true
		}
		for _, m := range regexp.MustCompile(`ends\(\w, (?:kind\+)?"([^"]+)"\)`).FindAllStringSubmatch(string(text), -1) {
			for list, rooms := range lists() {
				for _, n := range rooms {
					made[onlyFirst(n, list)] = made[onlyFirst(n, list)] || strings.HasSuffix(list, m[1])
				}
			}
		}
	}
	for mistake := range guestMistakes() {
		if !made[mistake] && mistake != "logs what it did not declare" {
			t.Errorf("no guest does %q", mistake)
		}
		delete(made, mistake)
	}
	for mistake := range made {
		t.Errorf("%q is in no test", mistake)
	}
}

// TestRestCheckAllowsBlocks: a guest of scope node may have room for no more rows than a block has (ABI-5.4).
func TestRestCheckAllowsBlocks(t *testing.T) {
	if report := check(t, "pools", mayBe, 0); !report.OK() {
		t.Error(report)
	}
}

// TestUnsaid: a report lists the codes of a point and the reasons of the guest that no answer
// had.
func TestUnsaid(t *testing.T) {
	report := rightGuest(t, "pools")
	for _, want := range []string{"; never UnschedulableAndUnresolvable, Pending\n", "\"never said\" was never returned: add a hint\n"} {
		if !strings.Contains(report.String(), want) {
			t.Errorf("the report has no %q:\n%s", want, report)
		}
	}
	if want := []string{"never said"}; !slices.Equal(report.Unsaid, want) {
		t.Errorf("not said: %q, want %q", report.Unsaid, want)
	}
	// A Wait is one however long it is, and a row set is not a code.
	report = rightGuest(t, "everything")
	for _, want := range []string{
		`permit answered \d+ Success, \d+ Wait for 1000 ms; never Unschedulable, UnschedulableAndUnresolvable, Pending\n`,
		`preFilter answered 24 Success, 24 row sets; never Skip, Unschedulable, UnschedulableAndUnresolvable\n`,
	} {
		if !regexp.MustCompile(want).MatchString(report.String()) {
			t.Errorf("the report has no %q:\n%s", want, report)
		}
	}
}

// TestReportOfHints: a hint's codes have the names of the SDKs, and a point that can only succeed is not
// said to need hints.
func TestReportOfHints(t *testing.T) {
	text := (&conformance.Report{Answers: map[string]map[string]int{
		"hint": {"Success": 3}, "addPod": {"Success": 2}, "preBind": {"Success": 1},
	}}).String()
	const want = `addPod answered 2 Success
hint answered 3 Queue; never QueueSkip
      always the same: give hints, strings that are meaningful to the plugin, or a configuration
preBind answered 1 Success; never Unschedulable, UnschedulableAndUnresolvable, Pending
      always the same: give hints, strings that are meaningful to the plugin, or a configuration
the guest conforms
`
	if text != want {
		t.Errorf("got\n%s", text)
	}
}

// TestCheckIsDeterministic: the same seed gives the same report, and another seed a different
// one.
func TestCheckIsDeterministic(t *testing.T) {
	first, second := check(t, "pools", "depends on ids", 24).String(), check(t, "pools", "depends on ids", 24).String()
	if first != second {
		t.Errorf("first:\n%s\nsecond:\n%s", first, second)
	}
}

// wasmGuest is a module as a guest, run by the interpreter.
type wasmGuest struct{ m *engineModule }

func (g wasmGuest) Exports(name string) bool {
	e, ok := g.m.Export(name)
	return ok && e.Kind == wire.KindFunc
}

func (g wasmGuest) New(_ context.Context, f conformance.Functions) (conformance.Instance, error) {
	vm, err := g.m.start(map[string]hostFunc{
		"berth.log": func(vm *engineInstance, a []uint64) []uint64 {
			f.Log(int(int32(a[0])), string(vm.Read(a[1], a[2])))
			return nil
		},
		"berth.state_get": func(vm *engineInstance, a []uint64) []uint64 {
			value, ok := f.StateGet(string(vm.Read(a[0], a[1])))
			if !ok {
				return minusOne()
			}
			copy(vm.Read(a[2], a[3]), value)
			return []uint64{uint64(len(value))}
		},
		"berth.published_get": func(vm *engineInstance, a []uint64) []uint64 {
			value, ok := f.PublishedGet(uint32(a[0]))
			if !ok {
				return minusOne()
			}
			if len(value) <= int(a[2]) {
				copy(vm.Read(a[1], a[2]), value)
			}
			return []uint64{uint64(len(value))}
		},
		"berth.state_set": func(vm *engineInstance, a []uint64) []uint64 {
			if !f.StateSet(string(vm.Read(a[0], a[1])), vm.Read(a[2], a[3])) {
				return minusOne()
			}
			return []uint64{0}
		},
	})
	return &wasmInstance{vm}, err
}

type wasmInstance struct{ vm *engineInstance }

func (i *wasmInstance) Memory() []byte              { return i.vm.Memory() }
func (i *wasmInstance) Close(context.Context) error { return nil }

func (i *wasmInstance) Alloc(_ context.Context, size, align uint32) (uint32, error) {
	out, err := i.vm.Call(abi.ExportAlloc, uint64(size), uint64(align))
	if err != nil {
		return 0, err
	}
	return uint32(out[0]), nil
}

func (i *wasmInstance) Configure(_ context.Context, at, length uint32) (int32, error) {
	out, err := i.vm.Call(abi.ExportConfigure, uint64(at), uint64(length))
	if err != nil {
		return 0, err
	}
	return int32(out[0]), nil
}

func (i *wasmInstance) Call(_ context.Context, export string, call, lo, hi uint32) (int32, error) {
	args := []uint64{uint64(call), uint64(lo), uint64(hi)}
	if e, _ := i.vm.m.Export(export); true {
		t, _ := i.vm.m.FuncType(e.Index)
		args = args[:len(t.Params)]
	}
	out, err := i.vm.Call(export, args...)
	if err != nil {
		return 0, err
	}
	return int32(out[0]), nil
}

// TestCheckOfModules checks Run's own guests as modules: one that answers from columns, one
// that logs its memory at each call, and one that traps.
func TestCheckOfModules(t *testing.T) {
	for _, c := range []struct {
		guest, config string
		ok            bool
		says          string
	}{
		{"filter", `{"filter": [["codes", 2], ["set", "busy"], ["reasons", 1]]}`, true, "answered"},
		{"score", `{"score": [["scoresBy", 0]]}`, false, "answers of score are well formed"},
		{"filter", `{"filter": [["mark"], ["trap"]]}`, false, "no call traps"},
		{"filter", `{"filter": [["write", 1, 16, 77]]}`, false, "only answers are written into the region"},
	} {
		module, man := conformance.GuestModule(t, c.guest)
		m, err := loadEngine(module, 0)
		if err != nil {
			t.Fatal(err)
		}
		report, err := conformance.Check(t.Context(), wasmGuest{m}, man, conformance.Options{Module: module, Config: []byte(c.config), Cycles: 24})
		if err != nil {
			t.Fatal(err)
		}
		failed := ""
		for _, d := range report.Duties {
			if d.Verdict == conformance.Failed {
				failed += d.Name + "; "
			}
		}
		if report.OK() != c.ok || !strings.Contains(failed+report.String(), c.says) {
			t.Errorf("%s with %s:\n%s", c.guest, c.config, report)
		}
	}
}
