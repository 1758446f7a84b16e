package memory

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/seeded"
)

// TestPlan: whatever a plan allows, instances that all grow as far as they may stay within the
// share of the plugin together; and no plan has fewer instances than there is room for.
func TestPlan(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		m := &wire.Manifest{Points: wire.ManifestPoints{Filter: &wire.ManifestPoint{Scope: "node"}}}
		rowless := 0
		if rapid.Bool().Draw(t, "preFilter") {
			m.Points.PreFilter, rowless = &wire.ManifestPoint{}, 1
		}
		aux := 0
		if rapid.Bool().Draw(t, "reserve") {
			m.Points.Reserve, aux = &wire.ManifestPoint{}, 1
		}
		if rapid.Bool().Draw(t, "preBind") {
			m.Points.PreBind = &wire.ManifestPoint{}
		}
		if rapid.Bool().Draw(t, "state") {
			m.Host = []string{abi.HostStateSet}
		}
		mebibytes := func(what string, most int) int64 { return int64(rapid.IntRange(1, most).Draw(t, what)) << 20 }
		b := NewBudget(Config{Own: uint32(mebibytes("own", 32)), Total: mebibytes("more", 192) + 64<<20, Manifest: m})
		if b.Join(Started{Memory: uint64(mebibytes("started", 8)), Native: uint64(mebibytes("native", 4)), Deep: uint64(mebibytes("deep", 16))}) != nil {
			return // too little for any plan
		}
		b.use.grew.Store(rapid.Bool().Draw(t, "grew"))
		rows, bytes := int64(rapid.IntRange(1, 64).Draw(t, "rows")), mebibytes("row", 4)/4
		needs := func(n int) (Needs, error) {
			if int64(n)*8 < rows {
				return Needs{}, errors.New("too few")
			}
			return Needs{Region: uint32((rows + int64(n) - 1) / int64(n) * bytes), Host: uint64(rows) << 18}, nil
		}
		most := rapid.IntRange(1, 16).Draw(t, "most")
		used := func(p *Plan) uint64 {
			n, _ := needs(p.Instances)
			holds, without, beside := b.Cycle(p, n.Region, true), b.Cycle(p, n.Region, false), b.Aux(0)
			place := uint64(0) // one instance at a time grows beyond its grant
			place = max(place, holds.max-holds.granted)
			if rowless > 0 {
				place = max(place, without.max-without.granted)
			}
			if aux+b.Binding() > 0 {
				place = max(place, beside.max-beside.granted)
			}
			d := &b.division
			return n.Host + place + d.deep + d.state + uint64(p.Instances)*(holds.granted+d.native) + uint64(rowless)*(without.granted+d.native) +
				uint64(aux+b.Binding())*(d.grant+d.native+AuxRegion)
		}
		p, err := b.Plan(most, needs)
		if err != nil {
			return
		}
		if got := used(&p); got > uint64(b.config.Total) || !b.Holds(&p) || b.Exceeds() {
			t.Fatalf("%d instances may grow to %d of %d bytes", p.Instances, got, b.config.Total)
		}
		if next := p; p.Instances < most {
			next.Instances++
			if _, err := needs(next.Instances); err == nil && !p.tight && used(&next) <= uint64(b.config.Total) {
				t.Fatalf("%d instances, and there is room for another", p.Instances)
			}
		}
	})
}

