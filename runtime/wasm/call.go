package wasm

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
	"github.com/berth-scheduler/berth/runtime/wasm/mirror"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// request is one call of a guest's point.
type request struct {
	point abi.Point
	rows  []uint32 // of the host, ascending; nil for a point without rows
	// verdicts receives filter's answers, from position at on.
	verdicts *plugin.Verdicts
	at       int
	// scores receives score's and normalize's answers, and is normalize's input.
	scores []int64
	// inRange says that scores must be in range already.
	inRange bool
	// stateful calls may write state.
	stateful bool
	// pods are those of the pod list, or else the one to be placed. batch is their number
	// at points about many pods, and 0 at others.
	pods  []*state.Pod
	batch int
	keys  [][]byte // receives queue_key's answers
	fuel  int64    // that the call has used
	// spent is the fuel of all parts of a call that is split, and overrun what identifies it, if that is asked for.
	spent   int64
	overrun *Overrun

	state *state.CycleState // of the pod's cycle; nil for none
}

// n returns how many answers there are.
func (r *request) n() int {
	if r.batch > 0 {
		return r.batch
	}
	return len(r.rows)
}

// reply is what a guest answered to a call as a whole.
type reply struct {
	code   abi.Code
	status *plugin.Status // nil for Success
	rows   []uint32       // pre_filter's row set
	// directives are checked against the grants.
	directives []wire.Directive
	wait       uint64 // milliseconds
	retry      uint64 // milliseconds
}

// call makes one call. The caller has entered the cycle.
func (s *shard) call(c *plugin.Cycle, r *request) (_ reply, f *fault.Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.core
	defer func() { p.counts.fault(r.point, f) }()
	allowed, starts := p.ration.enter(r.point, len(r.rows) == 1 && int(r.rows[0]) >= c.Snapshot.Capacity(), func() bool { return p.affordsStarts(c.Pod.Namespace) })
	switch {
	case !allowed:
		return reply{}, p.ration.refuse(r.point, true, func(point abi.Point) *fault.Fault {
			return p.spent(point, p.config.Limits.CycleFuel(c.Snapshot.Len()))
		})
	case !starts:
		return reply{}, p.ration.refuse(r.point, false, func(point abi.Point) *fault.Fault { return p.breaker.StartFault(c.Pod.Namespace, point) })
	}
	defer func() {
		large := s.large()
		if f != nil || large {
			s.discard(c.Context) // ABI-2.10
		}
		switch {
		case f != nil:
			p.lost(f, s.columns(c.Snapshot))
		case large && (s.rowless || s.cycles.plan.Tight()): // otherwise the next plan has fewer instances
			p.ending.Restart(p.restartFuel(s.columns(c.Snapshot)))
			p.starts.pay(ofCycles)
		}
	}()
	defer p.faults.guard(r.point, &f)
	defer func() { p.ration.used(r.fuel) }()
	if s.guest == nil { // an earlier call was faulted
		if f := p.faults.of(r.point, s.src.explain(s.revive(c.Context, c.Snapshot))); f != nil {
			return reply{}, f
		}
	}
	lo, hi, err := s.prepare(c, r)
	for try := 0; errors.Is(err, mirror.ErrNoRoom) && try < maxGrowth; try++ { // overlay rows may need more
		if err = s.revive(c.Context, c.Snapshot, r.rows...); err == nil {
			lo, hi, err = s.prepare(c, r)
		}
	}
	if err != nil {
		return reply{}, p.faults.of(r.point, s.src.explain(err))
	}
	if r.pods == nil {
		r.pods = s.cycles.pods[:]
	}
	r.state = c.State
	if !r.stateful && !p.sharded { // pre_filter saw rows, which a point of scope node must not (ABI-7.5)
		r.state = nil
	}
	return s.run(c.Context, c.Snapshot, r, lo, hi)
}

