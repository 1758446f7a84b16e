package berthtest

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
)

// Trap is the panic value of a Guest of a module if a function traps or exceeds its limits.
type Trap struct{ Err error }

// Error returns the text of the cause.
func (t *Trap) Error() string { return t.Err.Error() }

// Hostile counts the results of unexpected inputs.
type Hostile struct {
	// Answered counts calls that returned, with any status.
	Answered int
	// Faults counts calls that trapped, after which a host uses another instance.
	Faults int
	// Refused counts configurations that the plugin refused.
	Refused int
}

// Extremes places the pod in unusual but possible clusters: without nodes, with empty nodes,
// with the largest numbers, with long and empty texts and such that are not ASCII, and with much of
// everything. A plugin must answer, so a trap fails the test. It returns the number of clusters.
func (t *Trial) Extremes(pod Pod) int {
	t.tb.Helper()
	clusters := []struct {
		name  string
		nodes []Node
		text  []string // of the pod's annotations, in a second attempt
	}{
		{"without nodes", nil, nil},
		{"of a node without anything", []Node{{Name: "bare"}}, nil},
		{"of the largest numbers", []Node{t.loaded("large", math.MaxInt64, 1, "xxxx"), t.loaded("least", 0, 1, "xxxx"), {Name: "bare"}}, nil},
		{"of long texts", []Node{t.loaded("long", 1000, 1, strings.Repeat("x", 60_000))}, nil},
		{"of texts that are not ASCII", []Node{t.loaded("foreign", 1000, 1, foreign)}, []string{foreign}},
		{"of empty texts", []Node{t.loaded("empty", 1000, 1, "")}, []string{""}},
		{"of nodes with much on them", []Node{t.loaded("many", 1000, 300, "xxxxxxxx"), t.loaded("few", 1000, 3, "xxxxxxxx")}, nil},
	}
	for _, c := range clusters {
		now := *t
		now.Nodes, now.Nominated = c.nodes, nil
		trap := trapped(t.tb, func() {
			now.Place(pod)
			for _, text := range c.text {
				now.Place(t.annotated(pod, text))
			}
		})
		if trap != nil {
			t.tb.Fatalf("%s in a cluster %s: the plugin trapped: %v", pod.id(), c.name, trap)
		}
	}
	return len(clusters)
}

// trapped calls a function, and returns the trap that ended it; may be nil.
func trapped(tb testing.TB, f func()) (trap *Trap) {
	tb.Helper()
	defer func() {
		if r := recover(); r != nil {
			var ok bool
			if trap, ok = r.(*Trap); !ok {
				panic(r)
			}
		}
	}()
	f()
	return nil
}

// foreign is a text whose characters have two, three and four bytes.
const foreign = "éß世界🙂é"

// annotated returns a pod whose annotations that the manifest reads all have one value.
func (t *Trial) annotated(pod Pod, text string) Pod {
	pod.Annotations = maps.Clone(pod.Annotations)
	for _, k := range t.manifest.Reads["podAnnotations"] {
		if pod.Annotations == nil {
			pod.Annotations = map[string]string{}
		}
		pod.Annotations[k] = text
	}
	return pod
}

// loaded returns a node with n of everything that the manifest reads, with numbers of the given size, and this text.
func (t *Trial) loaded(name string, size int64, n int, text string) Node {
	node := Node{Name: name, Allocatable: map[string]int64{}, Capacity: map[string]int64{}, CreatedAt: size, Labels: map[string]string{}, Annotations: map[string]string{}, Conditions: map[string]string{}, Images: map[string]int64{}, Feeds: map[string]int64{}, RequestedSince: map[string]int64{}}
	for i, f := range t.manifest.Reads["feeds"] {
		node.Feeds[f] = []int64{size, -size}[i%2]
	}
	node.Objects = map[string]Values{}
	for _, column := range t.manifest.Reads["objectColumns"] {
		var v Values
		for range n {
			if strings.HasSuffix(column, ":string") {
				v.Texts = append(v.Texts, &text)
			} else {
				v.Numbers = append(v.Numbers, size)
			}
		}
		node.Objects[column] = v
	}
	for _, r := range t.manifest.Reads["resources"] {
		node.Allocatable[r], node.Capacity[r], node.RequestedSince[r] = size, size, size
	}
	for _, k := range t.manifest.Reads["nodeLabels"] {
		node.Labels[k] = text
	}
	for _, k := range t.manifest.Reads["nodeAnnotations"] {
		node.Annotations[k] = text
	}
	for _, k := range t.manifest.Reads["nodeConditions"] {
		node.Conditions[k] = "Unknown"
	}
	labels, annotations := map[string]string{}, map[string]string{}
	for _, k := range t.manifest.Reads["podLabels"] {
		labels[k] = text
	}
	for _, k := range t.manifest.Reads["podAnnotations"] {
		annotations[k] = text
	}
	requests := map[string]int64{}
	for _, r := range t.manifest.Reads["resources"] {
		requests[r] = size / int64(max(n, 1)) // so that the sum does not overflow
	}
	for i := range n {
		node.Labels[fmt.Sprintf("berthtest/%s-%d", text, i)] = text
		node.Taints = append(node.Taints, Taint{Key: fmt.Sprintf("%s-%d", text, i), Value: text, Effect: "NoSchedule"})
		node.Images[fmt.Sprintf("%s-%d", text, i)] = size
		node.Pods = append(node.Pods, Pod{
			Namespace: text, Name: fmt.Sprintf("%s-%s-%d", name, text, i), Labels: labels, Annotations: annotations, Requests: requests,
			Priority: []int32{math.MinInt32, 0, math.MaxInt32}[i%3], Owner: "ReplicaSet/" + text, Limits: requests,
			CreatedAt: size, AssignedAt: -size, Running: i%2 == 0, Ready: i%3 == 0,
		})
	}
	return node
}

