package berthtest

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/berth-scheduler/berth/abi"
)

// ways are ways to make the same calls.
type ways int

const (
	once   ways = 1 << iota // all rows in one call
	fresh                   // an instance for each call
	listed                  // rows as a list
)

// session is one try to place a pod.
type session struct {
	*Trial
	ways     ways
	img      *image
	guest    Guest
	verdicts []Verdict // by row
}

func (t *Trial) try(pod Pod, n numbering, how ways) []Verdict {
	t.tb.Helper()
	s := &session{Trial: t, ways: how, img: newImage(t.manifest, t.Nodes, pod, n)}
	s.verdicts = make([]Verdict, len(t.Nodes))
	for row, i := range n.order {
		s.verdicts[row].Node = t.Nodes[i].Name
	}
	t.host.state = map[string][]byte{}
	s.filter(s.preFilter())
	s.score()
	byNode := make([]Verdict, len(t.Nodes))
	for row, i := range n.order {
		byNode[i] = s.verdicts[row]
	}
	return byNode
}

// call calls one point and checks what must hold after any call.
func (s *session) call(export string, point, lo, hi uint32, rows []uint32, overlay bool, scores []int64) abi.Code {
	s.tb.Helper()
	if s.guest == nil || s.ways&fresh != 0 {
		g, err := s.instance()
		if err != nil {
			s.tb.Fatal(err)
		}
		s.guest = g
		s.img.moveTo(g.Alloc(uint32(len(s.img.data)), 64))
		if s.img.base%64 != 0 || s.img.base == 0 {
			s.tb.Fatalf("berth_alloc returned %#x, want a multiple of 64", s.img.base)
		}
	}
	s.img.setCall(point, lo, hi, rows, overlay, scores)
	img := s.img
	copy(s.guest.Memory()[img.base:], img.data)
	s.host.writable = !s.manifest.Sharded() || export == abi.ExportPreFilter
	code := abi.Code(s.guest.Call(export, img.base+img.call, lo, hi))
	after := s.guest.Memory()[img.base:][:len(img.data)]
	if !bytes.Equal(after[img.readFrom:img.readEnd], img.data[img.readFrom:img.readEnd]) || !bytes.Equal(after[:64], img.data[:64]) {
		s.tb.Fatalf("%s wrote into the snapshot or the pod", export)
	}
	copy(img.data, after[:img.readFrom]) // the answers
	return code
}

func (s *session) answer(offset uint32) uint32 {
	return binary.LittleEndian.Uint32(s.img.data[s.img.call+offset:])
}

// reasonSet returns the texts of a reason set of the last call (ABI-3.6).
func (s *session) reasonSet(n uint32) []string {
	s.tb.Helper()
	if n == 0 {
		return nil
	}
	mem := s.guest.Memory()
	if n > s.answer(68) {
		s.tb.Fatalf("reason set %d of %d", n, s.answer(68))
	}
	set := mem[s.answer(64)+8*(n-1):]
	var texts []string
	for i := range binary.LittleEndian.Uint32(set[4:]) {
		text := mem[binary.LittleEndian.Uint32(set)+8*i:]
		texts = append(texts, string(mem[binary.LittleEndian.Uint32(text):][:binary.LittleEndian.Uint32(text[4:])]))
	}
	return texts
}

// all is the answer of a call as a whole for every row that stands.
func (s *session) all(code abi.Code) {
	reasons := s.reasonSet(s.answer(84))
	for row := range s.verdicts {
		if s.verdicts[row].Code == abi.Success {
			s.verdicts[row].Code, s.verdicts[row].Reasons = code, reasons
		}
	}
}

// preFilter reports whether filter is to be called.
func (s *session) preFilter() bool {
	s.tb.Helper()
	if !s.manifest.exports(abi.PreFilter) {
		return true
	}
	rows := s.img.rows
	if s.manifest.Sharded() {
		rows = 0
	}
	binary.LittleEndian.PutUint32(s.img.data[s.img.rowsAt:], rows)
	code := s.call(abi.ExportPreFilter, uint32(abi.PreFilter), 0, rows, nil, false, nil)
	binary.LittleEndian.PutUint32(s.img.data[s.img.rowsAt:], s.img.rows)
	switch code {
	case abi.Skip:
		return false
	case abi.Success:
	default:
		s.all(code)
		return true
	}
	if s.answer(80) == 0 {
		return true
	}
	if s.manifest.Sharded() {
		s.tb.Fatal("pre_filter of a plugin of scope node must not narrow the rows down")
	}
	var fit []uint32
	list := s.guest.Memory()[s.answer(72):]
	for i := range s.answer(76) {
		fit = append(fit, binary.LittleEndian.Uint32(list[4*i:]))
	}
	if !slices.IsSorted(fit) || len(slices.Compact(slices.Clone(fit))) != len(fit) || len(fit) > 0 && fit[len(fit)-1] >= rows {
		s.tb.Fatalf("pre_filter's row set %v is not strictly ascending, or out of range", fit)
	}
	for row := range s.verdicts {
		if !slices.Contains(fit, uint32(row)) {
			s.verdicts[row].Code = abi.UnschedulableAndUnresolvable
		}
	}
	return true
}

