package conformance

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/conformance/cluster"
	"github.com/berth-scheduler/berth/abi/conformance/internal/view"
	"github.com/berth-scheduler/berth/abi/wire"
)

// sight is what a guest must see in one call. Dumps are compared with it.
type sight struct {
	man     *wire.Manifest
	reads   *view.Reads
	cluster *cluster.Cluster
	// pod is the pod to be placed, with the patches of earlier points; may be nil.
	pod  *cluster.Pod
	call *Call
	// configured is true if the guest exports berth_configure.
	configured bool

	problems []string
	seen     map[string]int // rows in calls, by the node's name
}

func (s *sight) wrong(rule, format string, args ...any) {
	s.problems = append(s.problems, fmt.Sprintf(format, args...)+" ("+rule+")")
}

// check returns what is wrong with the dumps of one call.
func (s *sight) check(dumps []*dump) []string {
	s.seen = map[string]int{}
	for _, d := range dumps {
		s.one(d)
	}
	if byRows := s.call.Point >= abi.Filter && s.call.Point <= abi.Normalize; len(dumps) == 0 && (!byRows || len(s.asked()) > 0) {
		s.wrong("ABI-5", "the function of the point was not called")
	}
	if s.call.WhatIf != nil || len(s.problems) > 0 || s.call.Point == abi.PreFilter {
		return s.problems
	}
	for _, name := range s.asked() {
		if s.seen[name] != 1 {
			s.wrong("ABI-3.1", "node %s is %d times in one call", name, s.seen[name])
		}
	}
	return s.problems
}

// asked returns the nodes of a call's rows.
func (s *sight) asked() []string {
	if s.call.Point != abi.PostFilter {
		return s.call.Nodes
	}
	var all []string
	for i := range s.cluster.Nodes {
		all = append(all, s.cluster.Nodes[i].Metadata.Name)
	}
	return all
}

func (s *sight) one(d *dump) {
	if s.life(d); len(s.problems) > 0 {
		return
	}
	call, snapshot, reader, err := d.snapshot()
	if err != nil {
		s.problems = append(s.problems, err.Error())
		return
	}
	s.placed(d, call, snapshot)
	s.header(call, snapshot)
	if err := reader.Strings(); err != nil {
		s.problems = append(s.problems, err.Error())
	}
	if len(s.problems) > 0 {
		return
	}
	s.record(d, call)
	s.bounds(d, call, snapshot, reader)
	s.content(call, snapshot, reader)
	s.pods(d, call, reader)
	s.slots(snapshot)
}

// life checks what happened to the instance before the call, and its allocations.
func (s *sight) life(d *dump) {
	for letter, rule := range map[string]string{"i": "ABI-2.1", "v": "ABI-2.2", "c": "ABI-2.3"} {
		if n := strings.Count(d.life, letter); n > 1 {
			s.wrong(rule, "functions to be called once were called %d times in an instance: %s (v berth_abi, a berth_alloc, c berth_configure, i _initialize)", n, d.life)
		}
	}
	switch at := func(letter string) int { return strings.Index(d.life, letter) }; {
	case at("S") >= 0:
		s.wrong("ABI-2.1", "_start was called")
	case at("i") > 0:
		s.wrong("ABI-2.1", "_initialize was called after other functions: %s", d.life)
	case at("v") < 0 || at("c") >= 0 && at("c") < at("v"):
		s.wrong("ABI-2.2", "berth_abi was not called before berth_configure: %s", d.life)
	case s.configured && at("c") < 0:
		s.wrong("ABI-2.3", "berth_configure was not called: %s", d.life)
	}
	for _, a := range d.allocs {
		if a.align == 0 || a.align&(a.align-1) != 0 || a.align > abi.RegionAlign {
			s.wrong("ABI-2.12", "berth_alloc was called with align %d, which is no power of two up to %d", a.align, abi.RegionAlign)
		}
	}
	region, ok := d.region()
	want := 1
	if s.configured {
		want = 2 // one for the configuration
	}
	switch {
	case !ok:
		s.wrong("ABI-2.4", "the call record at %#x is not in memory from berth_alloc", d.call)
	case region.align != abi.RegionAlign:
		s.wrong("ABI-2.4", "the region was allocated with align %d, not %d", region.align, abi.RegionAlign)
	case len(d.allocs) > want:
		s.wrong("ABI-2.4", "berth_alloc was called %d times in an instance; there must be one region", len(d.allocs))
	}
}

