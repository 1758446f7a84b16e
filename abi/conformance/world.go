package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/abi/conformance/cluster"
)

// Scheduler is a whole host, with a queue, a cache and time of its own. Only it shows the
// consequences that section 5 describes.
type Scheduler interface {
	// Start starts a scheduler with one profile that has these plugins besides those that place
	// pods by name and bind them. An error refuses them.
	Start(ctx context.Context, plugins []Plugin) (Running, error)
}

// Running is a running scheduler with its cluster.
type Running interface {
	// Apply makes a change. A pod without a node is to be placed.
	Apply(ctx context.Context, c Change) error
	// Settle lets time pass, with everything that can happen until then.
	Settle(ctx context.Context, d time.Duration) error
	// Outcome returns the state of a pod.
	Outcome(ctx context.Context, namespace, name string) (*Outcome, error)
	// Close stops the scheduler.
	Close(ctx context.Context) error
}

// Change creates, replaces or deletes one object.
type Change struct {
	Node      *cluster.Node
	Pod       *cluster.Pod
	Namespace *cluster.Namespace
	Delete    bool
}

// Outcome is the state of a pod.
type Outcome struct {
	// Node is the node that it is bound to in the API; may be empty.
	Node string
	// Order counts bound pods, from 1.
	Order int
	// Labels and Annotations are those in the API.
	Labels, Annotations map[string]string
	// Waiting is true if it waits at permit.
	Waiting bool
	// Nominated is the node that the pod is nominated for.
	Nominated string
	// Message is what the user sees about a pod that is not placed.
	Message string
}

// worldFamily is a file of cases for a Scheduler.
type worldFamily struct {
	Family string     `json:"family"`
	About  string     `json:"about"`
	Cases  []worldDoc `json:"cases"`
}

type worldDoc struct {
	Name    string     `json:"name"`
	Cites   []string   `json:"cites"`
	Plugins []setupDoc `json:"plugins"`
	Steps   []worldStepDoc
}

// worldStepDoc is changes, time, and the expected state afterwards.
type worldStepDoc struct {
	Cluster    json.RawMessage     `json:"cluster,omitempty"`
	Nodes      []cluster.Node      `json:"nodes,omitempty"`
	Pods       []json.RawMessage   `json:"pods,omitempty"`
	Delete     []json.RawMessage   `json:"delete,omitempty"`
	DeleteNode []string            `json:"deleteNode,omitempty"`
	SettleMS   int64               `json:"settleMS"`
	Want       map[string]podWant  `json:"want,omitempty"`
	Log        map[string][]string `json:"log,omitempty"`
	// Apart are pods that must be on different nodes.
	Apart []string `json:"apart,omitempty"`
}

