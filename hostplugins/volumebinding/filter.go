package volumebinding

import (
	"errors"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// why is a set of reasons for rejecting a node.
type why uint8

// The reasons, in the order in which they are reported.
const (
	wrongNode why = 1 << iota
	noMatch
	noSpace
	noVolume

	allReasons = 1<<iota - 1
)

// texts returns the reasons of a set.
func (w why) texts() []string {
	var out []string
	for i, text := range []string{ReasonNode, ReasonBind, ReasonSpace, ReasonNoVolume} {
		if w&(1<<i) != 0 {
			out = append(out, text)
		}
	}
	return out
}

// finding is the result for one row.
type finding struct {
	why why
	err error
}

// errNoState returns the error for a profile that enables later points of the plugin but not
// preFilter.
func errNoState() error {
	return errors.New("there is no PreFilter state: enable " + Name + " at preFilter too")
}

// Filter rejects nodes that do not reach the volumes of bound claims, or on which a waiting
// claim can neither be bound to a free volume nor be provisioned for. Preemption does not help.
func (b *VolumeBinding) Filter(c *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	p, ok := c.State.Read(Name, preFilterKey).(*plan)
	if !ok {
		reason := out.Reason(errNoState().Error())
		for i := range rows {
			out.Reject(i, abi.Error, reason)
		}
		return
	}
	found := make([]finding, len(rows))
	b.check(p, rows, found)
	p.place(rows, found)
	var reasons [allReasons + 1]uint16
	for i := range found {
		f := &found[i]
		switch {
		case f.err != nil:
			out.Reject(i, abi.Error, out.Reason(f.err.Error()))
		case f.why != 0:
			if reasons[f.why] == 0 {
				reasons[f.why] = out.Reason(f.why.texts()...)
			}
			out.Reject(i, abi.UnschedulableAndUnresolvable, reasons[f.why])
		}
	}
}
