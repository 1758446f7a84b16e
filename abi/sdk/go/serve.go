package berth

import "github.com/berth-scheduler/berth/abi"

// The functions below are the batched exports of a plugin. Packages export/… and Native call
// them; plugins do not.

// begin makes the views of a call.
func (c *core) begin(call uint32) {
	collect()
	c.answered = false
	c.callAt, c.call = call, at[callRecord](&c.mem, call)
	c.columns.refresh(c.call.header)
	c.pod.parse(&c.mem, c.call.pod, c.call.podSize, 0)
	c.consts.resolve(&c.columns)
	c.reasons.begin()
	c.asked.begin()
	c.copies = c.copies[:0]
}

// record returns the call record, for writing: natively the memory moves when an answer needs
// room.
func (c *core) record() *callRecord { return at[callRecord](&c.mem, c.callAt) }

// finish writes the answer of the call as a whole.
func (c *core) finish(s Status) int32 {
	if s.Reason() != 0 {
		c.reasons.used = true
		c.record().statusReason = uint32(s.Reason())
	}
	c.reasons.publish(c)
	c.asked.publish(c)
	c.answered = true
	return int32(s.Code())
}

// nodes returns the rows of the call.
func (c *core) nodes(lo uint32) Nodes {
	n := Nodes{c: &c.columns, lo: lo, n: c.call.nRows}
	if c.call.rows != 0 {
		n.rows = view[uint32](&c.mem, c.call.rows, c.call.nRows)
	}
	return n
}

// ServePreFilter is berth_pre_filter.
func ServePreFilter(p PreFilterer, call uint32) int32 {
	c := p.core()
	defer c.explain()
	c.begin(call)
	rows, status := p.PreFilter(Pod{&c.pod}, Snapshot{&c.columns}.Nodes())
	if rows != nil && status == Success {
		c.answer.grow(c, uint32(4*len(rows.rows)))
		copy(view[uint32](&c.mem, c.answer.address, uint32(len(rows.rows))), rows.rows)
		record := c.record()
		record.rowSet, record.nRowSet, record.hasRowSet = c.answer.address, uint32(len(rows.rows)), 1
	}
	return c.finish(status)
}

// ServeFilter is berth_filter.
func ServeFilter(p Filterer, call, lo, _ uint32) int32 {
	c := p.core()
	defer c.explain()
	c.begin(call)
	pod, nodes := Pod{&c.pod}, c.nodes(lo)
	codes, reasons := view[uint8](&c.mem, c.call.codes, nodes.n), view[uint16](&c.mem, c.call.reasons, nodes.n)
	if prepared := prepare(p, pod); prepared != Success {
		switch prepared.Code() {
		case abi.Skip:
			return c.finish(Success)
		case abi.Error:
			return c.finish(prepared)
		}
		for i := range codes {
			codes[i], reasons[i] = uint8(prepared), uint16(prepared.Reason())
		}
		c.reasons.used = prepared.Reason() != 0
		return c.finish(Success)
	}
	seen := Status(0)
	if nodes.rows == nil {
		for i := range codes {
			if s := p.Filter(pod, Node{&c.columns, lo + uint32(i)}); s != Success {
				codes[i], reasons[i] = uint8(s), uint16(s.Reason())
				seen |= s
			}
		}
	} else {
		for i, row := range nodes.rows {
			if s := p.Filter(pod, Node{&c.columns, row}); s != Success {
				codes[i], reasons[i] = uint8(s), uint16(s.Reason())
				seen |= s
			}
		}
	}
	c.reasons.used = seen.Reason() != 0
	return c.finish(Success)
}

// ServePreScore is berth_pre_score.
func ServePreScore(p PreScorer, call, lo, _ uint32) int32 {
	c := p.core()
	defer c.explain()
	c.begin(call)
	return c.finish(p.PreScore(Pod{&c.pod}, c.nodes(lo)))
}

// ServeScore is berth_score.
func ServeScore(p Scorer, call, lo, _ uint32) int32 {
	c := p.core()
	defer c.explain()
	c.begin(call)
	pod, nodes := Pod{&c.pod}, c.nodes(lo)
	switch prepared := prepare(p, pod); prepared.Code() {
	case abi.Success:
	case abi.Skip:
		return c.finish(Success)
	default:
		return c.finish(Error(prepared.Reason()))
	}
	scores := view[int64](&c.mem, c.call.scores, nodes.n)
	for i := range scores {
		scores[i] = p.Score(pod, nodes.At(i))
	}
	return c.finish(Success)
}

// ServeNormalize is berth_normalize.
func ServeNormalize(p Normalizer, call, lo, _ uint32) int32 {
	c := p.core()
	defer c.explain()
	c.begin(call)
	nodes := c.nodes(lo)
	return c.finish(p.Normalize(Pod{&c.pod}, nodes, view[int64](&c.mem, c.call.scores, nodes.n)))
}

// ServeConfigure is berth_configure.
func ServeConfigure(p Configurer, address, length uint32) int32 {
	c := p.core()
	data := view[byte](&c.mem, address, length)
	if c.reads.configure(data) {
		c.size()
	}
	if err := p.Configure(data); err != nil {
		c.log(Failure, err.Error())
		return 1
	}
	return 0
}

// prepare calls the plugin's Prepare, if it has one.
func prepare(p Plugin, pod Pod) Status {
	if q, ok := p.(Preparer); ok {
		return q.Prepare(pod)
	}
	return Success
}
