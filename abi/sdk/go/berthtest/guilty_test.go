package berthtest_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/berthtest"
)

// offender has every point. It does what a host would refuse, or depends on what it must not
// depend on, as the pod's annotation `sin` says.
type offender struct {
	berth.Base
	sin   berth.PodAnnotation
	no    berth.Reason
	calls int
	seen  int
}

func offenderManifest() []byte {
	return []byte(`{
		"name": "offender", "version": "1.0.0", "abi": "1.0",
		"points": {
			"preEnqueue": {}, "queueSort": {}, "hint": {}, "preFilter": {}, "addPod": {}, "removePod": {}, "filter": {}, "postFilter": {},
			"reserve": {}, "unreserve": {}, "permit": {}, "preBind": {}, "bind": {}, "postBind": {}
		},
		"reads": {"node": ["name", "pods", "taints"], "podAnnotations": ["sin"], "pod": ["name", "annotations", "uid"], "pods": ["name"]},
		"host": ["state_get", "state_set"],
		"publishes": ["first"],
		"events": [{"resource": "Node", "actions": ["Add"]}],
		"directives": {"annotations": ["example.com/"], "bind": true, "waiting": true}
	}`)
}

func newOffender() *offender {
	b := berth.Load(offenderManifest())
	return &offender{Base: b, sin: b.PodAnnotation("sin"), no: b.Reason("no")}
}

func (p *offender) is(pod berth.Pod, sin string) bool { return p.Text(pod.Annotation(p.sin)) == sin }

func (p *offender) status(bad bool) berth.Status {
	if bad {
		return berth.Unschedulable(p.no)
	}
	return berth.Success
}

func (p *offender) PreEnqueue(pod berth.Pod) berth.Status {
	p.calls++
	return p.status(p.is(pod, "counts calls") && p.calls == 2)
}

func (p *offender) QueueKey(pod berth.Pod, _ berth.Queued, key *berth.Key) {
	p.calls++
	if p.is(pod, "counts calls") {
		key.AppendUint64(uint64(p.calls))
	}
	if p.is(pod, "has a key of ids") {
		key.AppendUint64(uint64(pod.Annotation(p.sin)))
	}
}

func (p *offender) Hint(event berth.Event, pod berth.Pod) berth.HintResult {
	p.calls++
	node, ok := event.NewNode()
	if p.is(pod, "counts calls") && p.calls == 2 || p.is(pod, "looks at the order of taints") && ok && p.Text(node.Taints()[0].Key) == "a" {
		return berth.QueueSkip
	}
	return berth.Queue
}

func (p *offender) PreFilter(pod berth.Pod, nodes berth.Nodes) (*berth.Rows, berth.Status) {
	number := uint32(0)
	switch {
	case p.is(pod, "keeps an id in state"):
		number = uint32(pod.Annotation(p.sin))
	case p.is(pod, "keeps a row in state"):
		for i := range nodes.Len() {
			if n := nodes.At(i); n.Name() == "node-2" {
				number = n.Row()
			}
		}
	case p.is(pod, "counts pods"), p.is(pod, "counts pods once"):
		for i := range nodes.Len() {
			number += uint32(nodes.At(i).Pods().Len())
		}
	}
	p.StateSet("first", binary.LittleEndian.AppendUint32(nil, number))
	return nil, berth.Success
}

func (p *offender) first() uint32 {
	b, _ := p.StateGet("first")
	return binary.LittleEndian.Uint32(b)
}

func (p *offender) AddPod(pod, _ berth.Pod, _ berth.Node) berth.Status {
	if !p.is(pod, "counts pods once") {
		p.StateSet("first", binary.LittleEndian.AppendUint32(nil, p.first()+1))
	}
	return berth.Success
}

func (p *offender) RemovePod(berth.Pod, berth.Pod, berth.Node) berth.Status {
	p.StateSet("first", binary.LittleEndian.AppendUint32(nil, p.first()-1))
	return berth.Success
}

func (p *offender) Filter(pod berth.Pod, node berth.Node) berth.Status {
	if p.is(pod, "writes into the snapshot") {
		node.Taints()[0].Value++
	}
	counts := p.is(pod, "counts pods") || p.is(pod, "counts pods once")
	return p.status(p.is(pod, "fits nowhere") || counts && p.first() > 2)
}

func (p *offender) PostFilter(berth.Pod, berth.Judged) berth.Status {
	p.Nominate("node-0")
	return berth.Success
}

