package berthtest_test

import (
	"strconv"
	"testing"
	"time"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/berthtest"
)

// turnstile has the points that move other pods. The annotation `do` says what a pod does,
// `whom` to which pod or node.
type turnstile struct {
	berth.Base
	do, whom, mark berth.PodAnnotation
	full           berth.Reason
}

func turnstileManifest() []byte {
	return []byte(`{
		"name": "turnstile", "version": "1.0.0", "abi": "1.1",
		"points": {
			"preEnqueue": {}, "queueSort": {}, "hint": {}, "filter": {"scope": "node"}, "postFilter": {},
			"reserve": {}, "unreserve": {}, "permit": {}, "bind": {}
		},
		"reads": {"node": ["name", "pods"], "podAnnotations": ["do", "whom", "example.com/mark"], "pod": ["name", "annotations", "priority"]},
		"host": [],
		"events": [{"resource": "Pod", "actions": ["Delete"]}, {"resource": "storage.k8s.io/StorageClass", "actions": ["Add"]}],
		"directives": {"annotations": ["example.com/"], "nominate": true, "bind": true, "waiting": true}
	}`)
}

func newTurnstile() *turnstile {
	b := berth.Load(turnstileManifest())
	return &turnstile{
		Base: b, do: b.PodAnnotation("do"), whom: b.PodAnnotation("whom"), mark: b.PodAnnotation("example.com/mark"),
		full: b.Reason("the node has a mark"),
	}
}

func (p *turnstile) does(pod berth.Pod, what string) bool {
	return p.Text(pod.Annotation(p.do)) == what
}

func (p *turnstile) PreEnqueue(pod berth.Pod) berth.Status {
	if p.does(pod, "hold") {
		if seconds := p.Text(pod.Annotation(p.whom)); seconds != "" {
			p.again(seconds)
		}
		return berth.Unschedulable(0)
	}
	return berth.Success
}

// again asks for another attempt after so many seconds.
func (p *turnstile) again(seconds string) {
	n, _ := strconv.Atoi(seconds)
	p.RetryAfter(time.Duration(n) * time.Second)
}

func (p *turnstile) QueueKey(pod berth.Pod, queued berth.Queued, key *berth.Key) {
	key.AppendInt64Descending(pod.Priority())
	key.AppendUint64(uint64(queued.Attempts))
}

func (p *turnstile) Hint(event berth.Event, pod berth.Pod) berth.HintResult {
	old, ok := event.OldPod()
	if ok && old.Name() == p.Text(pod.Annotation(p.whom)) || event.Name() != "" && event.Name() == p.Text(pod.Annotation(p.whom)) {
		return berth.Queue
	}
	return berth.QueueSkip
}

// Filter accepts one marked pod per node.
func (p *turnstile) Filter(pod berth.Pod, node berth.Node) berth.Status {
	for i := range node.Pods().Len() {
		if p.does(pod, "mark") && node.Pods().At(i).Annotation(p.mark) != berth.Absent {
			return berth.Unschedulable(p.full)
		}
	}
	return berth.Success
}

func (p *turnstile) PostFilter(pod berth.Pod, _ berth.Judged) berth.Status {
	p.Nominate(p.Text(pod.Annotation(p.whom)))
	return berth.Success
}

func (p *turnstile) Reserve(pod berth.Pod, node berth.Node) berth.Status {
	switch {
	case p.does(pod, "mark"):
		p.Annotate("example.com/mark", node.Name())
	case p.does(pod, "later"):
		p.again(p.Text(pod.Annotation(p.whom)))
		return berth.Unschedulable(p.full)
	}
	return berth.Success
}

func (p *turnstile) Unreserve(berth.Pod, berth.Node) berth.Status { return berth.Success }

func (p *turnstile) Permit(pod berth.Pod, _ berth.Node) (time.Duration, berth.Status) {
	whom := p.Text(pod.Annotation(p.whom))
	switch {
	case p.does(pod, "wait"):
		p.again(whom)
		return 2 * time.Hour, berth.Wait
	case p.does(pod, "allow"):
		p.Allow(whom)
	case p.does(pod, "reject"):
		p.Reject(whom, "go away")
	}
	return 0, berth.Success
}

func (p *turnstile) Bind(pod berth.Pod, _ berth.Node) berth.Status {
	if p.does(pod, "mark") {
		p.BindPod()
		return berth.Success
	}
	return berth.Skip
}

// TestFlow: what a trial does with pods, in all ways of making the calls.
func TestFlow(t *testing.T) {
	berthtest.Scenarios(t, "testdata/*.txt", turnstileManifest(), berthtest.Native(newTurnstile))
}
