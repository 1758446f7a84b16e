package berthtest

import (
	"bytes"
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/berth-scheduler/berth/abi"
)

// ways are ways to make the same calls.
type ways int

const (
	once     ways = 1 << iota // all rows, or pods, in one call
	fresh                     // an instance for each call
	listed                    // rows as a list
	renumber                  // new ids, rows and slots before each call
)

// session makes calls in one way. Like a host, it has an instance for the points about nodes
// and an aux instance for the others.
type session struct {
	*Trial
	ways  ways
	order []int      // of rows; nil means the order of the nodes
	rand  *rand.Rand // for ids, slots and, with renumber, rows; nil means the order of appearance
	turns uint64
	cycle instance
	aux   instance
	last  *instance     // the last one called, with the image of the call
	retry time.Duration // the shortest that an attempt has asked for (ABI-5.22)
}

// instance is an instance and its region.
type instance struct {
	guest Guest
	base  uint32
	size  uint32
	img   *image
}

// numbers returns the next numbering for n rows. Rows of an aux instance are given by the
// point.
func (s *session) numbers(n int, aux bool) numbering {
	s.turns++
	numbers := numbering{order: s.order, rand: s.rand, seed: s.seed(), turn: s.turns}
	switch {
	case aux:
		numbers = numbering{order: perm(n, nil), rand: s.host.draw(), turn: s.turns}
	case s.ways&renumber != 0:
		numbers.order = s.rand.Perm(n)
	case s.order == nil:
		numbers.order = perm(n, nil)
	}
	return numbers
}

// exports returns the names of the points' functions.
func exports() map[abi.Point]string {
	return map[abi.Point]string{
		abi.PreEnqueue: abi.ExportPreEnqueue, abi.QueueSort: abi.ExportQueueKey, abi.Hint: abi.ExportHint,
		abi.PreFilter: abi.ExportPreFilter, abi.AddPod: abi.ExportAddPod, abi.RemovePod: abi.ExportRemovePod,
		abi.Filter: abi.ExportFilter, abi.PostFilter: abi.ExportPostFilter, abi.PreScore: abi.ExportPreScore,
		abi.Score: abi.ExportScore, abi.Normalize: abi.ExportNormalize, abi.Reserve: abi.ExportReserve,
		abi.Unreserve: abi.ExportUnreserve, abi.Permit: abi.ExportPermit, abi.PreBind: abi.ExportPreBind,
		abi.Bind: abi.ExportBind, abi.PostBind: abi.ExportPostBind,
	}
}

// pointName returns the name of a point in the output of a trial: reserve, pre_bind.
func pointName(p abi.Point) string { return exports()[p][len(abi.ExportPrefix):] }

// call calls one point with an image and checks what must hold after every call.
func (s *session) call(in *instance, img *image, point abi.Point, a asked) abi.Code {
	s.tb.Helper()
	s.place(in, img)
	export := exports()[point]
	s.host.img, s.host.pods = img, nil
	if a.pods > 0 {
		s.host.pods = img.content.list[a.pods-1:]
	}
	img.setCall(uint32(point), &a)
	copy(in.guest.Memory()[img.base:], img.data)
	code := abi.Code(in.guest.Call(export, img.base+img.call, a.lo, a.hi))
	after := in.guest.Memory()[img.base:][:len(img.data)]
	if !bytes.Equal(after[img.readFrom:img.readEnd], img.data[img.readFrom:img.readEnd]) || !bytes.Equal(after[:64], img.data[:64]) {
		s.tb.Fatalf("%s wrote into the snapshot or a pod (ABI-2.9)", export)
	}
	copy(img.data, after[:img.readFrom]) // the answers
	in.img, s.last = img, in
	if !slices.Contains(results(point), code) {
		s.tb.Fatalf("%s returned %v, want one of %v (ABI-5)", export, code, results(point))
	}
	d := s.retryAfter(img.data[img.call+abi.CallRetryAfter:])
	if d > 0 && point != abi.PreFilter && point != abi.Reserve && point != abi.Permit {
		s.tb.Fatalf("%s asks for another attempt, and a host does not look: call RetryAfter at preEnqueue, preFilter, reserve or permit (ABI-5.22)", export)
	}
	if d > 0 && (s.retry == 0 || d < s.retry) {
		s.retry = d
	}
	return code
}

// retryAfter reads how soon a pod is tried again (ABI-5.22).
func (s *session) retryAfter(data []byte) time.Duration {
	s.tb.Helper()
	ms := binary.LittleEndian.Uint64(data)
	if ms != 0 && s.manifest.Minor() == 0 {
		s.tb.Fatal("RetryAfter counts only if the manifest has \"abi\": \"1.1\" or later (ABI-5.22)")
	}
	return abi.RetryAfter(ms)
}

