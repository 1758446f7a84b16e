package wire_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/golden"
)

// dump is a hex dump with explanations.
type dump struct {
	strings.Builder
	memory []byte
}

func (d *dump) title(format string, args ...any) {
	if d.Len() > 0 {
		d.WriteString("\n")
	}
	fmt.Fprintf(d, format+"\n", args...)
}

// line writes n bytes at an address with their meaning; it returns the address after them.
func (d *dump) line(at uint32, n int, meaning string) uint32 {
	for i := 0; i < n; i += 8 {
		var text string
		for j := i; j < min(i+8, n); j++ {
			text += fmt.Sprintf("%02x ", d.memory[at+uint32(j)])
		}
		if i > 0 {
			meaning = ""
		}
		d.WriteString(strings.TrimRight(fmt.Sprintf("%05x  %-25s %s", at+uint32(i), text, meaning), " ") + "\n")
	}
	return at + uint32(n)
}

// u32s writes a line for each meaning, 4 bytes each.
func (d *dump) u32s(at uint32, meanings ...string) uint32 {
	for _, m := range meanings {
		at = d.line(at, 4, m)
	}
	return at
}

// TestFilterExample: section 11 of SPEC.md shows what the code writes.
func TestFilterExample(t *testing.T) {
	e := filterExample(t)
	l := e.layout
	d := &dump{memory: e.memory}
	address := func(offset uint32) uint32 { return e.base + offset }

	d.title("The call record (3.1)")
	at := d.u32s(address(l.Call), "header", "pod", "pod_size: 28 bytes", "point: 6, Filter", "rows: 0, so the rows lo … hi−1, which are 0 … 2",
		"n_rows: 3", "codes", "reasons", "scores, not used by filter", "flags")
	d.line(at, 8, "zero, up to offset 63")
	at = d.u32s(address(l.Call+abi.CallGuestStart), "reason_sets, written by the guest", "n_reason_sets, written by the guest")
	d.line(at, 8, "row_set, n_row_set and the rest: zero, up to offset 127")

	d.title("The header (4.1)")
	at = d.u32s(address(l.Header), "magic: BRTH")
	at = d.line(at, 2, "major: 1")
	at = d.line(at, 2, "minor: 2, of the host")
	at = d.line(at, 8, "epoch: 1")
	at = d.line(at, 8, "generation: 7")
	at = d.line(at, 8, "seed: 0, the scope of filter is node")
	at = d.u32s(at, "state", "n_tables: 2", "tables", "layout")
	d.line(at, 16, "zero")

	d.title("The table directory (4.2)")
	at = address(l.Tables[0].Entry)
	for _, table := range []struct{ id, rows, capacity, overlays, columns string }{
		{"id: 1, nodes", "n_rows: 3", "row_capacity: 4", "overlay_capacity: 1, so row 4 is the overlay row", "n_columns: 1"},
		{"id: 3, strings", "n_rows: 4, so the ids are 0 … 3", "row_capacity: 8", "overlay_capacity: 0", "n_columns: 2"},
	} {
		at = d.u32s(at, table.id, table.rows, table.capacity, "row_base: 0", table.overlays, table.columns, "address of its columns", "zero")
	}

	d.title("The column directory of the nodes (4.3)")
	d.u32s(address(l.Tables[0].Columns[0].Entry), "id: 14, nodeLabels", "arg: 0, the first key in the manifest", "type: 3, u32", "address",
		"capacity: row_capacity + overlay_capacity", "length: n_rows")

	d.title("The column: value ids of the label, one a row")
	d.u32s(address(l.Tables[0].Columns[0].Data), "row 0: id 2", "row 1: 0, the node does not have the label", "row 2: id 3", "row 3 is not there", "row 4: the overlay row, not in use")

	d.title("The column directory of the strings")
	d.u32s(address(l.Tables[1].Columns[0].Entry), "id: 192, string", "arg: 0", "type: 7, span", "address", "capacity", "length: n_rows",
		"id: 192 + 256, its arena (4.8)", "arg: 0", "type: 12, bytes", "address", "capacity", "length")

	d.title("The strings: spans, then bytes")
	at = address(l.Tables[1].Columns[0].Data)
	for _, s := range []string{"id 0: absent", "id 1: 6 bytes from 0 on", "id 2: 3 bytes from 6 on", "id 3: 6 bytes from 9 on"} {
		at = d.line(at, 8, s)
	}
	d.line(address(l.Tables[1].Columns[1].Data), 6, `"team-a"`)
	d.line(address(l.Tables[1].Columns[1].Data)+6, 3, `"gpu"`)
	d.line(address(l.Tables[1].Columns[1].Data)+9, 6, `"shared"`)

	d.title("The answers, written by the guest, dense by position (3.7)")
	d.line(address(l.Codes), 3, "codes: Success, UnschedulableAndUnresolvable, Unschedulable")
	d.line(address(l.Reasons), 6, "reasons: none, set 1, set 2")

	d.title("The reason sets, in the guest's own memory (3.6)")
	at = d.u32s(0x400, "set 1: address of its texts", "one text", "set 2: address of its texts", "one text")
	at = d.u32s(at, "the text of set 1: address", "12 bytes", "the text of set 2: address", "10 bytes")
	at = d.line(at, 12, `"no node pool"`)
	d.line(at, 10, `"pool taken"`)
	checkExample(t, "11", "example-filter.txt", d.String())
}

