package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/conformance/cluster"
	"github.com/berth-scheduler/berth/abi/conformance/internal/generate"
	"github.com/berth-scheduler/berth/abi/conformance/internal/image"
	"github.com/berth-scheduler/berth/abi/wire"
)

// scene is the content of one pod's cycle, however it is shown to the guest.
type scene struct {
	name string
	// bare is true if it has no optional fields.
	bare    bool
	cluster *cluster.Cluster
	pod     cluster.Pod
	seed    uint64
	// rejected are the nodes that other plugins rejected before filter.
	rejected map[int]bool
	// pods are for calls about many pods, with queue entries and events.
	pods   []cluster.Pod
	queue  []wire.QueueEntry
	events []*Event
	// The what-if: a node with its pods before, and the changes; indices of the cluster's pods.
	whatIf  int // a node, −1 for none
	on      []int
	add     int
	remove  int // −1 for none
	verdict []abi.Code
	values  [][]byte
	// same is true if the cluster is that of the scene before, which has not changed: its generation stays.
	same bool
}

// sizes are numbers of nodes, small ones first so that a failing example is small. Now and then there are fewer nodes than
// an instance has seen.
func sizes() []int { return []int{0, 1, 3, 2, 9, 5, 40, 20} }

// events is how many events a scene has.
const events = 4

// defaultCycles is the number of scenes besides the large ones.
const defaultCycles = 60

// large are the numbers of nodes of the last scenes, so that blocks, buffers and bounds of
// guests are exceeded.
func large() []int { return []int{130, 600, 1500} }

// scenes makes all scenes for a plugin.
func scenes(man *wire.Manifest, o *Options) []*scene {
	g := generate.New(generate.Config{Seed: o.Seed, Reads: &man.Reads, Namespaces: o.Namespaces, Hints: append(hints(o.Config), o.Hints...)})
	n := o.Cycles
	if n == 0 {
		n = defaultCycles
	}
	out := make([]*scene, 0, n)
	all := sizes()
	for i := range n {
		if i%4 == 3 {
			out = append(out, out[i-1].next(g, man, o, i))
			continue
		}
		bare := i%5 == 4 || i == 0 // the first one has next to no strings, so that all others are added
		out = append(out, makeScene(g, man, o, i, all[i*len(all)/n], bare))
	}
	if n >= defaultCycles {
		for i, nodes := range large() {
			out = append(out, makeScene(g, man, o, n+i, nodes, false))
		}
	}
	return out
}

func makeScene(g *generate.Generator, man *wire.Manifest, o *Options, i, nodes int, bare bool) *scene {
	s := &scene{bare: bare, whatIf: -1, remove: -1}
	s.asked(g, man, o, i, nodes)
	s.cluster = g.Cluster(nodes, s.bare)
	if nodes > 0 {
		s.suppose(g)
	}
	s.reject(i)
	return s
}

// next returns a scene about the same cluster with other pods, the first of which is to be placed again.
func (s *scene) next(g *generate.Generator, man *wire.Manifest, o *Options, i int) *scene {
	out := *s
	out.pods, out.queue, out.verdict, out.values, out.same = nil, nil, nil, nil, true
	out.asked(g, man, o, i, len(s.cluster.Nodes))
	if i%8 == 3 { // what is kept of a tenant is asked for again
		out.pod.Metadata.Namespace = s.pod.Metadata.Namespace
	}
	out.reject(i)
	return &out
}

// asked makes what a scene is about besides the cluster: pods by the same names in each scene, so that nothing can be
// kept by a name or a UID.
func (s *scene) asked(g *generate.Generator, man *wire.Manifest, o *Options, i, nodes int) {
	s.seed = g.Rand().Uint64()
	s.name = fmt.Sprintf("cycle %d of seed %d, with %d nodes", i, o.Seed, nodes)
	g.Again(i / 2 % 3)
	g.Long(i%8 == 5)
	g.Lack(i%8 == 6)
	s.pod = g.Pod(s.bare)
	if nodes >= large()[0] { // there are few such scenes, so their pods must ask for something
		for range 7 {
			if other := g.Pod(s.bare); asks(&other) > asks(&s.pod) {
				s.pod = other
			}
		}
		g.Tell(&s.pod)
	}
	for range 1 + g.Rand().IntN(6) {
		s.pods = append(s.pods, g.Pod(s.bare))
		s.queue = append(s.queue, wire.QueueEntry{Time: g.Rand().Int64(), Attempts: g.Rand().Uint32N(20)})
		g.Long(false)
	}
	p := &man.Points
	for nodes >= large()[0] && (p.PreEnqueue != nil || p.QueueSort != nil || p.Hint != nil) && len(s.pods) < min(nodes, abi.MaxBatch) {
		s.pods = append(s.pods, g.Pod(s.bare))
		s.queue = append(s.queue, wire.QueueEntry{Time: g.Rand().Int64(), Attempts: g.Rand().Uint32N(20)})
	}
	s.events = nil
	for range events {
		s.events = append(s.events, makeEvent(g, man, s.bare))
	}
	for range nodes {
		s.verdict = append(s.verdict, []abi.Code{abi.Unschedulable, abi.UnschedulableAndUnresolvable, abi.Success}[g.Rand().IntN(3)])
	}
	for _, key := range man.Reads.Published {
		value := o.Published[key]
		switch {
		case i%3 == 1:
			value = nil // the other plugin did not publish it in this cycle
		case i%6 == 5:
			value = value[:len(value)/2] // or another value, which is shorter
		}
		s.values = append(s.values, value)
	}
}