// placed checks that everything begins where it may, inside the region.
func (s *sight) placed(d *dump, call *wire.CallView, snapshot *wire.Snapshot) {
	region, _ := d.region()
	inside := func(what string, address, size uint64) {
		from := uint64(region.address)
		if address < from || address+size > from+uint64(region.size) {
			s.wrong("ABI-2.5", "%s at %#x is not in the region", what, address)
		} else if (address-from)%64 != 0 {
			s.wrong("ABI-2.4", "%s begins at %#x, which is not a multiple of 64 bytes from the region's start", what, address)
		}
	}
	n := uint64(call.N)
	r := d.memory[d.call:]
	field := func(offset int) uint64 { return uint64(binary.LittleEndian.Uint32(r[offset:])) }
	inside("the call record", uint64(d.call), abi.CallSize)
	inside("the header", uint64(call.Header), abi.HeaderSize)
	for _, part := range []struct {
		what   string
		offset int
		size   uint64
	}{
		{"the pod record", abi.CallPod, uint64(call.PodSize)}, {"the row set", abi.CallRows, 4 * n}, {"codes", abi.CallCodes, n},
		{"reasons", abi.CallReasons, 2 * n}, {"scores", abi.CallScores, 8 * n}, {"queue entries", abi.CallQueue, abi.QueueEntrySize * n},
		{"keys", abi.CallKeys, abi.KeySize * n}, {"the event record", abi.CallEvent, abi.EventSize},
	} {
		if at := field(part.offset); at != 0 {
			inside(part.what, at, part.size)
		}
	}
	for i := range snapshot.Tables {
		for j := range snapshot.Tables[i].Columns {
			c := &snapshot.Tables[i].Columns[j]
			if region := d.memory[region.address:]; len(c.Data) > 0 && (uint64(len(c.Data)) > uint64(len(region))) {
				s.wrong("ABI-2.5", "column %d is larger than the region", c.ID)
			}
		}
	}
}

// header checks ABI-4.1.
func (s *sight) header(call *wire.CallView, snapshot *wire.Snapshot) {
	if snapshot.Major != abi.Major || snapshot.Minor < abi.Minor {
		s.wrong("ABI-4.1", "the header is of version %d.%d", snapshot.Major, snapshot.Minor)
	}
	point := abi.Point(call.Point)
	blind := s.man.Scope(point) == abi.ScopeNode || s.man.Sharded() && point == abi.PreFilter || point <= abi.Hint
	if blind && snapshot.Seed != 0 {
		s.wrong("ABI-4.1", "the seed is %#x in a call of scope node, or without a cycle", snapshot.Seed)
	}
}

// record checks the call record (ABI-3.1, ABI-3.2).
func (s *sight) record(d *dump, call *wire.CallView) {
	if call.Point != uint32(s.call.Point) && s.call.WhatIf == nil {
		s.wrong("ABI-3.1", "the point is %d, not %d", call.Point, s.call.Point)
	}
	if call.Point != d.point {
		s.wrong("ABI-3.1", "the point is %d in the call record, but the function belongs to %d", call.Point, d.point)
	}
	r := d.memory[d.call : d.call+abi.CallSize]
	if rest := bytes.Trim(r[abi.CallGuestStart:], "\x00"); len(rest) > 0 {
		s.wrong("ABI-3.2", "offsets 64 to 127 of the call record are not zero: % x", r[abi.CallGuestStart:])
	}
	point := abi.Point(call.Point)
	if i := slices.IndexFunc(call.Codes, func(code uint8) bool { return code != 0 }); i >= 0 && point != abi.PostFilter {
		s.wrong("ABI-3.2", "code %d is %d before the call", i, call.Codes[i])
	}
	if i := slices.IndexFunc(call.Reasons, func(reason uint16) bool { return reason != 0 }); i >= 0 {
		s.wrong("ABI-3.2", "reason %d is %d before the call", i, call.Reasons[i])
	}
	if i := slices.IndexFunc(call.Scores, func(score int64) bool { return score != 0 }); i >= 0 && point != abi.Normalize {
		s.wrong("ABI-3.2", "score %d is %d before the call", i, call.Scores[i])
	}
	if i := slices.IndexFunc(call.Keys, func(key []byte) bool { return len(key) != 0 }); i >= 0 {
		s.wrong("ABI-3.2", "key %d has %d bytes before the call", i, len(call.Keys[i]))
	}
	batch := point == abi.PreEnqueue || point == abi.QueueSort || point == abi.Hint
	has := func(what string, there, must bool) {
		if there != must {
			s.wrong("ABI-3.1", "%s is present: %t, expected %t", what, there, must)
		}
	}
	has("the pod list", binary.LittleEndian.Uint32(r[abi.CallPods:]) != 0, batch || point == abi.AddPod || point == abi.RemovePod)
	has("the event", call.Event != nil, point == abi.Hint)
	has("the queue", binary.LittleEndian.Uint32(r[abi.CallQueue:]) != 0, point == abi.QueueSort)
	has("room for keys", binary.LittleEndian.Uint32(r[abi.CallKeys:]) != 0, point == abi.QueueSort)
}