// standing returns the rows that passed.
func (s *session) standing() []uint32 {
	rows := []uint32{}
	for row := range s.verdicts {
		if s.verdicts[row].Code == abi.Success {
			rows = append(rows, uint32(row))
		}
	}
	return rows
}

// batches calls f with the rows as the ways want them. If all rows are asked and
// no list is wanted, rows is nil.
func (s *session) batches(standing []uint32, f func(lo, hi uint32, rows, asked []uint32)) {
	size := max(len(standing), 1)
	if s.ways&once == 0 {
		size = 2
	}
	for asked := range slices.Chunk(standing, size) {
		lo, hi := asked[0], asked[len(asked)-1]+1
		if int(hi-lo) == len(asked) && s.ways&listed == 0 {
			f(lo, hi, nil, asked)
		} else {
			f(0, uint32(len(asked)), asked, asked)
		}
	}
}

func (s *session) filter(wanted bool) {
	s.tb.Helper()
	if !wanted || !s.manifest.exports(abi.Filter) {
		return
	}
	s.batches(s.standing(), func(lo, hi uint32, rows, asked []uint32) {
		code := s.call(abi.ExportFilter, uint32(abi.Filter), lo, hi, rows, false, nil)
		if code != abi.Success {
			s.all(code)
			return
		}
		for i, row := range asked {
			s.verdicts[row] = s.judged(s.verdicts[row].Node, uint32(i))
		}
	})
}

// judged is filter's answer for the i-th row asked.
func (s *session) judged(node string, i uint32) Verdict {
	s.tb.Helper()
	v := Verdict{Node: node, Code: abi.Code(s.img.data[s.img.codes+i])}
	if v.Code == abi.Wait || v.Code == abi.Skip || v.Code >= abi.NumCodes {
		s.tb.Fatalf("filter's code for %s is %d", node, v.Code)
	}
	v.Reasons = s.reasonSet(uint32(binary.LittleEndian.Uint16(s.img.data[s.img.reasons+2*i:])))
	return v
}

func (s *session) score() {
	s.tb.Helper()
	rows := s.standing()
	if !s.manifest.exports(abi.Score) || len(rows) == 0 {
		return
	}
	whole := *s
	whole.ways |= once // pre_score and normalize see all rows
	if s.manifest.exports(abi.PreScore) {
		code := abi.Success
		whole.batches(rows, func(lo, hi uint32, rows, _ []uint32) {
			code = whole.call(abi.ExportPreScore, uint32(abi.PreScore), lo, hi, rows, false, nil)
		})
		s.guest = whole.guest
		if code == abi.Skip {
			return
		}
		if code != abi.Success {
			s.all(code)
			return
		}
	}
	var scores []int64
	s.batches(rows, func(lo, hi uint32, rows, asked []uint32) {
		if code := s.call(abi.ExportScore, uint32(abi.Score), lo, hi, rows, false, nil); code != abi.Success {
			s.all(code)
		}
		scores = append(scores, s.scores(len(asked))...)
	})
	if len(s.standing()) == 0 {
		return // score failed
	}
	whole.guest = s.guest
	if s.manifest.exports(abi.Normalize) {
		whole.batches(rows, func(lo, hi uint32, rows, _ []uint32) {
			if code := whole.call(abi.ExportNormalize, uint32(abi.Normalize), lo, hi, rows, false, scores); code != abi.Success {
				whole.all(code)
			}
		})
		scores = whole.scores(len(rows))
	}
	s.manifest.normalize(scores)
	for i, row := range rows {
		if scores[i] < abi.MinScore || scores[i] > abi.MaxScore {
			s.tb.Fatalf("the score of %s is %d, want 0 to 100", s.verdicts[row].Node, scores[i])
		}
		s.verdicts[row].Score = scores[i]
	}
}

func (s *session) scores(n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(binary.LittleEndian.Uint64(s.img.data[s.img.scores+8*uint32(i):]))
	}
	return out
}

// overlays filters overlay rows that repeat rows.
func (t *Trial) overlays(pod Pod, n numbering, want []Verdict) {
	t.tb.Helper()
	s := &session{Trial: t, img: newImage(t.manifest, t.Nodes, pod, n)}
	s.verdicts = make([]Verdict, len(t.Nodes))
	t.host.state = map[string][]byte{}
	if !s.preFilter() || len(s.standing()) == 0 {
		return
	}
	for i, row := range s.img.overlay {
		over := s.img.capacity + uint32(i)
		node := want[row].Node
		if s.call(abi.ExportFilter, uint32(abi.Filter), 0, 1, []uint32{over}, true, nil) != abi.Success {
			return // the whole call failed; so it did for rows
		}
		got := s.judged(node, 0)
		got.Score = want[row].Score
		if got.String() != want[row].String() && !narrowed(s.verdicts[row]) {
			t.tb.Errorf("%s: filter gives %q for a row and %q for an overlay row with the same content", t.manifest.Name, want[row], got)
		}
	}
}

// narrowed reports a row that pre_filter's row set left out.
func narrowed(v Verdict) bool { return v.Code == abi.UnschedulableAndUnresolvable }