func (p *offender) Reserve(pod berth.Pod, node berth.Node) berth.Status {
	p.calls++
	switch p.Text(pod.Annotation(p.sin)) {
	case "keeps an id in state":
		return p.status(p.first()%2 != uint32(pod.Annotation(p.sin))%2)
	case "keeps a row in state":
		return p.status(p.first() == 1)
	case "looks at row numbers":
		p.Annotate("example.com/slot", fmt.Sprint(node.Row(), pod.Annotation(p.sin)))
	case "annotates what it must not":
		p.Annotate("other.com/key", "x")
	case "labels":
		p.Label("example.com/key", "x")
	case "annotates nonsense":
		p.Annotate("example.com/a b", "x")
	case "binds at reserve":
		p.BindPod()
	case "logs":
		p.Log(berth.Info, "hello")
	}
	return berth.Success
}

func (p *offender) Unreserve(berth.Pod, berth.Node) berth.Status { return berth.Success }

func (p *offender) Permit(pod berth.Pod, _ berth.Node) (time.Duration, berth.Status) {
	p.seen++ // an aux instance sees one pod after the other
	return 0, p.status(p.is(pod, "counts what it permitted") && p.seen%2 == 1)
}

func (p *offender) PreBind(pod berth.Pod, _ berth.Node) berth.Status {
	if p.is(pod, "waits at pre_bind") {
		return berth.Wait
	}
	return berth.Success
}

func (p *offender) Bind(pod berth.Pod, _ berth.Node) berth.Status {
	if !p.is(pod, "does not bind") {
		p.BindPod()
	}
	return berth.Success
}

func (p *offender) PostBind(berth.Pod, berth.Node) berth.Status { return berth.Success }

// accused returns a cluster for a sin.
func accused(tb testing.TB) *berthtest.Trial {
	trial := berthtest.New(tb, offenderManifest(), berthtest.Native(newOffender), "")
	for i := range 4 {
		n := berthtest.Node{Name: fmt.Sprintf("node-%d", i), Taints: []berthtest.Taint{{Key: "a"}, {Key: "b"}, {Key: "c"}}}
		if i < 2 {
			n.Pods = []berthtest.Pod{{Namespace: "x", Name: fmt.Sprint("pod-", i)}}
		}
		trial.Nodes = append(trial.Nodes, n)
	}
	return trial
}

func sinner(sin string) berthtest.Pod {
	return berthtest.Pod{Namespace: "default", Name: "sinner", Annotations: map[string]string{"sin": sin}}
}

// caught returns what f reported as test failures, including the fatal one.
func caught(t *testing.T, f func(tb testing.TB)) string {
	r := &recorder{TB: t}
	done := make(chan any)
	go func() {
		defer func() { done <- recover() }()
		f(r)
	}()
	if p := <-done; p != nil {
		t.Fatal(p)
	}
	return strings.Join(r.errors, "\n")
}

// TestSinsAreCaught: every dependence on what is renumbered, split or discarded is found, and
// what the host would refuse is refused. An innocent pod passes.
func TestSinsAreCaught(t *testing.T) {
	schedule := func(tb testing.TB, pod berthtest.Pod) { accused(tb).Schedule(pod, berthtest.Schedule{}) }
	queue := func(ask func(trial *berthtest.Trial)) func(testing.TB, berthtest.Pod) {
		return func(tb testing.TB, pod berthtest.Pod) {
			trial := accused(tb)
			for i := range 3 {
				p := pod
				p.Name = fmt.Sprint(pod.Name, i)
				trial.Pending = append(trial.Pending, berthtest.Pending{Pod: p})
			}
			ask(trial)
		}
	}
	preEnqueue := queue(func(trial *berthtest.Trial) { trial.PreEnqueue() })
	order := queue(func(trial *berthtest.Trial) { trial.Order() })
	hint := queue(func(trial *berthtest.Trial) {
		trial.Hint(berthtest.Event{Resource: "Node", Actions: 1, NewNode: &trial.Nodes[0]})
	})
	for _, c := range []struct {
		sin  string
		do   func(tb testing.TB, pod berthtest.Pod)
		want string // part of the report; empty for nothing
	}{
		{"none", schedule, ""},
		{"none", preEnqueue, ""},
		{"none", order, ""},
		{"none", hint, ""},
		{"counts calls", preEnqueue, "one call in one instance gives"},
		{"counts calls", order, "one call in one instance gives"},
		{"has a key of ids", order, "one call in one instance gives"},
		{"counts calls", hint, "one call in one instance gives"},
		{"looks at the order of taints", hint, "one call in one instance gives"},
		{"keeps an id in state", schedule, "one call in one instance gives"},
		{"keeps a row in state", schedule, "one call in one instance gives"},
		{"looks at row numbers", schedule, "one call in one instance gives"},
		{"counts pods", schedule, ""},
		{"counts pods once", func(tb testing.TB, pod berthtest.Pod) { accused(tb).Place(pod) }, "after add_pod or remove_pod"},
		{"counts pods", func(tb testing.TB, pod berthtest.Pod) { accused(tb).Place(pod) }, ""},
		{"writes into the snapshot", schedule, "wrote into the snapshot or a pod (ABI-2.9)"},
		{"logs", schedule, "the plugin calls log, which is not in the manifest's list host (ABI-9.6)"},
		{"waits at pre_bind", schedule, "berth_pre_bind returned Wait"},
		{"none", queue(func(trial *berthtest.Trial) {
			trial.Hint(berthtest.Event{Resource: "Node", Actions: 2, OldNode: &trial.Nodes[0]})
		}), "hint is not called for it (ABI-5.12)"},
	} {
		got := caught(t, func(tb testing.TB) { c.do(tb, sinner(c.sin)) })
		if !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("a plugin that %s: %q, want %q", c.sin, got, c.want)
		}
	}
}

