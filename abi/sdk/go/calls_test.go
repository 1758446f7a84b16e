package berth_test

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/abi"
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/wire"
)

//go:embed testdata/calls.json
var callsManifest []byte

// calls has the points about pods. Names and the annotation `note` say what it does.
type calls struct {
	berth.Base
	note       berth.PodAnnotation
	zone       berth.NodeLabel
	plan       berth.Published
	held, seen berth.Reason
	heard      string // the event of the last hint
	wait       time.Duration
}

func newCalls() *calls {
	b := berth.Load(callsManifest)
	return &calls{
		Base: b, note: b.PodAnnotation("note"), zone: b.NodeLabel("zone"), plan: b.Published("another/plan"),
		held: b.Reason("held back"), seen: b.Reason("no", "not here"),
	}
}

var (
	_ berth.PreEnqueuer  = (*calls)(nil)
	_ berth.QueueKeyer   = (*calls)(nil)
	_ berth.Hinter       = (*calls)(nil)
	_ berth.PreFilterer  = (*calls)(nil)
	_ berth.PodAdder     = (*calls)(nil)
	_ berth.Filterer     = (*calls)(nil)
	_ berth.PostFilterer = (*calls)(nil)
	_ berth.Reserver     = (*calls)(nil)
	_ berth.Unreserver   = (*calls)(nil)
	_ berth.Permitter    = (*calls)(nil)
	_ berth.PreBinder    = (*calls)(nil)
	_ berth.Binder       = (*calls)(nil)
	_ berth.PostBinder   = (*calls)(nil)
)

func (p *calls) say(pod berth.Pod) string { return pod.Name() + ":" + p.Text(pod.Annotation(p.note)) }

func (p *calls) PreEnqueue(pod berth.Pod) berth.Status {
	switch p.Text(pod.Annotation(p.note)) {
	case "hold":
		return berth.UnschedulableAndUnresolvable(p.held)
	case "pending":
		return berth.Pending(0)
	}
	return berth.Success
}

func (p *calls) QueueKey(pod berth.Pod, queued berth.Queued, key *berth.Key) {
	key.AppendInt64Descending(int64(queued.Attempts))
	key.AppendInt64(queued.Time)
	key.AppendText(p.say(pod))
}

func (p *calls) Hint(event berth.Event, pod berth.Pod) berth.HintResult {
	old, hasOld := event.OldPod()
	now, hasNew := event.NewPod()
	before, hasBefore := event.OldNode()
	after, hasAfter := event.NewNode()
	var all []string
	if hasOld {
		all = append(all, "old pod "+p.say(old))
	}
	if hasNew {
		all = append(all, "new pod "+p.say(now))
	}
	if hasBefore {
		all = append(all, "old node "+before.Name())
	}
	if hasAfter {
		all = append(all, "new node "+after.Name()+" in "+p.Text(after.Label(p.zone)))
	}
	p.heard = fmt.Sprint(event.Resource(), " ", uint32(event.Actions()), " ", event.Namespace(), "/", event.Name(), " ", strings.Join(all, ", "))
	if p.Text(pod.Annotation(p.note)) == "patient" {
		return berth.QueueSkip
	}
	return berth.Queue
}

func (p *calls) PreFilter(berth.Pod, berth.Nodes) (*berth.Rows, berth.Status) {
	return nil, berth.Success
}

func (p *calls) AddPod(pod, added berth.Pod, node berth.Node) berth.Status {
	return berth.Error(p.Reason(p.say(pod) + " + " + p.say(added) + " on " + node.Name()))
}

func (p *calls) RemovePod(pod, removed berth.Pod, node berth.Node) berth.Status {
	return berth.Error(p.Reason(p.say(pod) + " - " + p.say(removed) + " on " + node.Name()))
}

func (p *calls) Filter(berth.Pod, berth.Node) berth.Status { return berth.Success }

func (p *calls) PostFilter(_ berth.Pod, nodes berth.Judged) berth.Status {
	for i := range nodes.Len() {
		if nodes.Code(i) == abi.Unschedulable {
			p.Nominate(nodes.At(i).Name())
			return berth.Success
		}
	}
	return berth.UnschedulableAndUnresolvable(p.seen)
}

func (p *calls) Reserve(pod berth.Pod, node berth.Node) berth.Status {
	for i := range len(p.Text(pod.Annotation(p.note))) {
		p.Annotate("example.com/place", fmt.Sprint(node.Name(), "-", i))
	}
	return berth.Success
}

func (p *calls) Unreserve(pod berth.Pod, _ berth.Node) berth.Status {
	p.Reject(pod.UID(), "its leader is gone")
	return berth.Success
}

func (p *calls) Permit(berth.Pod, berth.Node) (time.Duration, berth.Status) {
	return p.wait, berth.Wait
}

func (p *calls) PreBind(_ berth.Pod, node berth.Node) berth.Status {
	p.Label("example.com/zone", p.Text(node.Label(p.zone)))
	return berth.Success
}

func (p *calls) Bind(pod berth.Pod, _ berth.Node) berth.Status {
	if p.Text(pod.Annotation(p.note)) == "skip" {
		return berth.Skip
	}
	p.BindPod()
	return berth.Success
}

func (p *calls) PostBind(pod berth.Pod, _ berth.Node) berth.Status {
	p.Allow(pod.UID())
	p.Activate("uid-next")
	return berth.Success
}

