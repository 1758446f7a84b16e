package noderesources

import (
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Bits of the resources that are checked for every pod, in the order of the
// reasons. Scalars follow, sorted by name.
const (
	tooManyPods = iota
	noCPU
	noMemory
	noStorage

	numFixed
)

// maxScalars is the number of scalars whose bits fit into the mask in addition to the fixed
// ones.
const maxScalars = 64 - numFixed

type fixedReasons [numFixed]string

func newFixedReasons() fixedReasons {
	return fixedReasons{
		tooManyPods: ReasonTooManyPods,
		noCPU:       ReasonInsufficient + string(v1.ResourceCPU),
		noMemory:    ReasonInsufficient + string(v1.ResourceMemory),
		noStorage:   ReasonInsufficient + string(v1.ResourceEphemeralStorage),
	}
}

// demand is a request and the columns of its resource.
type demand struct {
	amount                 int64   // that must be free
	whole                  int64   // that the pod has in all; differs from amount for a pod that the row counts already
	allocatable, requested []int64 // nil when no node has the resource
	devices                bool    // a row that has none of the resource is not short of it
}

// short reports whether the row has less free than requested.
func (d *demand) short(row uint32) bool {
	if d.allocatable == nil {
		return d.amount > 0 && !d.devices
	}
	return d.amount > d.allocatable[row]-d.requested[row] && (!d.devices || d.allocatable[row] != 0)
}

// exceeds reports whether the row's allocatable is less than requested, so that preemption does
// not help.
func (d *demand) exceeds(row uint32) bool {
	return d.allocatable == nil || d.whole > d.allocatable[row]
}

// fitCall is one call of Filter.
type fitCall struct {
	fixed   [numFixed]demand
	scalars []demand
	names   checked
	texts   *fixedReasons

	masks   [8]uint64 // recent combinations of the resources that a row lacks …
	reasons [8]uint16 // … and the reason sets created for them
	next    int
}

// Filter rejects nodes that lack a resource, with a reason for each that they lack. It is
// UnschedulableAndUnresolvable if the pod would not fit the empty node either. The node of a pod that waits for a resize counts
// what the pod wants (state.Pod.Requests), so it lacks what it has given away beyond its allocatable.
func (f *Fit) Filter(c *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	call := fitCall{texts: &f.reasons}
	if len(c.Pod.Requests.Scalars) > 0 {
		names, ok := c.State.Read(FitName, preFilterKey).(checked)
		if !ok {
			names = f.checked(c)
		}
		call.names = names
	}
	call.bind(c)
	if len(call.scalars) > maxScalars {
		call.each(c, rows, out)
		return
	}
	pods, cpu, memory := &call.fixed[tooManyPods], &call.fixed[noCPU], &call.fixed[noMemory]
	storage := &call.fixed[noStorage]
	storageAsked := storage.whole > 0
	for i, row := range rows {
		lacks := bit(pods.short(row), tooManyPods) | bit(cpu.short(row), noCPU) | bit(memory.short(row), noMemory)
		if storageAsked {
			lacks |= bit(storage.short(row), noStorage)
		}
		for j := range call.scalars {
			lacks |= bit(call.scalars[j].short(row), numFixed+j)
		}
		if lacks != 0 {
			out.Reject(i, call.code(row, lacks), call.reason(lacks, out))
		}
	}
}

// bind finds the columns of what the pod requests.
func (f *fitCall) bind(c *plugin.Cycle) {
	t := &c.Snapshot.Nodes
	r := &c.Pod.Requests
	columns := func(amount int64, resource int) demand {
		d := demand{amount: amount, whole: amount, allocatable: t.Resources[resource].Allocatable, requested: t.Resources[resource].Requested}
		if c.Resize && amount > 0 {
			d.amount = 0
		}
		return d
	}
	f.fixed = [numFixed]demand{
		tooManyPods: columns(1, state.PodCount),
		noCPU:       columns(asked(r.MilliCPU), state.CPU),
		noMemory:    columns(asked(r.Memory), state.Memory),
		noStorage:   columns(asked(r.EphemeralStorage), state.EphemeralStorage),
	}
	if c.Resize { // its place among the node's pods is not in question, and scalars cannot be resized
		f.fixed[tooManyPods].amount = math.MinInt64
		return
	}
	if len(f.names) == 0 {
		return
	}
	f.scalars = make([]demand, len(f.names))
	for i, s := range f.names {
		f.scalars[i] = demand{amount: s.Value, whole: s.Value}
		if resource := c.Snapshot.ResourceIndex(s.Name); resource >= 0 {
			f.scalars[i] = columns(s.Value, resource)
		}
		f.scalars[i].devices = s.devices
	}
}

// asked turns a request of zero into one that even an overcommitted node can satisfy.
func asked(amount int64) int64 {
	if amount == 0 {
		return math.MinInt64
	}
	return amount
}

func bit(b bool, n int) uint64 {
	if b {
		return 1 << n
	}
	return 0
}

// code returns the verdict of a row that lacks something.
func (f *fitCall) code(row uint32, lacks uint64) abi.Code {
	for i := noCPU; i < numFixed; i++ {
		if lacks&(1<<i) != 0 && f.fixed[i].exceeds(row) {
			return abi.UnschedulableAndUnresolvable
		}
	}
	for i := range f.scalars {
		if lacks&(1<<(numFixed+i)) != 0 && f.scalars[i].exceeds(row) {
			return abi.UnschedulableAndUnresolvable
		}
	}
	return abi.Unschedulable
}

// reason returns the reason set of a combination.
func (f *fitCall) reason(lacks uint64, out *plugin.Verdicts) uint16 {
	for i, known := range f.masks {
		if known == lacks {
			return f.reasons[i]
		}
	}
	var texts []string
	for i, text := range f.texts {
		if lacks&(1<<i) != 0 {
			texts = append(texts, text)
		}
	}
	for i := range f.scalars {
		if lacks&(1<<(numFixed+i)) != 0 {
			texts = append(texts, f.names[i].reason())
		}
	}
	at := f.next % len(f.masks)
	f.next++
	f.masks[at], f.reasons[at] = lacks, reasonSet(out, texts)
	return f.reasons[at]
}

// reasonSet returns the number of an equal set of this call, or of a new one: a call over many
// rows with many combinations must not fill the table.
func reasonSet(out *plugin.Verdicts, texts []string) uint16 {
	for i, known := range out.Table {
		if slices.Equal(known, texts) {
			return uint16(i + 1)
		}
	}
	return out.Reason(texts...)
}

// each evaluates row by row, for pods with more scalars than a mask has bits.
func (f *fitCall) each(c *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	plugin.PerNodeFilter(c, rows, out, func(_ *plugin.Cycle, row uint32) *plugin.Status {
		status := plugin.NewStatus(abi.Unschedulable)
		lacks := func(d *demand, text string, fixed bool) {
			if !d.short(row) {
				return
			}
			status.Reasons = append(status.Reasons, text)
			if !fixed && d.exceeds(row) {
				status.Code = abi.UnschedulableAndUnresolvable
			}
		}
		for i, text := range f.texts {
			lacks(&f.fixed[i], text, i == tooManyPods)
		}
		for i := range f.scalars {
			lacks(&f.scalars[i], f.names[i].reason(), false)
		}
		if len(status.Reasons) == 0 {
			return nil
		}
		return status
	})
}