// bounds checks lo, hi and the rows of the call (ABI-3.1, ABI-3.9), and the answers that are
// input, which are by position (ABI-3.7).
func (s *sight) bounds(d *dump, call *wire.CallView, snapshot *wire.Snapshot, reader *view.Reader) {
	n := uint64(call.N)
	nodes := snapshot.Table(abi.TableNodes)
	switch point := abi.Point(call.Point); {
	case point == abi.PreFilter:
		if n != 0 {
			s.wrong("ABI-3.9", "n_rows is %d for pre_filter", n)
		}
		return
	case point <= abi.Hint:
		if d.lo != 0 || d.hi != call.N {
			s.wrong("ABI-3.9", "lo and hi are %d and %d for %d pods", d.lo, d.hi, n)
		}
		return
	case point >= abi.Reserve:
		return
	case s.call.WhatIf != nil:
		if d.lo < nodes.Capacity || !nodes.HasRow(d.lo) || d.hi != d.lo+1 || n != 1 || call.Flags != abi.CallOverlayRows {
			s.wrong("ABI-3.9", "rows %d to %d, n_rows %d, flags %d do not mean one overlay row", d.lo, d.hi, n, call.Flags)
			return
		}
		if call.Rows != nil {
			s.wrong("ABI-4.17", "a call about an overlay row has a row set")
		}
		s.overlay(d, reader, nodes)
		return
	}
	if call.Flags != 0 {
		s.wrong("ABI-3.1", "flags are %#x", call.Flags)
	}
	rows := call.Rows
	switch {
	case rows == nil && uint64(d.hi)-uint64(d.lo) != n:
		s.wrong("ABI-3.1", "n_rows is %d for the rows %d to %d", n, d.lo, d.hi)
	case rows == nil:
		for row := d.lo; row < d.hi; row++ {
			rows = append(rows, row)
		}
	case len(rows) > 0 && (rows[0] != d.lo || rows[n-1]+1 != d.hi):
		s.wrong("ABI-3.9", "lo and hi are %d and %d for the row set %v", d.lo, d.hi, rows)
	}
	for i, row := range rows {
		if row >= nodes.Rows {
			s.wrong("ABI-4.4", "the call has row %d of %d", row, nodes.Rows)
			return
		}
		s.input(call, i, s.nameOf(reader, nodes, row))
	}
}

func (s *sight) nameOf(reader *view.Reader, nodes *wire.TableView, row uint32) string {
	cells, err := reader.Row(nodes, row)
	if err != nil {
		s.problems = append(s.problems, err.Error())
		return ""
	}
	return strings.Trim(cells[view.Key(abi.NodeName, 0)], `"`)
}

// input checks the input for the i-th row of the call: scores for normalize, verdicts for
// post_filter.
func (s *sight) input(call *wire.CallView, i int, name string) {
	s.seen[name]++
	switch abi.Point(call.Point) {
	case abi.Normalize:
		if at := slices.Index(s.call.Nodes, name); at >= 0 && call.Scores[i] != s.call.Scores[at] {
			s.wrong("ABI-3.2", "the score of %s is %d for normalize, not %d", name, call.Scores[i], s.call.Scores[at])
		}
	case abi.PostFilter:
		at := slices.IndexFunc(s.cluster.Nodes, func(n cluster.Node) bool { return n.Metadata.Name == name })
		if at >= 0 && abi.Code(call.Codes[i]) != s.call.Verdicts[at] {
			s.wrong("ABI-5.14", "the verdict of %s is %s for post_filter, not %s", name, abi.Code(call.Codes[i]), s.call.Verdicts[at])
		}
	}
}
