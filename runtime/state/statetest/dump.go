// Package statetest writes snapshots as text, so that tests can compare them.
package statetest

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Dump writes every row of nodes and of namespaces with its strings decoded, so that snapshots
// of different epochs, and incremental and full ones, can be compared as text. It omits
// resources with zero amounts and sorts lists.
//
// # Errors
//
// The dense columns of labels and the lists of labels contradict each other.
func Dump(w io.Writer, s *state.Snapshot) error {
	dense := denseKeys(s)
	for row := range uint32(s.Len()) {
		if err := dumpRow(w, s, row, dense); err != nil {
			return err
		}
	}
	for row, ns := range s.Namespaces.Namespace {
		if ns == nil {
			continue
		}
		_, err := fmt.Fprintf(w, "namespace %d %s labels %q%s\n", row, s.Strings.String(s.Namespaces.Name[row]),
			texts(s, s.Namespaces.Labels.Row(uint32(row))), sums(&s.Namespaces.Requested[row]))
		if err != nil {
			return err
		}
	}
	return nil
}

// sums returns what the pods of a namespace request; nothing without pods.
func sums(r *state.Resources) string {
	if r.Equal(&state.Resources{}) {
		return ""
	}
	text := fmt.Sprintf(" requested %d pods cpu %d memory %d", r.Pods, r.MilliCPU, r.Memory)
	for _, s := range r.Scalars {
		text += fmt.Sprintf(" %s %d", s.Name, s.Value)
	}
	return text
}

// texts returns pairs as KEY=VALUE, sorted.
func texts(s *state.Snapshot, pairs []wire.Pair) []string {
	var out []string
	for _, p := range pairs {
		out = append(out, s.Strings.String(p.Key)+"="+s.Strings.String(p.Value))
	}
	slices.Sort(out)
	return out
}

// DumpRow writes one row of the nodes table, which may be an overlay.
func DumpRow(w io.Writer, s *state.Snapshot, row uint32) error {
	return dumpRow(w, s, row, denseKeys(s))
}

func dumpRow(w io.Writer, s *state.Snapshot, row uint32, dense []uint32) error {
	t := &s.Nodes
	var b strings.Builder
	fmt.Fprintf(&b, "row %d node %s rank %d flags %d non-zero cpu %d memory %d\n",
		row, s.Name(row), t.Rank[row], t.Flags[row], t.NonZeroCPU[row], t.NonZeroMemory[row])
	section := func(name string, lines []string) {
		slices.Sort(lines)
		for _, line := range lines {
			fmt.Fprintf(&b, "  %s %s\n", name, line)
		}
	}
	var lines []string
	for i := range t.Resources {
		r := &t.Resources[i]
		if r.Allocatable[row] != 0 || r.Requested[row] != 0 {
			lines = append(lines, fmt.Sprintf("%s allocatable %d requested %d", r.Name, r.Allocatable[row], r.Requested[row]))
		}
	}
	section("resource", lines)
	lines = nil
	for _, p := range t.Labels.Row(row) {
		if dense := t.Labels.Key(p.Key).At(row); dense != p.Value {
			return fmt.Errorf("BUG: row %d: label %s: dense column has %q, list has %q",
				row, s.Strings.String(p.Key), s.Strings.String(dense), s.Strings.String(p.Value))
		}
		lines = append(lines, s.Strings.String(p.Key)+"="+s.Strings.String(p.Value))
	}
	if err := checkDense(s, row, dense); err != nil {
		return err
	}
	section("label", lines)
	lines = nil
	for _, taint := range t.TaintSets[t.TaintSet[row]] {
		lines = append(lines, fmt.Sprintf("%s=%s:%d", s.Strings.String(taint.Key), s.Strings.String(taint.Value), taint.Effect))
	}
	section("taint", lines)
	lines = nil
	for _, image := range t.Images.Row(row) {
		lines = append(lines, fmt.Sprintf("%s size %d nodes %d", s.Strings.String(image.Name), image.Size, t.ImageNodes[image.Name]))
	}
	section("image", lines)
	lines = nil
	for _, p := range t.Ports.Row(row) {
		lines = append(lines, fmt.Sprintf("%s:%d/%d", s.Strings.String(p.IP), p.Port, p.Protocol))
	}
	section("port", lines)
	lines = nil
	for _, slot := range t.Pods.Row(row) {
		lines = append(lines, describePod(s, slot))
	}
	section("pod", lines)
	lines = nil
	for _, slot := range t.Nominated.Row(row) {
		lines = append(lines, describePod(s, slot))
	}
	section("nominated", lines)
	_, err := io.WriteString(w, b.String())
	return err
}

func describePod(s *state.Snapshot, slot uint32) string {
	t := &s.Pods
	labels := texts(s, t.Labels.Row(slot))
	text := fmt.Sprintf("%s/%s priority %d cpu %d memory %d labels %v", s.Strings.String(t.Namespace[slot]),
		t.Pod[slot].Name, t.Priority[slot], t.MilliCPU[slot], t.Memory[slot], labels)
	if annotations := t.Pod[slot].Object.Annotations; len(annotations) > 0 {
		text += fmt.Sprintf(" annotations %q", annotations) // fmt sorts keys
	}
	return text
}

// denseKeys returns the label keys that have a dense column.
func denseKeys(s *state.Snapshot) (keys []uint32) {
	for key := range uint32(s.Strings.Len()) {
		if s.Nodes.Labels.Key(key).Values != nil {
			keys = append(keys, key)
		}
	}
	return keys
}

// checkDense says which dense column has a label that is missing in the row's list.
func checkDense(s *state.Snapshot, row uint32, dense []uint32) error {
	for _, key := range dense {
		value := s.Nodes.Labels.Key(key).Values[row]
		if value != 0 && !slices.Contains(s.Nodes.Labels.Row(row), wire.Pair{Key: key, Value: value}) {
			return fmt.Errorf("BUG: row %d: label %s: dense column has %q, list has nothing",
				row, s.Strings.String(key), s.Strings.String(value))
		}
	}
	return nil
}
