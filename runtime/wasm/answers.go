package wasm

import (
	"encoding/binary"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// answers reads a guest's answers to a call. It trusts none of them.
type answers struct {
	s      *shard
	record []byte // the call record
	point  abi.Point
	texts  int // bytes of text read so far
}

// answer reads the answers of a call that returned code.
func (s *shard) answer(r *request, code abi.Code) (out reply, f *fault.Fault) {
	a := answers{s: s, record: s.Region()[s.Layout().Call : s.Layout().Call+abi.CallSize], point: r.point}
	if !answerOf(r.point, code) {
		return out, a.bad("%s returned %d (%s), which is not an answer of it", sandbox.ExportOf(r.point), code, code)
	}
	if n := a.field(abi.CallReasonCount); n > abi.MaxReasonSets {
		return out, a.bad("%d reason sets, the limit is %d", n, abi.MaxReasonSets)
	}
	out.code = code
	if a.s.core.manifest.Minor() > 0 { // ABI 1.0 has no such field
		out.retry = binary.LittleEndian.Uint64(a.record[abi.CallRetryAfter:])
	}
	if code != abi.Success {
		if out.status, f = a.status(code); f != nil || !asks(r.point, code) {
			return out, f
		}
		out.wait = binary.LittleEndian.Uint64(a.record[abi.CallWait:])
	}
	if out.directives, f = a.directives(); f != nil {
		return reply{}, f
	}
	switch r.point {
	case abi.PreFilter:
		out.rows, f = a.rowSet()
	case abi.Filter, abi.PreEnqueue, abi.Hint:
		if f = a.verdicts(r.n(), r.at, r.verdicts); f == nil && r.point == abi.PreEnqueue {
			f = a.scores(r.scores, false)
		}
	case abi.Score, abi.Normalize:
		f = a.scores(r.scores, r.inRange)
	case abi.QueueSort:
		f = a.keys(r.keys)
	case abi.Bind:
		if !bindsPod(out.directives) {
			f = a.bad("%s returned Success without a directive bind, so the pod is not bound (ABI-5.19)", sandbox.ExportOf(r.point))
		}
	case abi.PostFilter:
		f = a.nominated(out.directives)
	}
	return out, f
}

// answerOf reports whether a code is an answer of a point to the call as a whole (ABI-5).
func answerOf(point abi.Point, code abi.Code) bool {
	switch code {
	case abi.Success, abi.Error:
		return true
	case abi.Skip:
		return point == abi.PreFilter || point == abi.PreScore || point == abi.Bind
	case abi.Wait:
		return point == abi.Permit
	case abi.Unschedulable, abi.UnschedulableAndUnresolvable:
		return point == abi.PreFilter || point == abi.PostFilter || decides(point)
	case abi.Pending:
		return decides(point)
	}
	return false
}

// asks reports whether directives count with a code other than Success (ABI-13.3).
func asks(point abi.Point, code abi.Code) bool {
	return code == abi.Wait || point == abi.PostFilter && code.Rejected()
}

// decides reports whether a point can still reject a pod that has a node.
func decides(point abi.Point) bool {
	return point == abi.Reserve || point == abi.Permit || point == abi.PreBind || point == abi.Bind
}

// maxNamed is how much of a guest's text the detail of a fault quotes, in bytes.
const maxNamed = 128

func (a *answers) bad(format string, args ...any) *fault.Fault {
	return a.s.core.faults.at(a.point, fault.Output, fmt.Sprintf(format, args...), a.s.host.env)
}

func (a *answers) denied(format string, args ...any) *fault.Fault {
	return a.s.core.faults.at(a.point, fault.Denied, fmt.Sprintf(format, args...), a.s.host.env)
}

func (a *answers) field(offset int) uint32 { return binary.LittleEndian.Uint32(a.record[offset:]) }

// bytes returns guest memory, or a fault.
func (a *answers) bytes(what string, address, size uint64) ([]byte, *fault.Fault) {
	if memory := a.s.Memory(); address+size <= uint64(len(memory)) {
		return memory[address : address+size], nil
	}
	return nil, a.bad("%s: %d bytes at %#x are beyond the memory of %d bytes", what, size, address, len(a.s.Memory()))
}

// reasonSet returns the texts of a reason set, numbered from 1 (ABI-3.6).
func (a *answers) reasonSet(n uint32) ([]string, *fault.Fault) {
	if count := a.field(abi.CallReasonCount); n > count {
		return nil, a.bad("reason set %d does not exist: the call returned %d", n, count)
	}
	entry, f := a.bytes("reason set", uint64(a.field(abi.CallReasonSets))+8*uint64(n-1), 8)
	if f != nil {
		return nil, f
	}
	address, length := binary.LittleEndian.Uint32(entry), binary.LittleEndian.Uint32(entry[4:])
	if length == 0 || length > abi.MaxReasonTexts {
		return nil, a.bad("reason set %d has %d texts, not 1 to %d", n, length, abi.MaxReasonTexts)
	}
	list, f := a.bytes("texts of a reason set", uint64(address), 8*uint64(length))
	if f != nil {
		return nil, f
	}
	out := make([]string, length)
	for i := range out {
		size := binary.LittleEndian.Uint32(list[8*i+4:])
		if size > abi.MaxTextSize {
			return nil, a.bad("a reason has %d bytes, the limit is %d", size, abi.MaxTextSize)
		}
		if a.texts += int(size); a.texts > a.s.core.config.Limits.TextSize {
			return nil, a.bad("the reasons of the call have more than %d bytes", a.s.core.config.Limits.TextSize)
		}
		text, f := a.bytes("text of a reason", uint64(binary.LittleEndian.Uint32(list[8*i:])), uint64(size))
		if f != nil {
			return nil, f
		}
		if !utf8.Valid(text) {
			return nil, a.bad("the text of a reason is not UTF-8: %s", plain.Quote(text, maxNamed))
		}
		out[i] = plain.Line(text, abi.MaxTextSize)
	}
	return out, nil
}

// status returns the answer to a call as a whole, which is not Success.
func (a *answers) status(code abi.Code) (*plugin.Status, *fault.Fault) {
	status := &plugin.Status{Code: code}
	if n := a.field(abi.CallStatusReason); n != 0 {
		var f *fault.Fault
		if status.Reasons, f = a.reasonSet(n); f != nil {
			return nil, f
		}
	}
	return status, nil
}

// verdicts reads the answers for n rows or pods into out, from position at on.
func (a *answers) verdicts(n, at int, out *plugin.Verdicts) *fault.Fault {
	s := a.s
	l, region := s.Layout(), s.Region()
	codes, reasons := region[l.Codes:l.Codes+uint32(n)], region[l.Reasons:l.Reasons+2*uint32(n)]
	sets := int(a.field(abi.CallReasonCount))
	s.numbers = slices.Grow(s.numbers[:0], sets+1)[:sets+1]
	clear(s.numbers)
	for i, code := range codes {
		if code == byte(abi.Success) {
			continue
		}
		if c := abi.Code(code); !elementOf(a.point, c) {
			return a.bad("element %d of the codes is %d (%s), which is not an answer of %s", i, code, c, a.point)
		}
		set := binary.LittleEndian.Uint16(reasons[2*i:])
		if int(set) > sets {
			return a.bad("element %d of the reasons is set %d, the call returned %d", i, set, sets)
		}
		if set != 0 && s.numbers[set] == 0 {
			texts, f := a.reasonSet(uint32(set))
			if f != nil {
				return f
			}
			s.numbers[set] = out.Reason(texts...)
		}
		out.Reject(at+i, abi.Code(code), s.numbers[set])
	}
	return nil
}

// elementOf reports whether a code other than Success is an answer of a point for one row or
// pod.
func elementOf(point abi.Point, code abi.Code) bool {
	if point == abi.Hint {
		return code == abi.Skip || code == abi.Error
	}
	return code.Rejected() || code == abi.Error
}

// keys reads queue_key's answers.
func (a *answers) keys(out [][]byte) *fault.Fault {
	data := a.s.Region()[a.s.Layout().Keys:]
	for i := range out {
		key := data[abi.KeySize*i : abi.KeySize*(i+1)]
		n := binary.LittleEndian.Uint32(key)
		if n > abi.MaxQueueKey {
			return a.bad("key %d has %d bytes, the limit is %d (ABI-5.10)", i, n, abi.MaxQueueKey)
		}
		out[i] = append([]byte{}, key[4:4+n]...) // not nil, which means no key
	}
	return nil
}

// nominated checks that a nominated node exists.
func (a *answers) nominated(list []wire.Directive) *fault.Fault {
	for i := range list {
		if d := &list[i]; d.Kind == abi.Nominate && d.First != "" {
			if !a.s.HasNode(d.First) {
				return a.bad("the nominated node %s does not exist", plain.Quote(d.First, maxNamed))
			}
		}
	}
	return nil
}

// scores reads score's or normalize's answers.
func (a *answers) scores(out []int64, inRange bool) *fault.Fault {
	l := a.s.Layout()
	data := a.s.Region()[l.Scores : l.Scores+8*uint32(len(out))]
	for i := range out {
		v := int64(binary.LittleEndian.Uint64(data[8*i:]))
		if inRange && (v < abi.MinScore || v > abi.MaxScore) {
			return a.bad("element %d of the scores is %d, not %d to %d", i, v, abi.MinScore, abi.MaxScore)
		}
		out[i] = v
	}
	return nil
}

// rowSet reads the rows that pre_filter left; nil means all.
func (a *answers) rowSet() ([]uint32, *fault.Fault) {
	switch has := a.field(abi.CallHasRowSet); {
	case has == 0:
		return nil, nil
	case has != 1:
		return nil, a.bad("has_row_set is %d, not 0 or 1", has)
	case a.s.core.sharded:
		return nil, a.bad("pre_filter of a plugin of scope node returned a row set: it sees no rows (ABI-5.3)")
	}
	n := a.field(abi.CallRowSetCount)
	if n > a.s.Rows() {
		return nil, a.bad("the row set has %d rows, the table %d", n, a.s.Rows())
	}
	data, f := a.bytes("row set", uint64(a.field(abi.CallRowSet)), 4*uint64(n))
	if f != nil {
		return nil, f
	}
	out := make([]uint32, n)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(data[4*i:])
		if out[i] >= a.s.Rows() || i > 0 && out[i] <= out[i-1] {
			return nil, a.bad("the row set is not strictly ascending below %d at element %d: %d", a.s.Rows(), i, out[i])
		}
	}
	return out, nil
}
