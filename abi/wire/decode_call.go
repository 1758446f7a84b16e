package wire

import (
	"unicode/utf8"

	"github.com/berth-scheduler/berth/abi"
)

// CallView is a call record with what it points to (ABI-3).
type CallView struct {
	Header, Pod, PodSize, Point uint32
	// Rows is the row set; nil for the rows lo … hi−1.
	Rows []uint32
	// N is the number of rows in the call.
	N     uint32
	Flags uint32
	// Codes, Reasons and Scores have one element per row of the call, by position.
	Codes   []uint8
	Reasons []uint16
	Scores  []int64
	// ReasonSets is numbered from 1: set n is ReasonSets[n-1].
	ReasonSets [][]string
	// RowSet is pre_filter's row set; HasRowSet distinguishes an empty one from none.
	RowSet       []uint32
	HasRowSet    bool
	StatusReason uint32
	// Pods are the records of the pod list; nil if the call has none.
	Pods [][]byte
	// Event is the event; nil if the call has none.
	Event *EventView
	// Queue has an entry per pod, and Keys its answer; nil if the call has none.
	Queue []QueueEntry
	Keys  [][]byte
	// Directives are the guest's directives, Wait is permit's answer in milliseconds, and RetryAfter that of pre_filter, reserve or permit.
	Directives []Directive
	Wait       uint64
	RetryAfter uint64
}

// DecodeCall reads the call record at an address, with its answers.
//
// # Errors
//
// All wrap ErrDecode and name the violated sentence of SPEC.md.
func DecodeCall(m Memory, address uint32) (*CallView, error) {
	r, err := m.record("ABI-3.1", "the call record", address, 128, 8)
	if err != nil {
		return nil, err
	}
	for _, zero := range [][]byte{r[56:64], r[112:128]} {
		for i, b := range zero {
			if b != 0 {
				return nil, decodeError("ABI-3.1", "byte %d must be zero, but is %d", i, b)
			}
		}
	}
	c := &CallView{
		Header: get32(r, 0), Pod: get32(r, 4), PodSize: get32(r, 8), Point: get32(r, 12), N: get32(r, 20), Flags: get32(r, 36),
		HasRowSet: get32(r, 80) == 1, StatusReason: get32(r, 84), Wait: get64(r, 96), RetryAfter: get64(r, 104),
	}
	if rows := get32(r, 16); rows != 0 {
		if c.Rows, err = m.rows(uint64(rows), uint64(c.N)); err != nil {
			return nil, err
		}
	}
	if c.HasRowSet {
		if c.RowSet, err = m.rows(uint64(get32(r, 72)), uint64(get32(r, 76))); err != nil {
			return nil, err
		}
	}
	if err := c.answers(m, r); err != nil {
		return nil, err
	}
	if err := c.pods(m, r); err != nil {
		return nil, err
	}
	if c.Directives, err = DecodeDirectives(m, get32(r, 88), get32(r, 92)); err != nil {
		return nil, err
	}
	return c, c.reasonSets(m, uint64(get32(r, 64)), uint64(get32(r, 68)))
}

// rows reads a row set, which is strictly ascending.
func (m Memory) rows(address, n uint64) ([]uint32, error) {
	data, err := m.at("ABI-3.1", "a row set", address, 4*n)
	if err != nil {
		return nil, err
	}
	out := make([]uint32, n)
	for i := range out {
		out[i] = get32(data, 4*i)
		if i > 0 && out[i] <= out[i-1] {
			return nil, decodeError("ABI-3.1", "row %d after %d", out[i], out[i-1])
		}
	}
	return out, nil
}

func (c *CallView) answers(m Memory, r []byte) error {
	n := uint64(c.N)
	codes, err := m.at("ABI-3.1", "codes", uint64(get32(r, 24)), n)
	if err != nil {
		return err
	}
	reasons, err := m.at("ABI-3.1", "reasons", uint64(get32(r, 28)), 2*n)
	if err != nil {
		return err
	}
	scores, err := m.at("ABI-3.1", "scores", uint64(get32(r, 32)), 8*n)
	if err != nil {
		return err
	}
	c.Codes = codes
	for i := range int(n) {
		c.Reasons = append(c.Reasons, get16(reasons, 2*i))
		c.Scores = append(c.Scores, int64(get64(scores, 8*i)))
	}
	return nil
}

// reasonSets reads the reason sets within the limits of ABI-10.
func (c *CallView) reasonSets(m Memory, address, n uint64) error {
	if n > abi.MaxReasonSets {
		return decodeError("ABI-10", "%d reason sets", n)
	}
	sets, err := m.at("ABI-3.6", "reason sets", address, 8*n)
	if err != nil {
		return err
	}
	total := 0
	for ; len(sets) > 0; sets = sets[8:] {
		count := uint64(get32(sets, 4))
		if count == 0 || count > abi.MaxReasonTexts {
			return decodeError("ABI-3.6", "%d texts", count)
		}
		entries, err := m.at("ABI-3.6", "texts", uint64(get32(sets, 0)), 8*count)
		if err != nil {
			return err
		}
		var texts []string
		for ; len(entries) > 0; entries = entries[8:] {
			size := get32(entries, 4)
			text, err := m.at("ABI-3.6", "a text", uint64(get32(entries, 0)), uint64(size))
			if err != nil {
				return err
			}
			if total += len(text); size > abi.MaxTextSize || total > abi.MaxTextsSize {
				return decodeError("ABI-10", "a text of %d bytes, all %d", size, total)
			}
			if !utf8.Valid(text) {
				return decodeError("ABI-3.6", "a text is not UTF-8")
			}
			texts = append(texts, string(text))
		}
		c.ReasonSets = append(c.ReasonSets, texts)
	}
	return nil
}
