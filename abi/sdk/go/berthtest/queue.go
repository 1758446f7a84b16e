package berthtest

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/fields"
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/wire"
)

// PreEnqueue calls the plugin for the pending pods and returns a verdict for each, in order.
// Like Order and Hint it fails the test if the result depends on which pods are in one call,
// their order, or the instance.
func (t *Trial) PreEnqueue() []Verdict {
	t.tb.Helper()
	t.needs(abi.PreEnqueue)
	var verdicts []Verdict
	t.pods(func(s *session, pods []int, show []string) {
		c := t.queueContent(pods, nil)
		c.now = t.Now
		s.askPods(abi.PreEnqueue, &c)
		for at, i := range pods {
			v := s.judged(t.Pending[i].id(), uint32(at))
			if img := s.last.img; v.Code != abi.Success {
				v.RetryAfter = s.retryAfter(img.data[img.scores+8*uint32(at):])
			}
			verdicts = append(verdicts, v)
			show[i] = v.short()
		}
	})
	return verdicts[:len(t.Pending)]
}

// Order returns the pending pods in the order in which they are tried: by key, then by time,
// then by UID.
func (t *Trial) Order() []Pending {
	t.tb.Helper()
	t.needs(abi.QueueSort)
	keys := make([][]byte, len(t.Pending))
	t.pods(func(s *session, pods []int, show []string) {
		c := t.queueContent(pods, nil)
		for _, i := range pods {
			c.queued = append(c.queued, berth.Queued{Time: t.Pending[i].Queued, Attempts: t.Pending[i].Attempts})
		}
		s.askPods(abi.QueueSort, &c)
		for at, i := range pods {
			keys[i] = s.key(uint32(at))
			show[i] = fmt.Sprintf("%s %x", t.Pending[i].id(), keys[i])
		}
	})
	order := perm(len(t.Pending), nil)
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := &t.Pending[i], &t.Pending[j]
		return cmp.Or(bytes.Compare(keys[i], keys[j]), cmp.Compare(a.Queued, b.Queued), cmp.Compare(a.uid(), b.uid()))
	})
	var all []Pending
	for _, i := range order {
		all = append(all, t.Pending[i])
	}
	return all
}

// Hint returns, for each pending pod, whether an event makes another attempt worthwhile.
func (t *Trial) Hint(e Event) []berth.HintResult {
	t.tb.Helper()
	t.needs(abi.Hint)
	if err := e.check(t.manifest); err != nil {
		t.tb.Fatal(err)
	}
	answers := make([]berth.HintResult, len(t.Pending))
	t.pods(func(s *session, pods []int, show []string) {
		c := t.queueContent(pods, &e)
		s.askPods(abi.Hint, &c)
		for at, i := range pods {
			code := abi.Code(s.last.img.data[s.last.img.codes+uint32(at)])
			if code != abi.Success && code != abi.Skip {
				t.tb.Fatalf("hint's code for %s is %v (ABI-5.12)", t.Pending[i].id(), code)
			}
			answers[i] = berth.HintResult(code)
			show[i] = t.Pending[i].id() + " " + hintName(answers[i])
		}
	})
	return answers
}

func hintName(r berth.HintResult) string {
	if r == berth.Queue {
		return "Queue"
	}
	return "QueueSkip"
}

// needs fails the test if the plugin does not have a point.
func (t *Trial) needs(p abi.Point) {
	t.tb.Helper()
	if !t.manifest.exports(p) {
		t.tb.Fatalf("the plugin has no point %s", pointName(p))
	}
}

