package berth_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/wire"
)

// poor is a host without objects.
type poor struct{}

func (poor) Log(int, string)                {}
func (poor) StateGet(string) ([]byte, bool) { return nil, false }
func (poor) StateSet(string, []byte) bool   { return false }

// rich is a host with objects.
type rich struct{ poor }

var _ berth.ObjectHost = rich{}

func (rich) PublishedGet(index uint32) ([]byte, bool) {
	return fmt.Appendf(nil, "published %d", index), index == 1
}

func (rich) PodObject(index uint32) ([]byte, bool) { return fmt.Appendf(nil, "pod %d", index), true }
func (rich) NodeObject(row uint32) ([]byte, bool)  { return fmt.Appendf(nil, "node %d", row), row < 2 }

// wholes reads whole objects and a published key.
type wholes struct {
	*calls
	got []string
}

func (p *wholes) note(what string, b []byte, ok bool) {
	p.got = append(p.got, fmt.Sprintf("%s %q %v", what, b, ok))
}

func (p *wholes) PreEnqueue(pod berth.Pod) berth.Status {
	b, ok := p.PodObject(pod)
	p.note("listed", b, ok)
	return berth.Success
}

func (p *wholes) AddPod(pod, added berth.Pod, node berth.Node) berth.Status {
	b, ok := p.PodObject(pod)
	p.note("own", b, ok)
	b, ok = p.PodObject(added)
	p.note("added", b, ok)
	b, ok = p.NodeObject(node)
	p.note("overlay", b, ok)
	return berth.Success
}

func (p *wholes) Hint(event berth.Event, pod berth.Pod) berth.HintResult {
	old, _ := event.OldPod()
	b, ok := p.PodObject(old)
	p.note("of the event", b, ok)
	b, ok = p.PodObject(pod)
	p.note("parked", b, ok)
	return berth.Queue
}

func (p *wholes) Reserve(pod berth.Pod, node berth.Node) berth.Status {
	b, ok := p.PodObject(pod)
	p.note("own", b, ok)
	b, ok = p.NodeObject(node)
	p.note("chosen", b, ok)
	b, ok = p.PublishedGet(p.plan)
	p.note("plan", b, ok)
	b, ok = p.PublishedGet(p.Published("other/budget"))
	p.note("budget", b, ok)
	return berth.Success
}

// TestObjects: each pod and node of a call is requested by its own number.
func TestObjects(t *testing.T) {
	p := &wholes{calls: newCalls()}
	r := newRegion(t, p, rich{})
	r.pods = [][]byte{r.record("a", ""), r.record("b", "")}
	r.call(abi.ExportPreEnqueue, 0, 2, wire.Call{Point: abi.PreEnqueue, N: 2})
	r.event = &wire.EventView{OldPod: r.record("old", ""), OldNode: abi.EventNoNode, NewNode: abi.EventNoNode}
	r.call(abi.ExportHint, 0, 2, wire.Call{Point: abi.Hint, N: 2})
	r.event, r.pod = nil, r.record("web", "")
	r.call(abi.ExportAddPod, 2, 3, wire.Call{Point: abi.AddPod, N: 1})
	r.pods = nil
	r.call(abi.ExportReserve, 0, 0, wire.Call{Point: abi.Reserve})
	want := `listed "pod 0" true
listed "pod 1" true
of the event "" false
parked "pod 0" true
of the event "" false
parked "pod 1" true
own "" false
added "pod 0" true
overlay "node 2" false
own "pod 0" true
chosen "node 0" true
plan "published 1" true
budget "published 0" false`
	if got := strings.Join(p.got, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestHostWithoutObjects: the panic names the interface that the host does not implement.
func TestHostWithoutObjects(t *testing.T) {
	p := &wholes{calls: newCalls()}
	r := newRegion(t, p, poor{})
	r.pod = r.record("web", "")
	defer func() {
		if got := fmt.Sprint(recover()); !strings.Contains(got, "berth.ObjectHost") {
			t.Errorf("panic %q", got)
		}
	}()
	r.call(abi.ExportReserve, 0, 0, wire.Call{Point: abi.Reserve})
}