// TestPlaceForStacks: an instance has the place while it has more memory than its grant or a deep
// stack. One that starts does not wait for it.
func TestPlaceForStacks(t *testing.T) {
	b := NewBudget(Config{Own: 32 << 20, Total: 256 << 20, Manifest: &wire.Manifest{}})
	if err := b.Join(Started{Memory: PageSize, Deep: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	l := b.Aux(0)
	defer l.Free()
	for i, step := range []struct {
		do    func()
		taken int
	}{
		{l.Deepen, 0},
		{l.Started, 0},
		{l.Deepen, 1},
		{l.Deepen, 1},
		{l.Shallow, 0},
		{l.Shallow, 0},
		{l.Deepen, 1},
		{func() { l.Reallocate(b.division.grant + 2*PageSize) }, 1},
		{l.Shallow, 1},
		{l.Deepen, 1},
		{l.Shallow, 1},
		{l.Free, 0},
	} {
		if step.do(); len(b.use.large) != step.taken {
			t.Errorf("step %d: %d places are taken, want %d", i, len(b.use.large), step.taken)
		}
	}
}

// TestShares: plugins get their limit or the largest share, and together no more than there is.
func TestShares(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		p := NewProcess(rapid.Int64Range(1, 1<<20).Draw(t, "total"))
		for _, limit := range rapid.SliceOfN(rapid.Int64Range(1, 1<<20), 1, 8).Draw(t, "limits") {
			p.plugins[NewBudget(Config{Total: limit})] = &claim{most: limit}
		}
		shares, sum, largest := p.shares(), int64(0), int64(0)
		for _, share := range shares {
			sum, largest = sum+share, max(largest, share)
		}
		for b, share := range shares {
			// Division leaves less than one byte a plugin.
			if sum > p.total || share > b.config.Total || share < b.config.Total && share+int64(len(shares)) < largest {
				t.Fatalf("a plugin with the limit %d gets %d of %d, the largest share is %d", b.config.Total, share, p.total, largest)
			}
		}
	})
}

// TestFree: what plugins need as they run now is not free. Of a version and the one that takes its place, the larger one counts.
func TestFree(t *testing.T) {
	p := NewProcess(1000)
	old, replacement, other := NewBudget(Config{}), NewBudget(Config{}), NewBudget(Config{})
	p.plugins[old] = &claim{least: 100, most: 900, by: replacement}
	p.plugins[replacement] = &claim{least: 200, most: 900}
	p.plugins[other] = &claim{least: 10, most: 900}
	p.modules["m"] = &code{size: 50, users: 1}
	for i, c := range []struct{ old, other, free int64 }{{0, 0, 740}, {300, 0, 640}, {300, 600, 50}, {300, 700, 0}} {
		old.needed.Store(c.old)
		other.needed.Store(c.other)
		if free := p.Free(); free != c.free {
			t.Errorf("case %d: %d bytes are free, want %d", i, free, c.free)
		}
	}
}

// TestStates: the state of pods that wait is limited, apart from what they add later, and its room is free again.
func TestStates(t *testing.T) {
	b := NewBudget(Config{Own: 32 << 20, Total: 64 << 20, Manifest: &wire.Manifest{Host: []string{abi.HostStateSet}}})
	if err := b.Join(Started{}); err != nil {
		t.Fatal(err)
	}
	if want := uint64(5 << 20); b.division.state != want {
		t.Errorf("%d bytes are set aside, want %d", b.division.state, want)
	}
	pods := 0
	for {
		if _, ok := b.KeepState(abi.MaxStateSize); !ok {
			break
		}
		pods++
	}
	if pods != 16 {
		t.Errorf("%d pods of 256 KiB have room in 4 MiB", pods)
	}
	added := 0
	add := func() bool {
		_, ok := b.AddState(64 << 10)
		return ok
	}
	for add() {
		added++
	}
	if added != 16 {
		t.Errorf("%d times 64 KiB have room in 1 MiB", added)
	}
	if got := b.Usage().Host; got != 5<<20 {
		t.Errorf("%d bytes are in use", got)
	}
	b.DropState(abi.MaxStateSize, 64<<10)
	if _, ok := b.KeepState(abi.MaxStateSize); !ok || !add() {
		t.Error("the room of a pod is not free again")
	}
	if small := NewBudget(Config{Own: 1 << 20, Total: 256 << 20}); small.mostKept() != abi.MaxStateSize {
		t.Errorf("a plugin of small instances has %d bytes for states", small.mostKept())
	}
}