// TestPodExample: section 12 of SPEC.md shows what the code writes.
func TestPodExample(t *testing.T) {
	d := &dump{memory: podExample()}
	d.title("The pod record (6.1); addresses are offsets from its start")
	at := d.u32s(0, "n_fields: 4", "size: 112")
	for _, f := range [][4]string{
		{"id: 140, namespace", "arg: 0", "offset", "count: 1"},
		{"id: 142, requests", "arg: 0, the first resource in the manifest", "offset", "count: 1"},
		{"id: 142, requests", "arg: 1, the second resource", "offset", "count: 1"},
		{"id: 143, labels", "arg: 0", "offset", "count: 2"},
	} {
		at = d.u32s(at, f[:]...)
	}
	at = d.u32s(at, "namespace: id 1", "zero, field data are aligned to 8")
	at = d.line(at, 8, "requests of resource 0: 1500 milli-CPU")
	at = d.line(at, 8, "requests of resource 1: 256 MiB")
	at = d.line(at, 8, "labels: key id 2, value id 3")
	at = d.line(at, 8, "labels: key id 4, value id 5")
	if int(at) != len(d.memory) {
		t.Errorf("%d bytes of %d are shown", at, len(d.memory))
	}
	checkExample(t, "12", "example-pod.txt", d.String())
}

// TestReserveExample: section 14 of SPEC.md shows what the code writes.
func TestReserveExample(t *testing.T) {
	e := reserveExample(t)
	l := e.layout
	d := &dump{memory: e.memory}
	address := func(offset uint32) uint32 { return e.base + offset }

	d.title("The call record (3.1)")
	at := d.u32s(address(l.Call), "header", "pod", "pod_size: 30 bytes", "point: 11, Reserve", "rows: 0", "n_rows: 0, the call is about no rows",
		"codes, reasons and scores have no elements", "", "", "flags")
	at = d.u32s(at, "pods: 0, the call is about the pod that has a record", "event: 0", "queue: 0", "keys: 0")
	d.line(at, 8, "zero, up to offset 63")
	at = d.line(address(l.Call+abi.CallGuestStart), 24, "reason_sets … status_reason: zero")
	at = d.u32s(at, "directives, written by the guest", "n_directives, written by the guest")
	d.line(at, 8, "wait: zero, as is the rest up to offset 127")

	d.title("The header (4.1)")
	at = d.u32s(address(l.Header), "magic: BRTH", "major: 1, minor: 2")
	at = d.line(at, 8, "epoch: 1, of this instance")
	at = d.line(at, 8, "generation: 9")
	at = d.line(at, 8, "seed")
	d.u32s(at, "state: what pre_filter wrote is there", "n_tables: 3", "tables", "layout")

	d.title("The table directory (4.2)")
	at = address(l.Tables[0].Entry)
	for _, table := range [][8]string{
		{"id: 1, nodes", "n_rows: 1, the chosen node (5.15)", "row_capacity", "row_base", "overlay_capacity", "n_columns: 2", "address of its columns", "zero"},
		{"id: 3, strings", "n_rows: 2", "row_capacity", "row_base", "overlay_capacity", "n_columns: 2", "address of its columns", "zero"},
		{"id: 2, pods", "n_rows: 1", "row_capacity", "row_base", "overlay_capacity", "n_columns: 1", "address of its columns", "zero"},
	} {
		at = d.u32s(at, table[:]...)
	}

	d.title("The column directory of the nodes (4.3)")
	d.u32s(address(l.Tables[0].Columns[0].Entry), "id: 12, pods", "arg: 0", "type: 7, span", "address", "capacity", "length: n_rows",
		"id: 12 + 256, its arena (4.8)", "arg: 0", "type: 3, u32", "address", "capacity", "length")
	d.title("The pods of row 0: a span, and one slot")
	d.line(address(l.Tables[0].Columns[0].Data), 8, "1 element from 0 on")
	d.u32s(address(l.Tables[0].Columns[1].Data), "slot 0 of table 2", "not in use")

	d.title("The column directory of the pods")
	d.u32s(address(l.Tables[2].Columns[0].Entry), "id: 68, podAnnotations", "arg: 0, the first key in the manifest", "type: 3, u32", "address", "capacity", "length: n_rows")
	d.title("The column: value ids of the annotation, one a slot")
	d.u32s(address(l.Tables[2].Columns[0].Data), "slot 0: id 1", "not in use")

	d.title("The strings: spans, then bytes (their column directory is as in section 11)")
	d.line(address(l.Tables[1].Columns[0].Data), 8, "id 0: absent")
	d.line(address(l.Tables[1].Columns[0].Data)+8, 8, "id 1: 1 byte from 0 on")
	d.line(address(l.Tables[1].Columns[1].Data), 1, `"0"`)

	d.title("The pod record (6.1)")
	at = d.u32s(address(l.Pod), "n_fields: 1", "size: 30", "id: 129, nodeName", "arg: 0", "offset", "count: 6")
	d.line(at, 6, `"node-7"`)

	d.title("The directive, in the guest's own memory (13.1)")
	at = d.u32s(0x400, "kind: 1, annotate", "zero", "first text, the key: address", "15 bytes", "second text, the value: address", "1 byte")
	at = d.line(at, 15, `"example.com/gpu"`)
	d.line(at, 1, `"1"`)
	checkExample(t, "14", "example-reserve.txt", d.String())
}

// checkExample compares a dump with its file, and with the section of SPEC.md that must contain
// it.
func checkExample(t *testing.T, section, name, text string) {
	t.Helper()
	path := filepath.Join("..", "testdata", name)
	golden.Check(t, path, []byte(text))
	spec, err := os.ReadFile(filepath.Join("..", "SPEC.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, body, found := strings.Cut(string(spec), "\n## "+section+". ")
	if !found {
		t.Fatalf("SPEC.md has no section %s", section)
	}
	body, _, _ = strings.Cut(body, "\n## ")
	if !strings.Contains(body, text) {
		t.Errorf("section %s of SPEC.md does not show %s as it is", section, path)
	}
}