// reject has other plugins reject a third of the nodes in every other scene, but not the one of the what-if: so calls
// are about some of the rows (ABI-5.4).
func (s *scene) reject(i int) {
	s.rejected = map[int]bool{}
	random := rand.New(rand.NewPCG(s.seed, uint64(i)))
	for n := range s.cluster.Nodes {
		if i%2 == 1 && n != s.whatIf && random.IntN(3) == 0 {
			s.rejected[n] = true
		}
	}
}

// suppose makes the what-if: one more pod on a node, and one of its own less.
func (s *scene) suppose(g *generate.Generator) {
	s.whatIf = g.Rand().IntN(len(s.cluster.Nodes))
	for i := range s.cluster.Pods {
		if s.cluster.Pods[i].Spec.NodeName == s.cluster.Nodes[s.whatIf].Metadata.Name {
			s.on = append(s.on, i)
		}
	}
	if len(s.on) > 0 {
		s.remove = s.on[g.Rand().IntN(len(s.on))]
	}
	s.add = len(s.cluster.Pods)
	pod := g.Pod(s.bare) // only on the overlay's node
	if s.seed%4 > 0 {    // it is like the one to be placed, which matters to those that count such pods
		pod.Metadata.Namespace, pod.Metadata.Labels = s.pod.Metadata.Namespace, s.pod.Metadata.Labels
	}
	s.cluster.Pods = append(s.cluster.Pods, pod)
}

// asks returns how many values of labels and annotations a pod has.
func asks(pod *cluster.Pod) (n int) {
	for _, values := range []map[string]string{pod.Metadata.Labels, pod.Metadata.Annotations} {
		for _, value := range values {
			n += min(len(value), 1)
		}
	}
	return n
}

// hints returns the strings in a configuration, including keys.
func hints(config []byte) []string {
	var value any
	if json.Unmarshal(config, &value) != nil {
		return nil
	}
	found := map[string]bool{}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			found[v] = true
		case float64:
			found[strings.TrimSuffix(fmt.Sprintf("%.4f", v), ".0000")] = true
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for key, e := range v {
				found[key] = true
				walk(e)
			}
		}
	}
	walk(value)
	return slices.Sorted(maps.Keys(found))
}

// around returns the cluster of an aux instance after a node was chosen (ABI-5.15).
func (s *scene) around(node string) *cluster.Cluster {
	out := &cluster.Cluster{}
	if n := s.cluster.Node(node); n != nil {
		out.Nodes = []cluster.Node{*n}
		for _, p := range s.cluster.PodsOn(node) {
			out.Pods = append(out.Pods, *p)
		}
	}
	return out
}

// longest returns the longest name of a node.
func (s *scene) longest() (out string) {
	for i := range s.cluster.Nodes {
		if name := s.cluster.Nodes[i].Metadata.Name; len(name) > len(out) {
			out = name
		}
	}
	return out
}

// cluster returns the cluster of an aux instance in a hint (ABI-5.12).
func (e *Event) cluster() *cluster.Cluster {
	out := &cluster.Cluster{}
	for _, n := range []*cluster.Node{e.OldNode, e.NewNode} {
		if n != nil {
			out.Nodes = append(out.Nodes, *n)
		}
	}
	return out
}

// dictionary returns all strings of a scene, in the order in which they occur.
func (s *scene) dictionary(e *image.Encoder) *wire.Dict {
	e.Dict = wire.NewDict()
	numbering := image.InOrder(s.cluster)
	if s.whatIf >= 0 {
		numbering.Overlays = []image.Overlay{{Node: s.whatIf, Pods: []int{s.add}}}
	}
	e.Content(s.cluster, numbering)
	for _, event := range s.events {
		c := event.cluster()
		e.Content(c, image.InOrder(c))
	}
	for _, p := range s.all() {
		e.Record(s.cluster, p, "", false)
	}
	return e.Dict
}

// all returns the pods that have records in some call, those of a list and of events first.
func (s *scene) all() []*cluster.Pod {
	var out []*cluster.Pod
	for i := range s.pods {
		out = append(out, &s.pods[i])
	}
	for _, event := range s.events {
		for _, p := range []*cluster.Pod{event.OldPod, event.NewPod} {
			if p != nil {
				out = append(out, p)
			}
		}
	}
	for i := range s.cluster.Pods {
		out = append(out, &s.cluster.Pods[i])
	}
	return append(out, &s.pod)
}
