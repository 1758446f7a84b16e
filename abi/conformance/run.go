package conformance

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/conformance/cluster"
	"github.com/berth-scheduler/berth/abi/conformance/internal/view"
)

// Run plays all cases about calls against a host, each as a subtest FAMILY/CASE; go test -run
// selects some. RunScheduler plays those about consequences.
func Run(t *testing.T, h Host) {
	t.Helper()
	lib, err := readLibrary()
	if err != nil {
		t.Fatal(err)
	}
	lib.run(testingT{t}, h)
}

// tester is the part of *testing.T that the kit needs, so that its own tests can see what
// fails.
type tester interface {
	Helper()
	Context() context.Context
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Skip(args ...any)
	Skipf(format string, args ...any)
	Run(name string, f func(t tester))
}

type testingT struct{ *testing.T }

func (t testingT) Run(name string, f func(t tester)) {
	t.T.Run(name, func(t *testing.T) { f(testingT{t}) })
}

func (lib *library) run(t tester, h Host) {
	t.Helper()
	for i := range lib.families {
		f := &lib.families[i]
		t.Run(f.Family, func(t tester) {
			for j := range f.Cases {
				cases, err := f.Cases[j].expand()
				if err != nil {
					t.Fatalf("%s: %v", f.Cases[j].Name, err)
				}
				for k := range cases {
					t.Run(cases[k].Name, func(t tester) { lib.play(t, h, &cases[k]) })
				}
			}
		})
	}
}

// bystander is the plugin that must continue when another one fails.
const bystander = "bystander"

// player plays one case.
type player struct {
	t       tester
	lib     *library
	plugins []*built
	profile Profile
	hearing hearing
	// bystander is true if the profile has one.
	bystander bool
	seeds     []uint64 // by cycle
	ids       seenIDs
	last      *played // the previous cycle
}

