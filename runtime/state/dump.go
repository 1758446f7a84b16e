package state

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi/wire"
)

// Dump writes every row of nodes and of namespaces with its strings decoded, so
// that snapshots of different epochs, and incremental and full ones, can be
// compared as text. Resources that a row has nothing of are left out, and lists
// are sorted.
func (s *Snapshot) Dump(w io.Writer) error {
	for row := range uint32(s.Len()) {
		if err := s.DumpRow(w, row); err != nil {
			return err
		}
	}
	for row, ns := range s.Namespaces.Namespace {
		if ns == nil {
			continue
		}
		_, err := fmt.Fprintf(w, "namespace %d %s labels %q\n", row, s.Strings.String(s.Namespaces.Name[row]),
			s.texts(s.Namespaces.Labels.Row(uint32(row))))
		if err != nil {
			return err
		}
	}
	return nil
}

// texts returns pairs as KEY=VALUE, sorted.
func (s *Snapshot) texts(pairs []wire.Pair) []string {
	var out []string
	for _, p := range pairs {
		out = append(out, s.Strings.String(p.Key)+"="+s.Strings.String(p.Value))
	}
	slices.Sort(out)
	return out
}

// DumpRow writes one row of the nodes table, which may be an overlay.
func (s *Snapshot) DumpRow(w io.Writer, row uint32) error {
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
	if err := t.Labels.checkDense(row, s.Strings); err != nil {
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
		lines = append(lines, s.Pods.describe(slot, s))
	}
	section("pod", lines)
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *PodTable) describe(slot uint32, s *Snapshot) string {
	labels := s.texts(t.Labels.Row(slot))
	text := fmt.Sprintf("%s/%s priority %d cpu %d memory %d labels %v", s.Strings.String(t.Namespace[slot]),
		t.Pod[slot].Name, t.Priority[slot], t.MilliCPU[slot], t.Memory[slot], labels)
	if annotations := t.Pod[slot].Object.Annotations; len(annotations) > 0 {
		text += fmt.Sprintf(" annotations %q", annotations) // fmt sorts keys
	}
	return text
}

// checkDense says which dense column has a label that the row's list has not.
func (l *LabelColumns) checkDense(row uint32, strings *wire.Dict) error {
	for key, i := range l.dense {
		value := l.columns[i][row]
		if value != 0 && !slices.Contains(l.pairs.Row(row), wire.Pair{Key: key, Value: value}) {
			return fmt.Errorf("BUG: row %d: label %s: dense column has %q, list has nothing",
				row, strings.String(key), strings.String(value))
		}
	}
	return nil
}
