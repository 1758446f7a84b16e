package berth_test

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/berth-scheduler/berth/abi"
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/berthtest"
)

//go:embed testdata/points.json
var pointsManifest []byte

// points has every point. The pod's name says what it does.
type points struct {
	berth.Base
	zone   berth.NodeLabel
	a      berth.Const
	nope   berth.Reason
	fit    berth.Rows
	config string
}

func newPoints() *points {
	b := berth.Load(pointsManifest)
	return &points{Base: b, zone: b.NodeLabel("zone"), a: b.Const("a"), nope: b.Reason("nope", "not at all")}
}

var (
	_ berth.Configurer  = (*points)(nil)
	_ berth.PreFilterer = (*points)(nil)
	_ berth.Filterer    = (*points)(nil)
	_ berth.PreScorer   = (*points)(nil)
	_ berth.Scorer      = (*points)(nil)
	_ berth.Normalizer  = (*points)(nil)
)

func (p *points) Configure(data []byte) error {
	p.config = string(data)
	if p.config != "{}" {
		return errors.New("I wanted {}")
	}
	return nil
}

func (p *points) PreFilter(pod berth.Pod, nodes berth.Nodes) (*berth.Rows, berth.Status) {
	if !p.StateSet("sum", binary.LittleEndian.AppendUint32(nil, uint32(nodes.Len()))) || !p.StateSet("empty", nil) {
		return nil, berth.Error(p.Reason("state cannot be set"))
	}
	switch pod.Name() {
	case "skip":
		return nil, berth.Skip
	case "reject":
		return nil, berth.Unschedulable(p.nope)
	case "narrow":
		p.fit.Reset()
		for i := range nodes.Len() {
			if p.a.Is(nodes.At(i).Label(p.zone)) {
				p.fit.Add(nodes.At(i))
			}
		}
		return &p.fit, berth.Success
	}
	return nil, berth.Success
}

func (p *points) Filter(pod berth.Pod, node berth.Node) berth.Status {
	sum, ok := p.StateGet("sum")
	empty, also := p.StateGet("empty")
	_, never := p.StateGet("never set")
	if !ok || !also || never || len(empty) != 0 || binary.LittleEndian.Uint32(sum) != uint32(p.Snapshot().Nodes().Len()) {
		return berth.Error(p.Reason("state is not as it was set"))
	}
	switch pod.Name() {
	case "skip":
		return berth.Error(p.Reason("called after Skip"))
	case "pending":
		return berth.Pending(p.Reason("waiting for " + node.Name()))
	}
	return berth.Success
}

func (p *points) PreScore(pod berth.Pod, nodes berth.Nodes) berth.Status {
	if pod.Name() == "noscore" {
		return berth.Skip
	}
	p.StateSet("sum", binary.LittleEndian.AppendUint32(nil, uint32(nodes.Len())))
	return berth.Success
}

func (p *points) Score(_ berth.Pod, node berth.Node) int64 {
	sum, _ := p.StateGet("sum")
	return int64(len(node.Name())) * int64(binary.LittleEndian.Uint32(sum))
}

func (p *points) Normalize(_ berth.Pod, nodes berth.Nodes, scores []int64) berth.Status {
	if nodes.Len() != len(scores) || p.Snapshot().Seed() == 0 || p.Snapshot().Epoch() == 0 {
		return berth.Error(0)
	}
	highest := slices.Max(scores)
	for i := range scores {
		scores[i] = 100 * scores[i] / highest
		if !p.a.Is(nodes.At(i).Label(p.zone)) {
			scores[i] = 1
		}
	}
	return berth.Success
}

func TestPoints(t *testing.T) {
	trial := berthtest.New(t, pointsManifest, berthtest.Native(newPoints), "")
	zone := func(z string) map[string]string { return map[string]string{"zone": z} }
	trial.Nodes = []berthtest.Node{{Name: "n", Labels: zone("a")}, {Name: "node", Labels: zone("b")}, {Name: "no", Labels: zone("a")}, {Name: "noooooo"}}
	for pod, want := range map[string]string{
		"plain":   "n Success 14; node Success 1; no Success 28; noooooo Success 1",
		"skip":    "n Success 14; node Success 1; no Success 28; noooooo Success 1",
		"noscore": "n Success 0; node Success 0; no Success 0; noooooo Success 0",
		"narrow":  "n Success 50; node UnschedulableAndUnresolvable; no Success 100; noooooo UnschedulableAndUnresolvable",
		"reject": "n Unschedulable: nope, not at all; node Unschedulable: nope, not at all; " +
			"no Unschedulable: nope, not at all; noooooo Unschedulable: nope, not at all",
		"pending": "n Pending: waiting for n; node Pending: waiting for node; no Pending: waiting for no; noooooo Pending: waiting for noooooo",
	} {
		var got []string
		for _, v := range trial.Place(berthtest.Pod{Namespace: "default", Name: pod}) {
			got = append(got, v.String())
		}
		if all := strings.Join(got, "; "); all != want {
			t.Errorf("%s: %s\nwant %s", pod, all, want)
		}
	}
	for config, want := range map[string]string{`[]`: "configuration refused: expected an object, found a list", `{"refuse": 1}`: "I wanted {}"} {
		if why, refused := berthtest.New(t, pointsManifest, berthtest.Native(newPoints), config).Refused(); !refused || !strings.Contains(why, want) {
			t.Errorf("%s: refused %v: %s", config, refused, why)
		}
	}
	want := []string{"berth_abi", "berth_alloc", "berth_configure", "berth_pre_filter", "berth_filter", "berth_pre_score", "berth_score", "berth_normalize"}
	if got := berth.Implements(newPoints()); !slices.Equal(got, want) {
		t.Errorf("implements %v, want %v", got, want)
	}
}

