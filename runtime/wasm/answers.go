package wasm

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// answers reads what a guest wrote in answer to a call. It trusts nothing.
type answers struct {
	s      *shard
	memory []byte // all of the guest's
	record []byte // the call record
	point  abi.Point
	texts  int // bytes of text so far
}

func (s *shard) answers(point abi.Point) *answers {
	l := s.layout
	return &answers{s: s, memory: s.guest.Memory(), record: s.mem[l.Call : l.Call+abi.CallSize], point: point}
}

func (a *answers) bad(format string, args ...any) *Fault {
	return a.s.plug.fault(a.point, Output, fmt.Sprintf(format, args...), a.s.env)
}

func (a *answers) field(offset int) uint32 { return binary.LittleEndian.Uint32(a.record[offset:]) }

// bytes returns guest memory, or a fault.
func (a *answers) bytes(what string, address, size uint64) ([]byte, *Fault) {
	if address+size > uint64(len(a.memory)) {
		return nil, a.bad("%s: %d bytes at %#x are beyond the memory of %d bytes", what, size, address, len(a.memory))
	}
	return a.memory[address : address+size], nil
}

// reasonSet returns the texts of a reason set, numbered from 1 (ABI-3.6).
func (a *answers) reasonSet(n uint32) ([]string, *Fault) {
	count := a.field(abi.CallReasonCount)
	switch {
	case count > abi.MaxReasonSets:
		return nil, a.bad("%d reason sets, the limit is %d", count, abi.MaxReasonSets)
	case n > count:
		return nil, a.bad("reason set %d is not there: the call returned %d", n, count)
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
		if a.texts += int(size); size > abi.MaxTextSize || a.texts > abi.MaxTextsSize {
			return nil, a.bad("a reason has %d bytes, all of them %d: the limits are %d and %d", size, a.texts, abi.MaxTextSize, abi.MaxTextsSize)
		}
		text, f := a.bytes("text of a reason", uint64(binary.LittleEndian.Uint32(list[8*i:])), uint64(size))
		if f != nil {
			return nil, f
		}
		if !utf8.Valid(text) {
			return nil, a.bad("the text of a reason is not UTF-8: %q", text)
		}
		out[i] = string(text)
	}
	return out, nil
}

// status returns the answer of a call as a whole.
func (a *answers) status(code abi.Code) (*plugin.Status, *Fault) {
	if code == abi.Success {
		return nil, nil
	}
	status := &plugin.Status{Code: code}
	if n := a.field(abi.CallStatusReason); n != 0 {
		var f *Fault
		if status.Reasons, f = a.reasonSet(n); f != nil {
			return nil, f
		}
	}
	return status, nil
}

// verdicts reads filter's answers for n rows into out, beginning at position at.
func (a *answers) verdicts(n, at int, out *plugin.Verdicts) *Fault {
	l := a.s.layout
	codes := a.s.mem[l.Codes : l.Codes+uint32(n)]
	reasons := a.s.mem[l.Reasons : l.Reasons+2*uint32(n)]
	var numbers []uint16 // reason set of the guest → reason of out
	for i, code := range codes {
		if code == byte(abi.Success) {
			continue
		}
		if c := abi.Code(code); !c.Rejected() && c != abi.Error {
			return a.bad("row %d of the call has code %d, which is no answer of Filter", i, code)
		}
		set := binary.LittleEndian.Uint16(reasons[2*i:])
		var reason uint16
		if set != 0 {
			if numbers == nil {
				numbers = make([]uint16, min(a.field(abi.CallReasonCount), abi.MaxReasonSets)+1)
			}
			if int(set) >= len(numbers) {
				return a.bad("row %d of the call has reason set %d, the call returned %d", i, set, a.field(abi.CallReasonCount))
			}
			if numbers[set] == 0 {
				texts, f := a.reasonSet(uint32(set))
				if f != nil {
					return f
				}
				numbers[set] = out.Reason(texts...)
			}
			reason = numbers[set]
		}
		out.Reject(at+i, abi.Code(code), reason)
	}
	return nil
}

// scores reads score's or normalize's answers.
func (a *answers) scores(out []int64, inRange bool) *Fault {
	l := a.s.layout
	data := a.s.mem[l.Scores : l.Scores+8*uint32(len(out))]
	for i := range out {
		v := int64(binary.LittleEndian.Uint64(data[8*i:]))
		if inRange && (v < abi.MinScore || v > abi.MaxScore) {
			return a.bad("row %d of the call has score %d, not %d to %d", i, v, abi.MinScore, abi.MaxScore)
		}
		out[i] = v
	}
	return nil
}

// rowSet reads the rows that pre_filter left, as rows of the host; nil for all.
func (a *answers) rowSet() ([]uint32, *Fault) {
	if a.field(abi.CallHasRowSet) == 0 {
		return nil, nil
	}
	n := a.field(abi.CallRowSetCount)
	if a.s.plug.sharded {
		return nil, a.bad("pre_filter of a plugin of scope node returned a row set: it sees no rows (ABI-5.3)")
	}
	if n > a.s.rows {
		return nil, a.bad("the row set has %d rows, the table %d", n, a.s.rows)
	}
	data, f := a.bytes("row set", uint64(a.field(abi.CallRowSet)), 4*uint64(n))
	if f != nil {
		return nil, f
	}
	out := make([]uint32, n)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(data[4*i:])
		if out[i] >= a.s.rows || i > 0 && out[i] <= out[i-1] {
			return nil, a.bad("the row set is not strictly ascending below %d at element %d: %d", a.s.rows, i, out[i])
		}
	}
	return out, nil
}
