package wasm_test

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/breaker"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// FuzzDirectives: whatever a guest writes as directives, the accepted ones are declared, granted,
// valid and within the limits, and the pod's other keys stay. Anything else is a fault without
// any effect.
func FuzzDirectives(f *testing.F) {
	entry := func(kind abi.DirectiveKind, first, firstSize, second, secondSize uint32) []byte {
		out := binary.LittleEndian.AppendUint32(nil, uint32(kind))
		out = append(out, 0, 0, 0, 0)
		for _, v := range []uint32{first, firstSize, second, secondSize} {
			out = binary.LittleEndian.AppendUint32(out, v)
		}
		return out
	}
	const texts = scratch + 0x400
	key := []byte("example.com/gpu0,1")
	for _, kind := range []abi.DirectiveKind{abi.Annotate, abi.Label, abi.Allow, abi.Reject, abi.Activate, abi.Nominate, abi.BindPod, 99} {
		f.Add(entry(kind, texts, 15, texts+15, 3), key, uint32(1), uint32(scratch), uint16(kind), "example.com/", uint8(kind), uint16(0))
	}
	f.Add(bytes.Repeat(entry(abi.Annotate, texts, 15, texts, 18), 40), key, uint32(40), uint32(scratch), uint16(0), "example", uint8(0), uint16(100))
	f.Add(entry(abi.Label, 0xfffffff0, 0xffffffff, texts, 4), key, uint32(1), uint32(scratch), uint16(0), "", uint8(1), uint16(9))
	points := []abi.Point{abi.Reserve, abi.Permit, abi.PreBind, abi.Bind, abi.PostBind, abi.Unreserve}
	w := newWorld(2)
	f.Fuzz(func(t *testing.T, table, written []byte, n, at uint32, code uint16, prefix string, which uint8, limit uint16) {
		m := &wire.Manifest{Name: "guest", Directives: all()}
		grants := wire.ManifestDirectives{Annotations: []string{prefix}, Labels: []string{"example.com/", prefix}, Nominate: true, Bind: true, Waiting: true, Activate: true}
		if which&0x80 != 0 { // the user grants more than the module declares
			m.Directives, grants = grants, all()
			m.Directives.Labels = []string{prefix}
			grants.Annotations, grants.Labels = append(grants.Annotations, prefix), append(grants.Labels, prefix)
		} else {
			m.Directives.Annotations, m.Directives.Labels = []string{prefix}, []string{prefix}
			grants.Labels = grants.Labels[1:]
		}
		var exports []string
		for _, point := range points {
			m.Points.Set(point, &wire.ManifestPoint{})
			export, _ := wire.ExportOf(point)
			exports = append(exports, export)
		}
		guest := native(func(g *tiny, _ string, call, _, _ uint32) int32 {
			copy(g.memory[scratch:scratch+0x400], table)
			copy(g.memory[texts:0xf00], written)
			g.put32(call+abi.CallDirectives, at)
			g.put32(call+abi.CallDirectiveN, n)
			binary.LittleEndian.PutUint64(g.memory[call+abi.CallWait:], uint64(n)<<uint(code))
			return int32(code % 9)
		}, exports...)
		b := &binder{}
		p, err := wasm.New(t.Context(), wasm.Config{Name: "guest", Grants: grants, CrashOnBug: true, Limits: sandbox.Limits{DirectiveSize: int(limit)}},
			wasm.Deps{Factory: guest, Manifest: m, Binder: b})
		if err != nil {
			return // it is not granted what it declares
		}
		defer p.Close(t.Context())
		pl := w.placement(incoming("a", "p", 0), "n0")
		earlier := "other.example/earlier"
		pl.Patch.Annotations = map[string]string{earlier: "1"}
		var d plugin.Directives
		var status *plugin.Status
		switch point := points[int(which&0x7f)%len(points)]; point {
		case abi.Reserve:
			d, status = p.Reserve(pl)
		case abi.Permit:
			var wait time.Duration
			if wait, d, status = p.Permit(pl); wait < 0 || wait > 15*time.Minute {
				t.Errorf("the pod waits %v", wait)
			}
		case abi.PreBind:
			d, status = p.PreBind(pl)
		case abi.Bind:
			if d, status = p.Bind(pl); (status == nil) != (len(b.got) == 1) {
				t.Errorf("bound %+v, %v", b.got, status.AllReasons())
			}
			for _, binding := range b.got {
				if binding.Node != "n0" || binding.Patch.Annotations[earlier] != "1" && !strings.HasPrefix(earlier, prefix) {
					t.Errorf("bound %+v", binding)
				}
			}
		case abi.PostBind:
			d = p.PostBind(pl)
		default:
			d = p.Unreserve(pl)
		}
		sane(t, status)
		if f, ok := fault.As(status.AsError()); ok {
			if f.Kind != fault.Output && f.Kind != fault.Denied {
				t.Fatalf("%v", f)
			}
			if !d.Patch.Empty() || len(d.Allow)+len(d.Reject)+len(d.Activate) > 0 {
				t.Fatalf("%v, and %+v", f, d)
			}
		}
		size := 0
		for _, patch := range []map[string]string{d.Patch.Annotations, d.Patch.Labels} {
			for key, value := range patch {
				size += len(key) + len(value)
				if !strings.HasPrefix(key, prefix) || !utf8.ValidString(value) || validation.IsQualifiedName(strings.ToLower(key)) != nil {
					t.Errorf("prefix %q: %q is %q", prefix, key, value)
				}
			}
		}
		for key, value := range d.Patch.Labels {
			if validation.IsQualifiedName(key) != nil || validation.IsValidLabelValue(value) != nil {
				t.Errorf("label %q is %q", key, value)
			}
		}
		for _, r := range d.Reject {
			size += len(r.UID)
			if printed := strings.ToValidUTF8(r.Reason, ""); printed != r.Reason || strings.ContainsAny(r.Reason, "\n\r\x1b") {
				t.Errorf("reason %q", r.Reason)
			}
		}
		for _, uid := range slices.Concat(d.Allow, d.Activate) {
			size += len(uid)
		}
		if most := abi.MaxDirectiveText; size > most || limit > 0 && size > int(limit) || len(d.Allow)+len(d.Reject)+len(d.Activate) > abi.MaxDirectives {
			t.Errorf("%d bytes: %+v", size, d)
		}
		before := maps.Clone(pl.Pod.Object.Labels)
		on := pl.Pod.On("n0", d.Patch)
		for key, value := range before {
			if on.Object.Labels[key] != value && !strings.HasPrefix(key, prefix) || pl.Pod.Object.Labels[key] != value {
				t.Errorf("label %s of the pod was %q, is %q and in the patched pod %q", key, value, pl.Pod.Object.Labels[key], on.Object.Labels[key])
			}
		}
	})
}