// podWant is the expected state of a pod.
type podWant struct {
	// Node is a node, "-" for none, "*" for any.
	Node        string            `json:"node"`
	Order       int               `json:"order,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Waiting     bool              `json:"waiting,omitempty"`
	Nominated   string            `json:"nominated,omitempty"`
	Message     string            `json:"message,omitempty"`
}

// RunScheduler plays the cases about consequences, each as a subtest.
func RunScheduler(t *testing.T, s Scheduler) {
	t.Helper()
	lib, err := readLibrary()
	if err != nil {
		t.Fatal(err)
	}
	lib.runScheduler(testingT{t}, s)
}

func (lib *library) runScheduler(t tester, s Scheduler) {
	t.Helper()
	for i := range lib.worlds {
		f := &lib.worlds[i]
		t.Run(f.Family, func(t tester) {
			for j := range f.Cases {
				t.Run(f.Cases[j].Name, func(t tester) { lib.playWorld(t, s, &f.Cases[j]) })
			}
		})
	}
}

func (lib *library) playWorld(t tester, s Scheduler, c *worldDoc) {
	t.Helper()
	p := &player{t: t, lib: lib}
	var plugins []Plugin
	for i := range c.Plugins {
		b, err := lib.build(&c.Plugins[i])
		if err != nil {
			t.Fatal(err)
		}
		p.add(&plugins, b)
	}
	ctx := t.Context()
	w, err := s.Start(ctx, plugins)
	if err != nil {
		t.Fatalf("the plugins were refused: %v", err)
	}
	defer func() {
		if err := w.Close(context.WithoutCancel(ctx)); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	for i := range c.Steps {
		p.hearing.since()
		if err := lib.turn(ctx, w, &c.Steps[i]); err != nil {
			t.Fatalf("step %d: %v", i+1, err)
		}
		texts := p.hearing.since()
		for _, problem := range append(lib.outcomes(ctx, w, &c.Steps[i]), loggedIn(&c.Steps[i], texts)...) {
			t.Errorf("step %d: %s (%s)", i+1, problem, strings.Join(c.Cites, ", "))
		}
	}
}

// turn makes the changes of a step and lets time pass.
func (lib *library) turn(ctx context.Context, w Running, step *worldStepDoc) error {
	var changes []Change
	if step.Cluster != nil {
		c, err := lib.cluster(step.Cluster)
		if err != nil {
			return err
		}
		for i := range c.Namespaces {
			changes = append(changes, Change{Namespace: &c.Namespaces[i]})
		}
		for i := range c.Nodes {
			changes = append(changes, Change{Node: &c.Nodes[i]})
		}
		for i := range c.Pods {
			changes = append(changes, Change{Pod: &c.Pods[i]})
		}
	}
	for i := range step.Nodes {
		changes = append(changes, Change{Node: &step.Nodes[i]})
	}
	for _, name := range step.DeleteNode {
		changes = append(changes, Change{Node: &cluster.Node{Metadata: cluster.Metadata{Name: name}}, Delete: true})
	}
	for i, list := range [][]json.RawMessage{step.Pods, step.Delete} {
		for _, doc := range list {
			pod, err := lib.pod(doc, "")
			if err != nil {
				return err
			}
			changes = append(changes, Change{Pod: pod, Delete: i == 1})
		}
	}
	for _, c := range changes {
		if err := w.Apply(ctx, c); err != nil {
			return err
		}
	}
	return w.Settle(ctx, time.Duration(step.SettleMS)*time.Millisecond)
}

// outcomes compares pods with what a step expects.
func (lib *library) outcomes(ctx context.Context, w Running, step *worldStepDoc) (problems []string) {
	nodes := map[string]string{}
	for _, pod := range append(slices.Sorted(maps.Keys(step.Want)), step.Apart...) {
		namespace, name, _ := strings.Cut(pod, "/")
		got, err := w.Outcome(ctx, namespace, name)
		if err != nil {
			return append(problems, fmt.Sprintf("pod %s: %v", pod, err))
		}
		if want, ok := step.Want[pod]; ok && !slices.Contains(step.Apart, pod) {
			problems = append(problems, want.compare(pod, got)...)
		}
		if slices.Contains(step.Apart, pod) {
			if other, taken := nodes[got.Node]; taken || got.Node == "" {
				problems = append(problems, fmt.Sprintf("pod %s is on node %q, as is %s", pod, got.Node, other))
			}
			nodes[got.Node] = pod
		}
	}
	return problems
}

func (want *podWant) compare(pod string, got *Outcome) (out []string) {
	wrong := func(format string, args ...any) { out = append(out, "pod "+pod+" "+fmt.Sprintf(format, args...)) }
	switch {
	case want.Node == "*" && got.Node == "":
		wrong("is on no node: %s", got.Message)
	case want.Node == "-" && got.Node != "":
		wrong("is on node %s, expected none", got.Node)
	case want.Node != "*" && want.Node != "-" && got.Node != want.Node:
		wrong("is on node %q, expected %q: %s", got.Node, want.Node, got.Message)
	}
	if want.Order != 0 && want.Order != got.Order {
		wrong("was bound as number %d, expected %d", got.Order, want.Order)
	}
	for _, m := range []struct {
		what      string
		want, got map[string]string
	}{{"annotation", want.Annotations, got.Annotations}, {"label", want.Labels, got.Labels}} {
		for _, key := range slices.Sorted(maps.Keys(m.want)) {
			value, there := m.got[key]
			if wanted := m.want[key]; wanted == "-" && there || wanted != "-" && value != wanted {
				wrong("has the %s %s: %q, expected %q", m.what, key, value, wanted)
			}
		}
	}
	if want.Waiting != got.Waiting {
		wrong("waits: %t, expected %t", got.Waiting, want.Waiting)
	}
	if want.Nominated != got.Nominated {
		wrong("is nominated for %q, expected %q", got.Nominated, want.Nominated)
	}
	if !strings.Contains(got.Message, want.Message) {
		wrong("is not placed with the message %q, expected %q", got.Message, want.Message)
	}
	return out
}

// loggedIn compares what plugins logged with what a step expects.
func loggedIn(step *worldStepDoc, texts []heard) (problems []string) {
	for _, plugin := range slices.Sorted(maps.Keys(step.Log)) {
		var got []string
		for _, h := range texts {
			if h.plugin == plugin {
				got = append(got, h.text)
			}
		}
		if !slices.Equal(got, step.Log[plugin]) {
			problems = append(problems, fmt.Sprintf("plugin %s logged %q, expected %q", plugin, got, step.Log[plugin]))
		}
	}
	return problems
}