// TestCallsAboutPods: points about many pods get each record, and answer by position.
func TestCallsAboutPods(t *testing.T) {
	p := newCalls()
	r := newRegion(t, p, nil)
	r.pods = [][]byte{r.record("a", "go"), r.record("b", "hold"), r.record("c", "pending"), r.record("d", "hold")}
	code, v := r.call(abi.ExportPreEnqueue, 0, 4, wire.Call{Point: abi.PreEnqueue, N: 4})
	if code != abi.Success || !slices.Equal(v.Codes, []uint8{0, 3, 6, 3}) || v.Reasons[1] != v.Reasons[3] || v.Reasons[2] != 0 ||
		!slices.Equal(reasons(v, uint32(v.Reasons[1])), []string{"held back"}) {
		t.Errorf("pre_enqueue: %v, codes %v, reasons %v of %v", code, v.Codes, v.Reasons, v.ReasonSets)
	}

	r.pods = [][]byte{r.record("a", "x"), r.record("b", "patient")}
	for want, event := range map[string]*wire.EventView{
		"3 9 / old node node-a, new node node-b in zone-node-b": {Resource: abi.EventNode, Actions: abi.ActionAdd | abi.ActionUpdateNodeLabel, OldNode: 0, NewNode: 1},
		"1 2 / old pod gone:free":                               {Resource: abi.EventPlacedPod, Actions: abi.ActionDelete, OldPod: r.record("gone", "free"), OldNode: abi.EventNoNode, NewNode: abi.EventNoNode},
		"2 256 / old pod p:1, new pod p:2": {
			Resource: abi.EventUnplacedPod, Actions: abi.ActionUpdatePodLabel, OldPod: r.record("p", "1"), NewPod: r.record("p", "2"),
			OldNode: abi.EventNoNode, NewNode: abi.EventNoNode,
		},
		"5 1 team/claim ": {
			Resource: abi.EventPersistentVolumeClaim, Actions: abi.ActionAdd, Namespace: "team", Name: "claim",
			OldNode: abi.EventNoNode, NewNode: abi.EventNoNode,
		},
	} {
		r.event = event
		code, v = r.call(abi.ExportHint, 0, 2, wire.Call{Point: abi.Hint, N: 2})
		if code != abi.Success || !slices.Equal(v.Codes, []uint8{uint8(berth.Queue), uint8(berth.QueueSkip)}) || p.heard != want {
			t.Errorf("hint: %v, codes %v, heard %q, want %q", code, v.Codes, p.heard, want)
		}
	}
	r.event = nil

	r.pod, r.pods = r.record("web", "mine"), [][]byte{r.record("db", "other")}
	for export, want := range map[string]string{abi.ExportAddPod: "web:mine + db:other on what-if", abi.ExportRemovePod: "web:mine - db:other on what-if"} {
		code, v = r.call(export, 2, 3, wire.Call{Point: abi.AddPod, N: 1, Flags: abi.CallOverlayRows})
		if code != abi.Error || !slices.Equal(reasons(v, v.StatusReason), []string{want}) {
			t.Errorf("%s: %v %v, want %s", export, code, reasons(v, v.StatusReason), want)
		}
	}
}

// TestCallsAboutThePlace: post_filter gets verdicts; from reserve on a call is about the pod
// and row 0, and its directives end with it.
func TestCallsAboutThePlace(t *testing.T) {
	p := newCalls()
	r := newRegion(t, p, nil)
	r.pod = r.record("web", "123")
	ask := func(export string, point abi.Point, n uint32, want abi.Code, directives ...wire.Directive) *wire.CallView {
		t.Helper()
		code, v := r.call(export, 0, n, wire.Call{Point: point, N: n})
		if diff := cmp.Diff(directives, v.Directives); code != want || diff != "" {
			t.Errorf("%s: %v, want %v; directives (-want +got):\n%s", export, code, want, diff)
		}
		return v
	}
	judge := func(codes ...uint8) { copy(r.mem()[r.layout.Codes:], codes) }
	judge(3, 2)
	ask(abi.ExportPostFilter, abi.PostFilter, 2, abi.Success, wire.Directive{Kind: abi.Nominate, First: "node-b"})
	judge(3, 0)
	v := ask(abi.ExportPostFilter, abi.PostFilter, 2, abi.UnschedulableAndUnresolvable)
	if got := reasons(v, v.StatusReason); !slices.Equal(got, []string{"no", "not here"}) {
		t.Errorf("post_filter's reasons are %v", got)
	}
	var places []wire.Directive
	for i := range 3 {
		places = append(places, wire.Directive{Kind: abi.Annotate, First: "example.com/place", Second: fmt.Sprint("node-a-", i)})
	}
	ask(abi.ExportReserve, abi.Reserve, 0, abi.Success, places...)
	ask(abi.ExportUnreserve, abi.Unreserve, 0, abi.Success, wire.Directive{Kind: abi.Reject, First: "uid-web", Second: "its leader is gone"})
	ask(abi.ExportPreBind, abi.PreBind, 0, abi.Success, wire.Directive{Kind: abi.Label, First: "example.com/zone", Second: "zone-node-a"})
	ask(abi.ExportBind, abi.Bind, 0, abi.Success, wire.Directive{Kind: abi.BindPod})
	ask(abi.ExportPostBind, abi.PostBind, 0, abi.Success, wire.Directive{Kind: abi.Allow, First: "uid-web"}, wire.Directive{Kind: abi.Activate, First: "uid-next"})
	r.pod = r.record("web", "skip")
	ask(abi.ExportBind, abi.Bind, 0, abi.Skip)
	for wait, want := range map[time.Duration]uint64{0: 0, -time.Hour: 0, 1: 1, time.Millisecond: 1, 2*time.Second + 1: 2001, 1<<63 - 1: 9223372036855} {
		p.wait = wait
		if v := ask(abi.ExportPermit, abi.Permit, 0, abi.Wait); v.Wait != want {
			t.Errorf("permit waits %d ms for %v, want %d", v.Wait, wait, want)
		}
	}
}