// FuzzQueueKeys: whatever a guest writes as keys, pods get copies within the limit or keep their
// keys, and the queue has one order.
func FuzzQueueKeys(f *testing.F) {
	key := func(text string) []byte {
		return append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text+strings.Repeat("\xff", abi.MaxQueueKey-len(text))...)
	}
	f.Add(slices.Concat(key("b"), key("a"), key(""), key("ab")), int32(0), uint8(4))
	f.Add(slices.Concat(key("b"), []byte{65, 0, 0, 0}), int32(0), uint8(2))
	f.Add(slices.Concat(key("b"), []byte{255, 255, 255, 255}), int32(0), uint8(2))
	f.Add(key("x"), int32(5), uint8(9))
	m := &wire.Manifest{Name: "guest", Reads: wire.ManifestReads{Pod: []string{"name"}}}
	m.Points.Set(abi.QueueSort, &wire.ManifestPoint{})
	export, _ := wire.ExportOf(abi.QueueSort)
	f.Fuzz(func(t *testing.T, data []byte, code int32, n uint8) {
		var guests []*tiny
		p := newPlugin(t, wasm.Config{Breaker: breaker.Config{Faults: -1}}, native(func(g *tiny, _ string, call, _, _ uint32) int32 {
			guests = append(guests, g)
			at := g.u32(call + abi.CallKeys)
			copy(g.memory[at:min(uint32(len(g.memory)), at+abi.KeySize*uint32(n%17))], data)
			return code
		}, export), m)
		pods := make([]*state.QueuedPod, n%17)
		for i := range pods {
			pods[i] = &state.QueuedPod{Pod: incoming("a", string(rune('a'+i)), int32(i%3)), Timestamp: time.Unix(int64(i%2), 0)}
			if i%4 == 3 {
				pods[i].SortKey = []byte{byte(i)}
			}
		}
		p.Keys(pods)
		kept := make([][]byte, len(pods))
		for i, q := range pods {
			kept[i] = bytes.Clone(q.SortKey)
			if len(q.SortKey) > abi.MaxQueueKey {
				t.Fatalf("a key of %d bytes", len(q.SortKey))
			}
			if want := data[min(len(data), abi.KeySize*i):min(len(data), abi.KeySize*(i+1))]; code == 0 && p.Faults() == 0 && len(want) == abi.KeySize {
				if size := binary.LittleEndian.Uint32(want); !bytes.Equal(q.SortKey, want[4:4+size]) {
					t.Fatalf("the key of pod %d is %x, the guest wrote %x", i, q.SortKey, want)
				}
			}
			if (code != 0 || p.Faults() > 0) && (i%4 == 3) != (q.SortKey != nil) {
				t.Fatalf("pod %d has another key after a fault", i)
			}
		}
		for _, g := range guests {
			clear(g.memory)
		}
		for i, a := range pods {
			if !bytes.Equal(a.SortKey, kept[i]) {
				t.Fatal("a key is in the memory of the guest")
			}
			for j, b := range pods {
				if i == j && p.Less(a, b) || i != j && p.Less(a, b) == p.Less(b, a) {
					t.Fatalf("%s and %s have no order", a.Pod.Name, b.Pod.Name)
				}
				for _, c := range pods {
					if p.Less(a, b) && p.Less(b, c) && !p.Less(a, c) {
						t.Fatalf("%s, %s and %s are in a circle", a.Pod.Name, b.Pod.Name, c.Pod.Name)
					}
				}
			}
		}
	})
}

