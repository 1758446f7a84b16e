// Package view says what a plugin sees of a cluster: what it must see by its manifest (Expect),
// and what a snapshot in guest memory shows (Read). Both are cells of text without anything
// that a host may choose: ids and slots are resolved, lists are sorted.
package view

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
)

// Cells are the columns of a row, or the fields of a pod record, by "id.arg".
type Cells map[string]string

// Snapshot is what a call shows of the cluster.
type Snapshot struct {
	// Nodes are sorted by name if names are declared, otherwise in the order of rows.
	Nodes []Cells
	// Namespaces are sorted by name; HasNamespaces is false if there is no table.
	Namespaces    []Cells
	HasNamespaces bool
}

// Key names a cell.
func Key(id abi.ColumnID, arg int) string { return fmt.Sprintf("%d.%d", id, arg) }

const absent = "-"

func quote(s string) string { return strconv.Quote(s) }

func number(v int64) string { return strconv.FormatInt(v, 10) }

// list formats elements whose order has no meaning (ABI-4.7).
func list(elements []string) string {
	slices.Sort(elements)
	return inOrder(elements)
}

// inOrder formats elements whose order has a meaning (ABI-4.22).
func inOrder(elements []string) string { return "[" + strings.Join(elements, " ") + "]" }

// text formats cells as one line.
func (c Cells) text() string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(c)) {
		out = append(out, key+"="+c[key])
	}
	return "{" + strings.Join(out, "; ") + "}"
}

// Diff returns a line for each wrong cell; empty if all are right.
func Diff(what string, want, got Cells) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(want)) {
		found, there := got[key]
		switch {
		case !there:
			out = append(out, fmt.Sprintf("%s: %s is missing, expected %s", what, key, want[key]))
		case want[key] != free && found != want[key]:
			out = append(out, fmt.Sprintf("%s: %s is %s, expected %s", what, key, found, want[key]))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if _, declared := want[key]; !declared {
			out = append(out, fmt.Sprintf("%s: %s is present but not declared (ABI-4.5), it is %s", what, key, got[key]))
		}
	}
	return out
}

// free is a cell whose value the host may choose, such as a generation.
const free = "*"

// DiffSnapshots returns a line for each difference.
func DiffSnapshots(want, got *Snapshot) []string {
	out := diffRows("node", Key(abi.NodeName, 0), want.Nodes, got.Nodes)
	if want.HasNamespaces != got.HasNamespaces {
		return append(out, fmt.Sprintf("the namespaces table is present: %t, expected %t", got.HasNamespaces, want.HasNamespaces))
	}
	return append(out, diffRows("namespace", Key(abi.NamespaceName, 0), want.Namespaces, got.Namespaces)...)
}

// diffRows compares rows by the cell with their name, or in order if that is not declared.
func diffRows(kind, name string, want, got []Cells) []string {
	var out []string
	if len(want) != len(got) {
		out = append(out, fmt.Sprintf("%d rows of kind %s, expected %d", len(got), kind, len(want)))
	}
	byName := func(rows []Cells) map[string]Cells {
		m := make(map[string]Cells, len(rows))
		for i, r := range rows {
			key, named := r[name]
			if !named {
				key = strconv.Itoa(i)
			}
			m[key] = r
		}
		return m
	}
	wants, gots := byName(want), byName(got)
	for _, key := range slices.Sorted(maps.Keys(wants)) {
		if found, ok := gots[key]; ok {
			out = append(out, Diff(kind+" "+key, wants[key], found)...)
		} else {
			out = append(out, fmt.Sprintf("%s %s is missing", kind, key))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(gots)) {
		if _, ok := wants[key]; !ok {
			out = append(out, fmt.Sprintf("%s %s should not be present", kind, key))
		}
	}
	return out
}

// Reads has a manifest's declarations as sets.
type Reads struct {
	*wire.ManifestReads
	node, pod map[string]bool
	columns   []wire.DeclaredColumn
	// attached are the namespaces that the plugin is attached to; nil means all.
	attached []string
}

// NewReads returns the declarations of a plugin that is attached to namespaces; none means all.
func NewReads(m *wire.ManifestReads, attached []string) *Reads {
	set := func(names []string) map[string]bool {
		out := map[string]bool{}
		for _, n := range names {
			out[n] = true
		}
		return out
	}
	return &Reads{
		ManifestReads: m, node: set(m.Node), pod: set(m.Pod), columns: m.Columns(), attached: attached,
	}
}

// Sees reports whether the plugin may see pods of a namespace (ABI-4.10).
func (r *Reads) Sees(namespace string) bool {
	return len(r.attached) == 0 || slices.Contains(r.attached, namespace)
}

// HasNode reports whether a name is in the list node.
func (r *Reads) HasNode(name string) bool { return r.node[name] }

// HasPod reports whether a name is in the list pod.
func (r *Reads) HasPod(name string) bool { return r.pod[name] }

// each calls set for each column of a table, or each field of the record, that is declared, and each of its args.
func (r *Reads) each(table abi.TableID, set func(id abi.ColumnID, arg int)) {
	for _, c := range r.columns {
		for _, arg := range c.Args {
			if c.Table == table {
				set(c.ID, arg)
			}
		}
	}
}

// NamespacesTable reports whether the plugin has the table of namespaces.
func (r *Reads) NamespacesTable() bool {
	return r.HasNamespaces()
}
