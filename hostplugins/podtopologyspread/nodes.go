package podtopologyspread

import (
	"encoding/binary"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/hostplugins/internal/nodeselector"
	"github.com/berth-scheduler/berth/hostplugins/internal/taints"
	"github.com/berth-scheduler/berth/hostplugins/internal/tally"
	"github.com/berth-scheduler/berth/runtime/state"
)

// nodes is the eligible nodes of a constraint: those that have the labels of all constraints,
// and that pass the pod's node affinity and taints as far as the constraint honours these
// (KEP-3094).
type nodes struct {
	keys        []string   // nil if none is required
	pod         *state.Pod // for its node selector and affinity, and its tolerations
	affinity    bool       // is honoured
	taints      bool       // are honoured
	compare     bool       // as in Deps.CompareTolerations
	resolved    int        // Strings.Len() when selector and tolerations were resolved
	selector    nodeselector.Selector
	tolerations []taints.Toleration
}

var _ tally.Eligible = (*nodes)(nil)

// Match implements tally.Eligible.
func (n *nodes) Match(s *state.Snapshot, rows []uint32, out []uint8) {
	n.resolve(s)
	for i := range out {
		out[i] = 1
	}
	for _, key := range n.keys {
		column := s.Nodes.Labels.Key(s.Strings.Lookup(key))
		for i, row := range rows {
			if column.At(row) == 0 {
				out[i] = 0
			}
		}
	}
	if n.affinity && !n.selector.Everything() {
		var mask nodeselector.Mask
		for start := 0; start < len(rows); start += nodeselector.Block {
			block := rows[start:min(start+nodeselector.Block, len(rows))]
			n.selector.Match(s, block, &mask)
			for i := range block {
				out[start+i] &= mask[i]
			}
		}
	}
	if !n.taints {
		return
	}
	t := &s.Nodes
	for i, row := range rows {
		if set := t.TaintSets[t.TaintSet[row]]; len(set) > 0 &&
			taints.Untolerated(set, n.tolerations, wire.NoSchedule, wire.NoExecute) > 0 {
			out[i] = 0
		}
	}
}

// resolve looks up strings in the dictionary, again after it has grown: a string that was
// unknown may have become a label.
func (n *nodes) resolve(s *state.Snapshot) {
	if n.resolved == s.Strings.Len() {
		return
	}
	n.resolved = s.Strings.Len()
	if n.affinity {
		n.selector = nodeselector.Pod(n.pod, s.Strings)
	}
	if n.taints {
		n.tolerations = taints.Resolve(nil, n.pod.Tolerations, s.Strings, n.compare)
	}
}

// appendKey writes what distinguishes the nodes of a constraint from those of others.
func (n *nodes) appendKey(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(n.keys)))
	for _, key := range n.keys {
		dst = appendText(dst, key)
	}
	if n.affinity {
		dst = append(dst, 'a')
		dst = appendRequirements(dst, n.pod.Selector)
		if n.pod.HasRequired {
			dst = binary.AppendUvarint(append(dst, 'r'), uint64(len(n.pod.Required)))
			for i := range n.pod.Required {
				t := &n.pod.Required[i]
				if t.Err != nil {
					dst = append(dst, 'e')
					continue
				}
				dst = appendRequirements(append(dst, 't'), t.Labels)
				dst = appendRequirements(dst, t.Fields)
			}
		}
	}
	if n.taints {
		dst = binary.AppendUvarint(append(dst, 't'), uint64(len(n.pod.Tolerations)))
		for i := range n.pod.Tolerations {
			t := &n.pod.Tolerations[i]
			dst = appendText(appendText(dst, t.Key), string(t.Operator))
			dst = appendText(appendText(dst, t.Value), string(t.Effect))
		}
	}
	return dst
}

func appendRequirements(dst []byte, list []state.Requirement) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(list)))
	for i := range list {
		r := &list[i]
		dst = appendText(appendText(dst, r.Key), string(r.Op))
		dst = binary.AppendUvarint(dst, uint64(len(r.Values)))
		for _, v := range r.Values {
			dst = appendText(dst, v)
		}
	}
	return dst
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}