// pods calls f with all pending pods, with one at a time in fresh instances, and with all of
// them in another order, split. f sets show to the result for each.
func (t *Trial) pods(f func(s *session, pods []int, show []string)) {
	t.tb.Helper()
	all := perm(len(t.Pending), nil)
	want := make([]string, len(all))
	if len(all) == 0 {
		return
	}
	f(&session{Trial: t, ways: once}, all, want)
	compare := func(how way, s *session, order []int, size int) {
		t.tb.Helper()
		s.Trial = t
		got := make([]string, len(all))
		for chunk := range slices.Chunk(order, size) {
			f(s, chunk, got)
		}
		t.differ(want, got, how)
	}
	compare(inFresh("pod"), &session{ways: fresh}, all, 1)
	compare(way{"a call for every pod", nothingKept}, &session{}, all, 1)
	for seed := range uint64(3) {
		compare(way{"pods in another order, split over calls", nothingKept}, &session{}, random(seed).Perm(len(all)), max(1, len(all)/2))
	}
}

// queueContent returns a call about pending pods, and the nodes of an event, without pods.
func (t *Trial) queueContent(pods []int, e *Event) content {
	c := content{namespaces: t.Namespaces, aux: true, event: e}
	for _, i := range pods {
		c.list = append(c.list, t.Pending[i].Pod)
	}
	if e != nil {
		for _, n := range []*Node{e.OldNode, e.NewNode} {
			if n != nil {
				node := *n
				node.Pods = nil
				c.nodes = append(c.nodes, node)
			}
		}
	}
	return c
}

// askPods calls a point about the pods of a content.
func (s *session) askPods(point abi.Point, c *content) {
	s.tb.Helper()
	s.use(point, nil, nil)
	img := newImage(s.manifest, c, s.numbers(len(c.nodes), true))
	if code := s.call(&s.aux, img, point, asked{hi: uint32(len(c.list)), pods: 1}); code != abi.Success {
		s.tb.Fatalf("%s answers %v: %s", pointName(point), code, strings.Join(s.reasonSet(s.answer(84)), ", "))
	}
}

// key returns the key of the i-th pod of the last call (ABI-3.11).
func (s *session) key(i uint32) []byte {
	s.tb.Helper()
	img := s.last.img
	key := img.data[img.keys+68*i:]
	if key[0] > 64 || key[1]|key[2]|key[3] != 0 {
		s.tb.Fatalf("a key has %d bytes, at most 64 are allowed (ABI-5.10)", uint32(key[0])|uint32(key[1])<<8|uint32(key[2])<<16|uint32(key[3])<<24)
	}
	return slices.Clone(key[4 : 4+key[0]])
}

// kind returns the number of the event's resource (ABI-3.10).
func (e *Event) kind() uint32 {
	if e.Resource == "Pod" {
		now := e.NewPod
		if now == nil {
			now = e.OldPod
		}
		if now != nil && now.NodeName != "" {
			return 1
		}
	}
	return uint32(fields.EventKind(e.Resource))
}

// actionNames returns the names of actions in a manifest, and their bits; Update and All
// combine all that apply.
func actionNames() map[string]abi.EventAction {
	out := map[string]abi.EventAction{}
	for _, a := range fields.Actions() {
		out[a.Name] = a.Bit
	}
	delete(out, "UpdateOther")
	out["Update"], out["All"] = ^(abi.ActionAdd | abi.ActionDelete), ^abi.EventAction(0)
	return out
}

// check refuses an event that the manifest does not register, because hint is not called for it
// (ABI-5.12).
func (e *Event) check(m *Manifest) error {
	if e.Actions == 0 {
		return fmt.Errorf("an event needs an action, such as Add")
	}
	if len(m.Events) == 0 || slices.ContainsFunc(m.Events, e.registered) {
		return nil
	}
	return fmt.Errorf("the manifest's events do not have %s with these actions, so hint is not called for it (ABI-5.12)", e.Resource)
}

func (e *Event) registered(r wire.ManifestEvent) bool {
	if r.Resource != e.Resource && r.Resource != "*" {
		return false
	}
	return slices.ContainsFunc(r.Actions, func(name string) bool { return actionNames()[name]&e.Actions != 0 })
}