// TestModules: what modules take is counted once for each digest, and plugins have less by it.
func TestModules(t *testing.T) {
	p := NewProcess(100 << 20)
	b := NewBudget(Config{Name: "a", Own: 8 << 20, Total: 80 << 20, Manifest: &wire.Manifest{}, Process: p, Shrink: func() {}})
	if err := b.Join(Started{}); err != nil {
		t.Fatal(err)
	}
	share := func(want int64) {
		t.Helper()
		if got := b.Usage().Share; got != want<<20 {
			t.Errorf("it has %d bytes, want %d MiB", got, want)
		}
	}
	for range 2 {
		if err := p.Load("sha256:1", 40<<20, ""); err != nil {
			t.Fatal(err)
		}
		share(60)
	}
	var full *Full
	if err := p.Load("sha256:2", 58<<20, ""); !errors.As(err, &full) ||
		!strings.Contains(err.Error(), "the module and its machine code take 58Mi") {
		t.Errorf("%v", err)
	}
	share(60)
	if err := p.Load("sha256:3", 10<<20, ""); err != nil {
		t.Fatal(err)
	}
	share(50)
	p.Unload("sha256:1")
	share(50)
	p.Unload("sha256:1")
	share(80)
	alone := NewProcess(10 << 20)
	if err := alone.Load("sha256:1", 11<<20, ""); !errors.As(err, &full) {
		t.Errorf("a module has more memory than there is: %v", err)
	}
}

// TestReplaced: a version for which there is no room beside the old one has as much as that, and so has its module. What pods in
// flight keep of the old one counts apart if there is room.
func TestReplaced(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		p, beside := NewProcess(100<<20), NewBudget(Config{Total: 50 << 20})
		p.plugins[beside] = &claim{most: 50 << 20}
		if err := p.Load("1", 10<<20, ""); err != nil {
			t.Fatal(err)
		}
		needs := int64(rapid.IntRange(0, 40).Draw(t, "needs")) << 20
		var versions []*Budget
		add := func(least, size int64) error {
			b, digest, old, before := NewBudget(Config{Total: 50 << 20, Shrink: func() {}}), string(rune('1'+len(versions))), (*Budget)(nil), ""
			if len(versions) > 0 {
				old, before = versions[len(versions)-1], string(rune('0'+len(versions)))
			}
			if err := p.Load(digest, size, before); err != nil {
				return err
			}
			if err := p.join(b, least, old); err != nil {
				p.Unload(digest)
				return err
			}
			versions = append(versions, b)
			return nil
		}
		beside.config.Shrink = func() {}
		p.plugins[beside].least = 45 << 20
		for n := range rapid.IntRange(1, 3).Draw(t, "versions") {
			if err := add(40<<20, 10<<20); err != nil {
				t.Fatalf("version %d: %v", n, err)
			}
			if err := add(46<<20, 10<<20); err == nil {
				t.Fatal("a version needs more than the old one leaves")
			}
			if got := versions[n].share.Load(); got != 45<<20 {
				t.Fatalf("version %d has %d bytes", n, got)
			}
			if n > 0 {
				p.retire(versions[n-1], needs)
			}
		}
		last := versions[len(versions)-1]
		for i, b := range versions[:len(versions)-1] {
			if got := b.share.Load(); got != needs {
				t.Fatalf("version %d keeps %d bytes, want %d", i, got, needs)
			}
			p.leave(b)
			p.Unload(string(rune('1' + i)))
		}
		if got := last.share.Load(); got != 45<<20 || len(p.plugins) != 2 || p.left() != 90<<20 {
			t.Fatalf("in the end the plugin has %d bytes of %d", got, p.left())
		}
		p.leave(beside)
		if got := last.share.Load(); got != 50<<20 {
			t.Fatalf("alone the plugin has %d bytes", got)
		}
	})
}