// Configurations passes invalid configurations to the plugin, past the manifest's schema. It may accept
// or refuse them, or trap.
func (t *Trial) Configurations() (h Hostile) {
	t.tb.Helper()
	for _, text := range []string{
		"", "null", "[]", "0", `"text"`, "{", `{"`, "{}}", `{"no such field": 1}`, `{"a": 1e999}`, `{"a": 99999999999999999999}`, "{\"a\": \"\xff\"}",
		`{"a": "\ud800"}`, "\x00", strings.Repeat(`{"a":`, 100_000), strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000),
		`{"` + strings.Repeat("a", 60_000) + `": "` + strings.Repeat("b", 1_000_000) + `"}`, `{` + strings.Repeat(`"a": 1, `, 50_000) + `"a": 1}`,
	} {
		var refused error
		switch trap := trapped(t.tb, func() { _, refused = t.configured([]byte(text)) }); {
		case trap != nil:
			h.Faults++
		case refused != nil:
			h.Refused++
		default:
			h.Answered++
		}
	}
	return h
}

// Lies calls Filter, or Score of a plugin without Filter, n times with one wrong word in the
// region: a number that is too large, or an address outside the memory. No host writes such a
// region. The plugin may return anything or trap, but afterwards it must make the same
// decisions about the correct region as before, in the same instance if it did not trap. A trial
// without nodes gets one. Lies is for plugins in a sandbox: native code may crash the test.
func (t *Trial) Lies(pod Pod, n int) (h Hostile) {
	t.tb.Helper()
	point := abi.Filter
	if !t.manifest.exports(abi.Filter) {
		point = abi.Score
	}
	if !t.manifest.exports(point) {
		return h
	}
	if len(t.Nodes) == 0 { // the scenarios may be about the queue
		now := *t
		now.Nodes = []Node{t.loaded("node", 1000, 1, "xxxx")}
		t = &now
	}
	s := &session{Trial: t, ways: once}
	about := content{nodes: t.Nodes, nominated: t.Nominated, namespaces: t.Namespaces, pod: &pod, now: t.Now}
	var in instance
	truth := func() []string {
		img := newImage(t.manifest, &about, s.numbers(len(t.Nodes), false))
		s.use(point, state{}, state{})
		code := s.call(&in, img, point, asked{hi: img.rows})
		said := []string{code.String()}
		for i := range img.rows {
			if point == abi.Score {
				said = append(said, fmt.Sprint(int64(binary.LittleEndian.Uint64(img.data[img.scores+8*i:]))))
			} else {
				said = append(said, s.judged(t.Nodes[i].Name, i).String())
			}
		}
		return said
	}
	want := truth()
	r := rand.New(rand.NewPCG(1, uint64(n)))
	for range n {
		img := newImage(t.manifest, &about, s.numbers(len(t.Nodes), false))
		at := img.readFrom + 4*uint32(r.IntN(int(img.readEnd-img.readFrom)/4))
		old := binary.LittleEndian.Uint32(img.data[at:])
		value := []uint32{0, 1, 1 << 16, 1<<31 - 1, 1 << 31, 1<<32 - 1, old + 1, old - 1, old ^ 1<<r.IntN(32)}[r.IntN(9)]
		s.use(point, state{}, state{})
		if trapped(t.tb, func() { s.lie(&in, img, point, at, value) }) != nil {
			h.Faults++
			in = instance{}
		} else {
			h.Answered++
		}
		if got := truth(); !slices.Equal(got, want) {
			t.tb.Errorf("%s: after a call with %#x at offset %d of the region instead of %#x, the plugin decides\n%s\nbut before\n%s",
				pod.id(), value, at, old, strings.Join(got, "\n"), strings.Join(want, "\n"))
			return h
		}
	}
	return h
}

// lie makes a call with one wrong word.
func (s *session) lie(in *instance, img *image, point abi.Point, at, value uint32) {
	s.tb.Helper()
	s.place(in, img)
	s.host.img, s.host.pods = img, nil
	img.setCall(uint32(point), &asked{hi: img.rows})
	memory := in.guest.Memory()[img.base:]
	copy(memory, img.data)
	binary.LittleEndian.PutUint32(memory[at:], value)
	in.guest.Call(exports()[point], img.base+img.call, 0, img.rows)
}