// again says that a pod is pending, and after which time it is tried again.
func again(after time.Duration) string {
	if after == 0 {
		return "pending"
	}
	return "pending, tried again after " + after.String()
}

// place makes an instance if there is none for the image, and moves the image to its region.
func (s *session) place(in *instance, img *image) {
	s.tb.Helper()
	size := uint32(len(img.data))
	if in.guest == nil || s.ways&fresh != 0 || size > in.size {
		g, err := s.instance()
		if err != nil {
			s.tb.Fatal(err)
		}
		*in = instance{guest: g, size: 2 * size}
		if in.base = g.Alloc(in.size, 64); in.base%64 != 0 || in.base == 0 {
			s.tb.Fatalf("berth_alloc returned %#x, want a multiple of 64 (ABI-2.4)", in.base)
		}
	}
	if img.base != in.base {
		img.moveTo(in.base)
	}
}

// results returns the codes that a point may return (ABI-5).
func results(p abi.Point) []abi.Code {
	reject := []abi.Code{abi.Success, abi.Unschedulable, abi.UnschedulableAndUnresolvable, abi.Pending, abi.Error}
	switch p {
	case abi.PreFilter:
		return []abi.Code{abi.Success, abi.Skip, abi.Unschedulable, abi.UnschedulableAndUnresolvable, abi.Error}
	case abi.PostFilter:
		return []abi.Code{abi.Success, abi.Unschedulable, abi.UnschedulableAndUnresolvable, abi.Error}
	case abi.PreScore:
		return []abi.Code{abi.Success, abi.Skip, abi.Error}
	case abi.Reserve, abi.PreBind:
		return reject
	case abi.Permit:
		return append(reject, abi.Wait)
	case abi.Bind:
		return append(reject, abi.Skip)
	}
	return []abi.Code{abi.Success, abi.Error}
}

// memory returns the memory of the last instance called, answer a field of its call record.
func (s *session) memory() []byte              { return s.last.guest.Memory() }
func (s *session) answer(offset uint32) uint32 { return s.last.img.answer(offset) }

// reasonSet returns the texts of a reason set of the last call (ABI-3.6).
func (s *session) reasonSet(n uint32) []string {
	s.tb.Helper()
	if n == 0 {
		return nil
	}
	mem := s.memory()
	if n > s.answer(68) {
		s.tb.Fatalf("reason set %d of %d (ABI-3.6)", n, s.answer(68))
	}
	set := mem[s.answer(64)+8*(n-1):]
	var texts []string
	for i := range binary.LittleEndian.Uint32(set[4:]) {
		text := mem[binary.LittleEndian.Uint32(set)+8*i:]
		texts = append(texts, string(mem[binary.LittleEndian.Uint32(text):][:binary.LittleEndian.Uint32(text[4:])]))
	}
	return texts
}

// judged returns the answer for the i-th row or pod of the last call.
func (s *session) judged(who string, i uint32) Verdict {
	s.tb.Helper()
	img := s.last.img
	v := Verdict{Node: who, Code: abi.Code(img.data[img.codes+i])}
	if v.Code == abi.Wait || v.Code == abi.Skip || v.Code >= abi.NumCodes {
		s.tb.Fatalf("the code for %s is %d, which is no verdict: return success, or what one of the SDK's functions returns for a reason (ABI-5.5)", who, v.Code)
	}
	if v.Code != abi.Success {
		v.Reasons = s.reasonSet(uint32(binary.LittleEndian.Uint16(img.data[img.reasons+2*i:])))
	}
	return v
}

// state is a plugin's state in a pod's cycle (ABI-7.4).
type state map[string][]byte

// kept returns the state that aux instances see: without keys that may hold ids (ABI-7.10).
func (s *session) kept(all state) state {
	m := maps.Clone(all)
	for _, key := range s.manifest.CycleLocal {
		delete(m, key)
	}
	return m
}

// use sets the state, and what other plugins published, for the next call of a point (ABI-5.20,
// 7.5, 7.9).
func (s *session) use(point abi.Point, values, published state) {
	h := s.host
	h.state, h.published, h.writable = values, published, true
	switch {
	case point <= abi.Hint:
		h.state, h.published = nil, nil
	case (point == abi.Filter || point == abi.Score) && s.manifest.Scope(point) == abi.ScopeNode:
		h.published, h.writable = nil, false
		if !s.manifest.Sharded() {
			h.state = nil
		}
	case point == abi.PreFilter && s.manifest.Sharded():
		h.published = nil
	}
}