// run calls the guest and reads its answers.
func (s *shard) run(ctx context.Context, snap *state.Snapshot, r *request, lo, hi uint32) (reply, *fault.Fault) {
	p, env := s.core, s.host.env
	if f := p.repeated(r, snap); f != nil {
		return reply{}, f
	}
	bad := func(kind fault.Kind, detail string) (reply, *fault.Fault) {
		return reply{}, p.faults.at(r.point, kind, detail, env)
	}
	verify := s.sampled(r.n())
	if verify && p.config.VerifyEvery > 1 && !s.ShowsOverlay() {
		if ok, err := s.Restore(snap); err != nil {
			return reply{}, p.faults.of(r.point, s.src.explain(err))
		} else if !ok {
			return bad(fault.WroteSnapshot, "the guest has changed columns, which belong to the host, since the last check")
		}
	}
	s.host.begin(p, r)
	s.host.ledger = s.src.ledger
	p.counts.calls.Add(1)
	var before uint64
	if verify {
		before = s.Hash()
	}
	env.Begin(p.config.Limits.CallFuel(r.n()))
	result, err := s.guest.Call(ctx, r.point, s.Base()+s.Layout().Call, lo, hi)
	s.host.end()
	r.fuel = env.Used()
	r.spent += r.fuel
	p.counts.used(r.point, r.n(), r.fuel)
	if value, stack, ok := env.Panic(); ok {
		return reply{}, p.faults.bug(r.point, value, stack)
	}
	if err != nil {
		return reply{}, p.trapped(r, err, env)
	}
	if err := s.view(); err != nil {
		return bad(fault.Trap, err.Error())
	}
	if verify && s.Hash() != before {
		return bad(fault.WroteSnapshot, "the guest changed columns, which belong to the host")
	}
	if result >= abi.NumCodes {
		return bad(fault.Output, fmt.Sprintf("%s returned %d, which is no status code", sandbox.ExportOf(r.point), result))
	}
	return s.answer(r, abi.Code(result))
}

// prepare writes what the call needs and returns its bounds.
func (s *shard) prepare(c *plugin.Cycle, r *request) (lo, hi uint32, err error) {
	if err := s.view(); err != nil {
		return 0, 0, s.core.faults.at(r.point, fault.Trap, err.Error(), s.host.env)
	}
	l := s.Layout()
	s.SyncPod()
	call := wire.Call{Point: r.point, PodSize: s.src.PodSize(), N: uint32(len(r.rows))}
	if r.point == abi.AddPod || r.point == abi.RemovePod {
		if err := s.WriteOther(r.pods[0]); err != nil {
			return 0, 0, err
		}
		call.Pods = true
	}
	if n := len(r.rows); n == 1 && int(r.rows[0]) >= c.Snapshot.Capacity() {
		if lo, err = s.Overlay(c.Snapshot, r.rows[0]); err != nil {
			return 0, 0, err
		}
		hi, call.Flags = lo+1, abi.CallOverlayRows
	} else if n > 0 {
		lo, hi = s.Local(r.rows[0]), s.Local(r.rows[n-1])+1
		if call.N > l.MaxRows || hi > s.Rows() {
			panic(fmt.Sprintf("BUG: %d rows up to %d asked of an instance that has %d", n, hi, s.Rows()))
		}
		if hi-lo != uint32(n) {
			call.RowSet = true
			s.WriteRowSet(r.rows)
		}
	}
	cycle := wire.Cycle{Epoch: s.src.Epoch(), Generation: s.core.generation(c.Snapshot.Generation, s.cycles.begun), State: 1}
	if !s.core.nodeScoped(r.point) {
		cycle.Seed = s.core.seed(c.Seed)
	}
	s.WriteCall(cycle, call)
	if r.point == abi.PostFilter {
		for i, code := range r.verdicts.Codes {
			s.Region()[l.Codes+uint32(i)] = byte(code)
		}
	}
	if r.point == abi.Normalize {
		for i, score := range r.scores {
			binary.LittleEndian.PutUint64(s.Region()[l.Scores+8*uint32(i):], uint64(score))
		}
	}
	s.Flush()
	return lo, hi, nil
}
