package berth

import (
	"testing"
	"unsafe"

	"github.com/berth-scheduler/berth/abi"
)

// TestLayout compares the structures with package abi, which has the offsets of fields.
func TestLayout(t *testing.T) {
	var (
		call  callRecord
		h     header
		table tableEntry
		col   columnEntry
		pod   podHeader
		field podField
		event eventRecord
		asked directive
	)
	for _, c := range []struct {
		name      string
		got, want uintptr
	}{
		{"call", unsafe.Sizeof(call), abi.CallSize},
		{"call.header", unsafe.Offsetof(call.header), abi.CallHeader},
		{"call.pod", unsafe.Offsetof(call.pod), abi.CallPod},
		{"call.podSize", unsafe.Offsetof(call.podSize), abi.CallPodSize},
		{"call.point", unsafe.Offsetof(call.point), abi.CallPoint},
		{"call.rows", unsafe.Offsetof(call.rows), abi.CallRows},
		{"call.nRows", unsafe.Offsetof(call.nRows), abi.CallRowCount},
		{"call.codes", unsafe.Offsetof(call.codes), abi.CallCodes},
		{"call.reasons", unsafe.Offsetof(call.reasons), abi.CallReasons},
		{"call.scores", unsafe.Offsetof(call.scores), abi.CallScores},
		{"call.flags", unsafe.Offsetof(call.flags), abi.CallFlags},
		{"call.pods", unsafe.Offsetof(call.pods), abi.CallPods},
		{"call.event", unsafe.Offsetof(call.event), abi.CallEvent},
		{"call.queue", unsafe.Offsetof(call.queue), abi.CallQueue},
		{"call.keys", unsafe.Offsetof(call.keys), abi.CallKeys},
		{"call.reasonSets", unsafe.Offsetof(call.reasonSets), abi.CallReasonSets},
		{"call.nReasonSets", unsafe.Offsetof(call.nReasonSets), abi.CallReasonCount},
		{"call.rowSet", unsafe.Offsetof(call.rowSet), abi.CallRowSet},
		{"call.nRowSet", unsafe.Offsetof(call.nRowSet), abi.CallRowSetCount},
		{"call.hasRowSet", unsafe.Offsetof(call.hasRowSet), abi.CallHasRowSet},
		{"call.statusReason", unsafe.Offsetof(call.statusReason), abi.CallStatusReason},
		{"call.directives", unsafe.Offsetof(call.directives), abi.CallDirectives},
		{"call.nDirectives", unsafe.Offsetof(call.nDirectives), abi.CallDirectiveN},
		{"call.wait", unsafe.Offsetof(call.wait), abi.CallWait},
		{"call.retryAfter", unsafe.Offsetof(call.retryAfter), abi.CallRetryAfter},
		{"podEntry", unsafe.Sizeof(podEntry{}), abi.PodEntrySize},
		{"queued", unsafe.Sizeof(Queued{}), abi.QueueEntrySize},
		{"key", unsafe.Sizeof(Key{}), abi.KeySize},
		{"event", unsafe.Sizeof(event), abi.EventSize},
		{"event.actions", unsafe.Offsetof(event.actions), abi.EventActions},
		{"event.oldPod", unsafe.Offsetof(event.oldPod), abi.EventOldPod},
		{"event.newPod", unsafe.Offsetof(event.newPod), abi.EventNewPod},
		{"event.oldNode", unsafe.Offsetof(event.oldNode), abi.EventOldNode},
		{"event.newNode", unsafe.Offsetof(event.newNode), abi.EventNewNode},
		{"event.namespace", unsafe.Offsetof(event.namespace), abi.EventNamespace},
		{"event.name", unsafe.Offsetof(event.eventName), abi.EventName},
		{"directive", unsafe.Sizeof(asked), abi.DirectiveSize},
		{"directive.first", unsafe.Offsetof(asked.first), 8},
		{"directive.second", unsafe.Offsetof(asked.second), 16},
		{"header", unsafe.Sizeof(h), abi.HeaderSize},
		{"header.major", unsafe.Offsetof(h.major), abi.HeaderMajor},
		{"header.minor", unsafe.Offsetof(h.minor), abi.HeaderMinor},
		{"header.epoch", unsafe.Offsetof(h.epoch), abi.HeaderEpoch},
		{"header.generation", unsafe.Offsetof(h.generation), abi.HeaderGeneration},
		{"header.seed", unsafe.Offsetof(h.seed), abi.HeaderSeed},
		{"header.state", unsafe.Offsetof(h.state), abi.HeaderState},
		{"header.nTables", unsafe.Offsetof(h.nTables), abi.HeaderTables},
		{"header.tables", unsafe.Offsetof(h.tables), abi.HeaderDirectory},
		{"header.layout", unsafe.Offsetof(h.layout), abi.HeaderLayout},
		{"table", unsafe.Sizeof(table), abi.TableSize},
		{"table.rows", unsafe.Offsetof(table.rows), abi.TableRows},
		{"table.capacity", unsafe.Offsetof(table.capacity), abi.TableCapacity},
		{"table.base", unsafe.Offsetof(table.base), abi.TableBase},
		{"table.overlays", unsafe.Offsetof(table.overlays), abi.TableOverlays},
		{"table.nColumns", unsafe.Offsetof(table.nColumns), abi.TableColumns},
		{"table.columns", unsafe.Offsetof(table.columns), abi.TableColumnsAddr},
		{"column", unsafe.Sizeof(col), abi.ColumnSize},
		{"column.arg", unsafe.Offsetof(col.arg), abi.ColumnArg},
		{"column.typ", unsafe.Offsetof(col.typ), abi.ColumnType},
		{"column.address", unsafe.Offsetof(col.address), abi.ColumnAddress},
		{"column.capacity", unsafe.Offsetof(col.capacity), abi.ColumnCapacity},
		{"column.length", unsafe.Offsetof(col.length), abi.ColumnLength},
		{"pod", unsafe.Sizeof(pod), abi.PodHeaderSize},
		{"pod.size", unsafe.Offsetof(pod.size), abi.PodSize},
		{"field", unsafe.Sizeof(field), abi.PodFieldSize},
		{"field.arg", unsafe.Offsetof(field.arg), abi.PodFieldArg},
		{"field.offset", unsafe.Offsetof(field.offset), abi.PodFieldOffset},
		{"field.count", unsafe.Offsetof(field.count), abi.PodFieldLength},
		{"span", unsafe.Sizeof(span{}), uintptr(abi.TypeSpan.Size())},
		{"pair", unsafe.Sizeof(Pair{}), uintptr(abi.TypePair.Size())},
		{"taint", unsafe.Sizeof(Taint{}), uintptr(abi.TypeTaint.Size())},
		{"port", unsafe.Sizeof(Port{}), uintptr(abi.TypePort.Size())},
		{"image", unsafe.Sizeof(Image{}), uintptr(abi.TypeImage.Size())},
		{"toleration", unsafe.Sizeof(Toleration{}), abi.TolerationSize},
		{"requirement", unsafe.Sizeof(Requirement{}), abi.RequirementSize},
		{"term", unsafe.Sizeof(Term{}), abi.TermSize},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, package abi has %d", c.name, c.got, c.want)
		}
	}
}

func TestReadManifest(t *testing.T) {
	r, err := readManifest([]byte(` {"name":"x\"y\\","points":{"filter":{"scope":"node"},"n":[1,-2.5e+3,true,null,[]]},
		"reads":{"nodeLabels":["a\/b","\u00e9\ud83d\ude00"],"pod":["labels","namespace"],"node":["name"],"resources":[]}} `))
	if err != nil {
		t.Fatal(err)
	}
	labels := r.lists[listNodeLabels]
	if len(labels) != 2 || labels[0] != "a/b" || labels[1] != "é😀" || r.pod != podLabels|podNamespace {
		t.Errorf("got %q, pod %b", labels, r.pod)
	}
	for _, bad := range []string{``, `{`, `{}x`, `[]`, `{"reads":{"nodeLabels":"a"}}`, `{"reads":{"nodeLabels":["a"}}`, `{"a":"\x"}`, `{"a":"\u12"}`, `{"a" 1}`, `{"a":}`, `{"a":"b`} {
		if _, err := readManifest([]byte(bad)); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
}