func (lib *library) play(t tester, h Host, c *caseDoc) {
	t.Helper()
	if omitted(h, c.Optional) {
		t.Skipf("the host omits %s", c.Optional)
	}
	p := &player{t: t, lib: lib, ids: seenIDs{}}
	var plugins []Plugin
	for _, s := range c.plugins() {
		b, err := lib.build(&s)
		if err != nil {
			t.Fatal(err)
		}
		p.add(&plugins, b)
	}
	if c.faulty() {
		p.stand(&plugins)
	}
	ctx := t.Context()
	profile, err := h.Load(ctx, plugins)
	if refused := p.refused(c, profile, err); refused {
		return
	}
	p.profile = profile
	defer func() {
		if err := profile.Close(context.WithoutCancel(ctx)); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	for _, cycle := range c.cycles() {
		p.cycle(ctx, &cycle)
	}
	if c.Refused != nil && len(c.cycles()) == 0 {
		p.first(ctx)
	}
	p.sown()
}

// sown checks that the seeds of cycles are not all equal (ABI-4.1).
func (p *player) sown() {
	p.t.Helper()
	if len(p.seeds) > 1 && len(slices.Compact(slices.Clone(p.seeds))) == 1 {
		p.t.Errorf("the seed is %#x in each of %d cycles (ABI-4.1)", p.seeds[0], len(p.seeds))
	}
}

func omitted(h Host, sentence string) bool {
	o, ok := h.(Omitter)
	return sentence != "" && ok && slices.Contains(o.Omits(), sentence)
}

func (p *player) add(plugins *[]Plugin, b *built) {
	b.Log = p.hearing.take(b.Name)
	p.plugins = append(p.plugins, b)
	*plugins = append(*plugins, b.Plugin)
}

// stand adds the bystander.
func (p *player) stand(plugins *[]Plugin) {
	b, err := p.lib.build(&setupDoc{Name: bystander, Guest: "filter", Config: json.RawMessage(`{"filter": [["codesBy", 0]]}`)})
	if err != nil {
		p.t.Fatal(err)
	}
	p.add(plugins, b)
	p.bystander = true
}

// faulty reports whether a fault is expected in some call.
func (c *caseDoc) faulty() bool {
	for _, cycle := range c.cycles() {
		for i := range cycle.Calls {
			if len(cycle.Calls[i].Want.Fault) > 0 {
				return true
			}
		}
	}
	return c.Refused != nil && c.Refused.OrFault
}

// refused compares Load's result with the case, and reports whether the case is over.
func (p *player) refused(c *caseDoc, profile Profile, err error) bool {
	p.t.Helper()
	switch {
	case err == nil && profile == nil:
		p.t.Fatal("Load returned neither a profile nor an error")
	case c.Refused == nil && err != nil:
		p.t.Fatalf("the plugins were refused: %v (%s)", err, strings.Join(c.Cites, ", "))
	case c.Refused == nil || err == nil && c.Refused.OrFault:
		return false
	case err == nil:
		_ = profile.Close(context.Background())
		p.t.Fatalf("the plugins were not refused (%s)", strings.Join(c.Cites, ", "))
	case !strings.Contains(err.Error(), c.Refused.Says):
		p.t.Fatalf("the refusal does not say %q: %v (%s)", c.Refused.Says, err, strings.Join(c.Cites, ", "))
	}
	return true
}

// first calls filter of a plugin that may have faulted by now, and the bystander.
func (p *player) first(ctx context.Context) {
	p.cycle(ctx, &cycleDoc{Calls: []stepDoc{{Point: "filter", Want: wantDoc{Fault: []Fault{FaultMemory, FaultTrap, FaultAnswer}}}}})
}

// cycle plays the calls of one cycle.
func (p *player) cycle(ctx context.Context, doc *cycleDoc) {
	p.t.Helper()
	c, err := p.lib.cluster(doc.Cluster)
	if err != nil {
		p.t.Fatal(err)
	}
	pod, err := p.lib.pod(doc.Pod, "web")
	if err != nil {
		p.t.Fatal(err)
	}
	cycle, err := p.profile.Begin(ctx, c, pod)
	if err != nil {
		p.t.Fatalf("begin: %v", err)
	}
	own := *pod // including patches
	state := &played{cluster: c, pod: &own}
	for i := range doc.Calls {
		p.step(ctx, cycle, state, &doc.Calls[i])
	}
	if len(state.seeds) > 0 {
		p.seeds = append(p.seeds, state.seeds[0])
	}
	last := p.last
	if last != nil && last.generation > 0 && state.generation > 0 && !reflect.DeepEqual(last.cluster, c) && state.generation <= last.generation {
		p.t.Errorf("the cluster has changed, but the generation went from %d to %d (ABI-4.1)", last.generation, state.generation)
	}
	p.last = state
}

// played is what is known about a cycle so far.
type played struct {
	cluster *cluster.Cluster
	pod     *cluster.Pod
	scores  []int64
	seeds   []uint64
	// generation is the generation of the cycle's snapshot; 0 if no dump showed it.
	generation uint64
}

func (p *player) step(ctx context.Context, cycle Cycle, state *played, doc *stepDoc) {
	p.t.Helper()
	b := p.plugin(doc.Plugin)
	call, err := p.lib.call(state, doc, b.Name)
	if err != nil {
		p.t.Fatal(err)
	}
	p.hearing.since()
	answer, err := cycle.Call(ctx, call)
	if err != nil {
		p.t.Fatalf("%s of %s: %v", call.Point, call.Plugin, err)
	}
	texts := p.hearing.since()
	j := &judge{want: &doc.Want, call: call, answer: answer, built: b, state: state, ids: p.ids}
	if err := j.judge(texts); err != nil {
		p.t.Fatal(err)
	}
	for _, problem := range j.problems {
		p.t.Errorf("%s of %s: %s", call.Point, call.Plugin, problem)
	}
	if answer.Fault == "" && len(answer.Scores) > 0 {
		state.scores = answer.Scores
	}
	state.patched(answer.Directives)
	if len(doc.Want.Fault) > 0 && p.bystander {
		p.goesOn(ctx, cycle, state)
	}
}

// goesOn calls the bystander, whose answers must not change (ABI-2.10).
func (p *player) goesOn(ctx context.Context, cycle Cycle, state *played) {
	p.t.Helper()
	doc := &stepDoc{Plugin: bystander, Point: "filter", Want: wantDoc{Each: map[string]rowDoc{}}}
	for i := range state.cluster.Nodes {
		n := &state.cluster.Nodes[i]
		doc.Want.Each[n.Metadata.Name] = rowDoc{Code: abi.Code(n.Allocatable("example.com/code")).String()}
	}
	p.step(ctx, cycle, state, doc)
}

func (p *player) plugin(name string) *built {
	for _, b := range p.plugins {
		if b.Name == name || name == "" {
			return b
		}
	}
	p.t.Fatalf("the case has no plugin %q", name)
	return nil
}

// sight returns what the guest must see in the call.
func (j *judge) sight() *sight {
	return &sight{
		man: j.built.manifest, reads: view.NewReads(&j.built.manifest.Reads, j.built.Namespaces), cluster: j.state.cluster,
		pod: j.state.pod, call: j.call, configured: j.built.configured,
	}
}
