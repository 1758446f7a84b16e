package berth

import (
	"strings"
	"unicode/utf8"

	"github.com/berth-scheduler/berth/abi"
)

// reasons has the reason sets of a plugin. The table that the host reads is in the linear
// memory; it is rewritten when a reason is new.
type reasons struct {
	sets    [][]string
	byText  map[string]Reason
	lasting int // number of permanent sets
	bytes   int // of all texts
	inCall  bool

	table   buffer
	written int // number of sets in the table
	used    bool
}

func (r *reasons) add(texts []string) Reason {
	if len(texts) == 0 {
		return 0
	}
	texts = texts[:min(len(texts), abi.MaxReasonTexts)]
	key, size := "", 0
	for i, t := range texts {
		t = cut(t)
		size += len(t)
		if i == 0 {
			key = t
		} else {
			key += "\x00" + t
		}
	}
	if known, ok := r.byText[key]; ok {
		return known
	}
	if len(r.sets) == abi.MaxReasonSets || r.bytes+size > abi.MaxTextsSize {
		return 0
	}
	if r.byText == nil {
		r.byText = map[string]Reason{}
	}
	set := make([]string, len(texts))
	for i, t := range texts {
		set[i] = cut(t)
	}
	r.sets = append(r.sets, set)
	r.bytes += size
	if !r.inCall {
		r.lasting = len(r.sets)
	}
	number := Reason(len(r.sets))
	r.byText[strings.Clone(key)] = number // it may be in the host's memory, which changes
	return number
}

// cut returns a text that the host accepts: in UTF-8 and not too long.
func cut(text string) string {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	if len(text) <= abi.MaxTextSize {
		return text
	}
	end := abi.MaxTextSize
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// begin drops the reasons of the last call.
func (r *reasons) begin() {
	r.inCall, r.used = true, false
	if len(r.sets) == r.lasting {
		return
	}
	for key, n := range r.byText {
		if int(n) > r.lasting {
			delete(r.byText, key)
		}
	}
	for _, set := range r.sets[r.lasting:] {
		for _, t := range set {
			r.bytes -= len(t)
		}
	}
	r.sets = r.sets[:r.lasting]
	r.written = min(r.written, r.lasting)
}

// publish writes the table to the linear memory, and its address to the call record: if this call
// used a reason, or if some reason was in no table so far. So the conformance kit can name those that
// never come up.
func (r *reasons) publish(c *core) {
	r.inCall = false
	if !r.used && r.written == len(r.sets) {
		return
	}
	if r.written < len(r.sets) {
		r.write(c)
	}
	record := c.record()
	record.reasonSets, record.nReasonSets = r.table.address, uint32(len(r.sets))
}

// write writes the whole table: sets, then texts, then bytes.
func (r *reasons) write(c *core) {
	n := 0
	for _, set := range r.sets {
		n += len(set)
	}
	r.table.grow(c, uint32(8*len(r.sets)+8*n+r.bytes))
	sets := view[reasonSet](&c.mem, r.table.address, uint32(len(r.sets)))
	textsAt := r.table.address + uint32(8*len(sets))
	texts := view[text](&c.mem, textsAt, uint32(n))
	bytesAt := textsAt + uint32(8*n)
	bytes := view[byte](&c.mem, bytesAt, uint32(r.bytes))
	i, used := 0, 0
	for k, set := range r.sets {
		sets[k] = reasonSet{texts: textsAt + uint32(8*i), n: uint32(len(set))}
		for _, t := range set {
			texts[i] = text{address: bytesAt + uint32(used), length: uint32(len(t))}
			used += copy(bytes[used:], t)
			i++
		}
	}
	r.written = len(r.sets)
}