// FuzzRecords: the decoder of abi/wire reads the pods of a list and of an event as they are, batch
// after batch. Answers for pods are taken unchanged or are a fault.
func FuzzRecords(f *testing.F) {
	f.Add("name", "key", "value", uint8(3), uint8(0), []byte{0, 2, 0}, false)
	f.Add("\x00\xff", "", strings.Repeat("long", 5000), uint8(60), uint8(3), []byte{2, 3, 5, 6}, true)
	f.Add("a", "b", "c", uint8(255), uint8(1), []byte{1}, true)
	reads := wire.ManifestReads{Node: []string{"name", "labels"}, Pod: []string{"name", "namespace", "labels", "nodeName", "nodeSelector", "priority"}}
	var codes []byte
	var got []seen
	p := auxPlugin(f, func(g *tiny, export string, call, _, _ uint32) int32 {
		s := look(g, call)
		got = append(got, s)
		for i := range s.pods {
			if len(codes) > 0 {
				g.memory[g.u32(call+abi.CallCodes)+uint32(i)] = codes[i%len(codes)]
			}
		}
		return 0
	}, reads, wasm.Deps{}, abi.PreEnqueue, abi.Hint)
	f.Fuzz(func(t *testing.T, name, key, value string, n, action uint8, answers []byte, mine bool) {
		n %= 64                                                                  // fast enough to be fuzzed
		if len(name)+len(key)+len(value) > 64<<10 || int(n)*len(value) > 5<<18 { // more than a batch
			return
		}
		object := func(i int) *v1.Pod {
			pod := podObject("a", name, "")
			pod.Labels = map[string]string{key: value, "i": string(rune('0' + i%10))}
			pod.Spec.NodeSelector = map[string]string{value: key}
			priority := int32(i) << (action % 32)
			pod.Spec.Priority = &priority
			return pod
		}
		pods := make([]*state.Pod, n)
		for i := range pods {
			pods[i] = state.NewPod(object(i))
		}
		same := func(record map[string]string, pod *v1.Pod) {
			if record["128.0"] != text(pod.Name) || !samePairs(record["143.0"], pod.Labels) || record["129.0"] != text(pod.Spec.NodeName) {
				t.Fatalf("got %v\nof %+v", record, pod)
			}
		}
		check := func(faults int64) {
			at := 0
			for _, s := range got {
				if len(s.pods) > abi.MaxBatch || int(s.N) != len(s.pods) {
					t.Fatalf("a batch of %d pods, which says %d", len(s.pods), s.N)
				}
				for _, record := range s.pods {
					same(record, pods[at].Object)
					at++
				}
			}
			if at != len(pods) && faults == p.Faults() {
				t.Fatalf("the guest was asked about %d of %d pods", at, len(pods))
			}
		}
		valid := func(allowed ...abi.Code) bool {
			for i := range min(len(pods), len(answers)) {
				if !slices.Contains(allowed, abi.Code(answers[i])) {
					return false
				}
			}
			return true
		}
		codes, got = answers, nil
		statuses, faults := make([]*plugin.Status, n), p.Faults()
		p.PreEnqueue(pods, statuses)
		check(faults)
		if fine := valid(abi.Success, abi.Unschedulable, abi.UnschedulableAndUnresolvable, abi.Pending, abi.Error); fine != (p.Faults() == faults) {
			t.Fatalf("answers %d: %d faults: %s", answers, p.Faults()-faults, p.Status().Breaker.LastFault)
		} else if fine {
			for i, status := range statuses {
				if want := codeAt(answers, i); status.CodeOf() != want {
					t.Fatalf("pod %d is %s, want %s", i, status.CodeOf(), want)
				}
			}
		}
		got, faults = nil, p.Faults()
		node := nodeObject("n1")
		node.Labels = map[string]string{key: value}
		old, placed := object(1), object(2)
		placed.Spec.NodeName = name
		events := []state.ClusterEvent{
			{Resource: state.NodeResource, Action: state.Action(action)}, state.EventAssignedPodDelete(),
			{Resource: state.EventResource(name), Action: state.Action(1) << (action % 31)},
			{Resource: state.PersistentVolumeClaimResource, Action: state.Add},
		}
		e := state.Object{NewNode: state.NewNode(node), OldPod: state.NewPod(old), NewPod: state.NewPod(placed)}
		if mine {
			e.OldNode, e.OldPod = state.NewNode(nodeObject("n2")), nil
		}
		e.New = &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: value}}
		hints := slices.Repeat([]state.Hint{state.Queue}, int(n))
		p.Hint(events[int(action)%len(events)], e, pods, hints)
		check(faults)
		if fine := valid(abi.Success, abi.Skip, abi.Error); fine != (p.Faults() == faults) {
			t.Fatalf("answers %d: %d faults: %s", answers, p.Faults()-faults, p.Status().Breaker.LastFault)
		} else if fine {
			for i, hint := range hints {
				if (hint == state.QueueSkip) != (codeAt(answers, i) == abi.Skip) {
					t.Fatalf("pod %d: hint %v for %s", i, hint, codeAt(answers, i))
				}
			}
		}
		for _, s := range got {
			if (s.Event.OldPod != nil) == mine || s.Event.NewPod == nil || (s.Event.OldNode == abi.EventNoNode) == mine || s.Event.NewNode == abi.EventNoNode {
				t.Fatalf("event %+v", s.Event)
			}
			same(s.record(s.Event.NewPod), placed)
			if s.Event.Namespace != name || s.Event.Name != value {
				t.Fatalf("event of %q/%q", s.Event.Namespace, s.Event.Name)
			}
			if cells := decoded(t, s.snap, s.Event.NewNode); cells["1.0"] != text("n1") || cells["5.0"] != "" && !samePairs(cells["5.0"], node.Labels) {
				t.Fatalf("node %v", cells)
			}
		}
	})
}

// samePairs compares labels as text, in the order of bytes and not of quoted strings.
func samePairs(got string, labels map[string]string) bool {
	for key, value := range labels {
		pair := text(key) + "=" + text(value)
		if !strings.Contains(got, pair) {
			return false
		}
	}
	return len(got) == len(pairs(labels))
}

// codeAt returns the answer for a pod.
func codeAt(answers []byte, i int) abi.Code {
	if len(answers) == 0 {
		return abi.Success
	}
	return abi.Code(answers[i%len(answers)])
}