// TestPublishedIDsAreCaught: a publisher whose value contains an id gives readers a different
// value each time.
func TestPublishedIDsAreCaught(t *testing.T) {
	for sin, guilty := range map[string]bool{"keeps an id in state": true, "counts pods": false} {
		got := caught(t, func(tb testing.TB) {
			trial := berthtest.New(tb, readerManifest(), berthtest.Native(newPublishedReader), "")
			publisher := accused(tb)
			trial.Nodes, trial.Publishers = publisher.Nodes, map[string]*berthtest.Trial{"publisher": publisher}
			trial.Place(sinner(sin))
		})
		if (got != "") != guilty {
			t.Errorf("a publisher that %s: %q", sin, got)
		}
	}
}

// publishedReader reports what another plugin published.
type publishedReader struct {
	berth.Base
	key berth.Published
}

func readerManifest() []byte {
	return []byte(`{"name":"reader","version":"1.0.0","abi":"1.0","points":{"filter":{}},"reads":{"published":["publisher/first"]},"host":["published_get"]}`)
}

func newPublishedReader() *publishedReader {
	b := berth.Load(readerManifest())
	return &publishedReader{b, b.Published("publisher/first")}
}

func (p *publishedReader) Filter(berth.Pod, berth.Node) berth.Status {
	b, ok := p.PublishedGet(p.key)
	return berth.Unschedulable(p.Reason(fmt.Sprintf("%x %v", b, ok)))
}

// TestFaults: an answer that the host would not accept is shown with the violated sentence, and
// the pod loses its node.
func TestFaults(t *testing.T) {
	for sin, want := range map[string]string{
		"annotates what it must not": `reserve node-0 fault: the directive "annotate other.com/key=x" has a key without a prefix in the manifest's directives.annotations (ABI-13.2)`,
		"labels":                     `reserve node-0 fault: the directive "label example.com/key=x" has a key without a prefix in the manifest's directives.labels (ABI-13.2)`,
		"annotates nonsense":         `reserve node-0 fault: the directive "annotate example.com/a b=x" has a key that is not valid (ABI-13.2)`,
		"binds at reserve":           `reserve node-0 fault: the directive "bind" is none of reserve (ABI-13.2)`,
		"does not bind":              `bind node-0 fault: Success without a directive bind (ABI-5.19)`,
		"fits nowhere":               `post_filter fault: the directive "nominate node-0" is not declared in the manifest's directives.nominate (ABI-13.2)`,
	} {
		trial := accused(t)
		got := trial.Schedule(sinner(sin), berthtest.Schedule{})
		if all := strings.Join(got, "\n"); !strings.Contains(all, want) || !strings.HasSuffix(all, "pending") || len(trial.Pending) != 1 {
			t.Errorf("a plugin that %s:\n%s\nwant\n%s", sin, all, want)
		}
		for _, n := range trial.Nodes {
			for _, p := range n.Pods {
				if p.Name == "sinner" {
					t.Errorf("a plugin that %s: the pod is on %s", sin, n.Name)
				}
			}
		}
	}
}