// many makes more reasons in a call than fit, and longer ones.
type many struct{ berth.Base }

func (p *many) Filter(_ berth.Pod, node berth.Node) berth.Status {
	return berth.Unschedulable(p.Reason(fmt.Sprintf("%s%s", node.Name(), strings.Repeat("é", 600))))
}

func newMany() *many {
	return &many{berth.Load(manyManifest())}
}

func manyManifest() []byte {
	return []byte(`{"name":"many","version":"1.0.0","abi":"1.0","points":{"filter":{"scope":"cluster"}},"reads":{"node":["name"]}}`)
}

// deaf ignores errors. In TestReasonLimits it depends on the order of rows which nodes have no
// reason.
type deaf struct{ testing.TB }

func (deaf) Errorf(string, ...any) {}

// TestReasonLimits: texts are cut between runes, and beyond the limits there is no reason, but
// no fault.
func TestReasonLimits(t *testing.T) {
	trial := berthtest.New(deaf{t}, manyManifest(), berthtest.Native(newMany), "")
	for i := range 80 {
		trial.Nodes = append(trial.Nodes, berthtest.Node{Name: fmt.Sprintf("node-%04d", i)})
	}
	none, longest := 0, 0
	for _, v := range trial.Place(berthtest.Pod{Name: "p"}) {
		if v.Code != abi.Unschedulable {
			t.Errorf("got %v", v)
		}
		if len(v.Reasons) == 0 {
			none++
			continue
		}
		longest = max(longest, len(v.Reasons[0]))
		if !utf8.ValidString(v.Reasons[0]) {
			t.Errorf("%s: not UTF-8", v.Node)
		}
	}
	// 9 bytes of name and 1,200 of é become 9 and 1,014.
	if longest != 1023 || none != 80-abi.MaxTextsSize/1023 {
		t.Errorf("the longest text has %d bytes, %d nodes have none", longest, none)
	}
}

// TestReasons: numbers of reasons made in a call are valid in that call only.
func TestReasons(t *testing.T) {
	p := newMany()
	lasting := p.Reason("a")
	if p.Reason("a") != lasting || p.Reason("b") == lasting || p.Reason() != 0 || p.Reason("a", "b") == lasting {
		t.Error("numbers of reasons are wrong")
	}
	for i := range 2000 {
		p.Reason(fmt.Sprint(i))
	}
	if p.Reason("one too many") != 0 || p.Reason("a") != lasting {
		t.Error("the limit of 1,024 reasons does not hold")
	}
}

func TestMistakesPanic(t *testing.T) {
	manifest := func(reads string) []byte {
		return []byte(`{"name":"x","version":"1.0.0","abi":"1.0","points":{"filter":{"scope":"node"}},"reads":{` + reads + `}}`)
	}
	reading := func(read func(berth.Node)) func() {
		return func() {
			plugin := func() *curious { return &curious{Base: berth.Load(manifest(``)), read: read} }
			trial := berthtest.New(t, manifest(``), berthtest.Native(plugin), "")
			trial.Nodes = []berthtest.Node{{Name: "a"}}
			trial.Caller([]berthtest.Pod{{}})(0)
		}
	}
	for want, f := range map[string]func(){
		"reads.nodeLabels does not list zone":      func() { berth.Load(manifest(`"nodeLabels":["rack"]`)).NodeLabel("zone") },
		"reads.resources does not list gpu":        func() { berth.Load(manifest(``)).Resource("gpu") },
		"reads.namespaceLabels does not list team": func() { berth.Load(manifest(`"namespaceLabels":["tier"]`)).NamespaceLabel("team") },
		"reads.published does not list a/c":        func() { berth.Load(manifest(`"published":["a/b"]`)).Published("a/c") },
		"line 2":                                   func() { berth.Load([]byte("{\n\"reads\":}")) },
		"reads: expected an object":                func() { berth.Load([]byte(`{"reads":1}`)) },
		"reads.pod does not list namespace": func() {
			berthtest.New(t, manifest(``), berthtest.Native(func() *greedy { return &greedy{berth.Load(manifest(``))} }), "").Caller([]berthtest.Pod{{}})(0)
		},
		"reads.node does not list taints":          reading(func(n berth.Node) { n.Taints() }),
		"reads.node does not list flags":           reading(func(n berth.Node) { n.Unschedulable() }),
		"reads.node does not list allocatable, or": reading(func(n berth.Node) { n.Allocatable(0) }),
		"reads.node does not list pods":            reading(func(n berth.Node) { n.Pods() }),
		"reads.nodeLabels does not list the key":   reading(func(n berth.Node) { n.Label(0) }),
	} {
		t.Run(want, func(t *testing.T) {
			defer func() {
				if r := fmt.Sprint(recover()); !strings.Contains(r, want) {
					t.Errorf("panic %q, want %q", r, want)
				}
			}()
			f()
		})
	}
}

// curious reads of a node what it did not declare.
type curious struct {
	berth.Base
	read func(berth.Node)
}

func (p *curious) Filter(_ berth.Pod, node berth.Node) berth.Status {
	p.read(node)
	return berth.Success
}

// greedy reads of a pod what it did not declare.
type greedy struct{ berth.Base }

func (p *greedy) Prepare(pod berth.Pod) berth.Status { pod.Namespace(); return berth.Success }

func (p *greedy) Filter(berth.Pod, berth.Node) berth.Status { return berth.Success }
