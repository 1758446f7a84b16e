package volumezone

import (
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// split returns the zones of a label value, sorted; false if one is empty.
func split(value string) ([]string, bool) {
	out := strings.Split(value, delimiter)
	for i := range out {
		if out[i] = strings.TrimSpace(out[i]); out[i] == "" {
			return nil, false
		}
	}
	slices.Sort(out)
	return slices.Compact(out), true
}

// wanted is a zone with strings resolved.
type wanted struct {
	column, today state.LabelColumn // today is the label under its current name
	values        []uint32
}

// Filter rejects nodes that lack a zone label of a volume, or have another value. A node
// without any zone label is taken to be in a cluster of one zone, and fits.
func (z *VolumeZone) Filter(c *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	found, ok := c.State.Read(Name, preFilterKey).(zones)
	if !ok {
		var status *plugin.Status
		if found, status = z.zonesOf(c.Pod.Object); status != nil {
			reason := out.Reason(status.Reasons...)
			for i := range rows {
				out.Reject(i, status.Code, reason)
			}
			return
		}
	}
	if len(found) == 0 {
		return
	}
	labels, strings := &c.Snapshot.Nodes.Labels, c.Snapshot.Strings
	var constrained [4]state.LabelColumn
	for i, key := range zoneLabels() {
		constrained[i] = labels.Key(strings.Lookup(key))
	}
	want := make([]wanted, len(found))
	for i, zone := range found {
		want[i] = wanted{column: labels.Key(strings.Lookup(zone.key)), today: labels.Key(strings.Lookup(today(zone.key)))}
		for _, v := range zone.values {
			if id := strings.Lookup(v); id != 0 {
				want[i].values = append(want[i].values, id)
			}
		}
	}
	var reason uint16
	for i, row := range rows {
		if fits(want, row) || free(&constrained, row) {
			continue
		}
		if reason == 0 {
			reason = out.Reason(z.conflict...)
		}
		out.Reject(i, abi.UnschedulableAndUnresolvable, reason)
	}
}

// fits reports whether a row has one of the values of each zone.
func fits(want []wanted, row uint32) bool {
	for i := range want {
		w := &want[i]
		value := w.column.At(row)
		if value == 0 {
			value = w.today.At(row)
		}
		if value == 0 || !slices.Contains(w.values, value) {
			return false
		}
	}
	return true
}

// free reports whether a row has no zone label at all.
func free(columns *[4]state.LabelColumn, row uint32) bool {
	for i := range columns {
		if columns[i].At(row) != 0 {
			return false
		}
	}
	return true
}
