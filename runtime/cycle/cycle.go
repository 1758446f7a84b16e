// Package cycle decides where one pod goes: it runs a pod through a pipeline
// over a snapshot and returns a Decision. It changes nothing outside itself but
// overlay rows of the snapshot; the scheduler carries the decision out.
package cycle

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/equivalence"
	"github.com/berth-scheduler/berth/runtime/extender"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/state"
)

// TieBreak chooses among nodes of equal score.
type TieBreak uint8

// The tie-breaks.
const (
	// Random takes any of the best nodes, by the cycle's seed.
	Random TieBreak = iota
	// First takes the best node of the lowest rank in the snapshot.
	First
)

// String returns the tie-break's name.
func (t TieBreak) String() string {
	if t == First {
		return "first"
	}
	return "random"
}

// ParseTieBreak returns the tie-break of a name.
func ParseTieBreak(name string) (TieBreak, error) {
	switch name {
	case "random":
		return Random, nil
	case "first":
		return First, nil
	}
	return 0, fmt.Errorf("tie-break %q is neither random nor first", name)
}

// Config is how decisions are made.
type Config struct {
	TieBreak TieBreak
	// Candidates is how many of the best nodes an Attempt lists; 0 means 5.
	Candidates int
	// AllRows has an Attempt list all rows of a Rejection; otherwise that of a pod that was
	// placed lists the lowest ones.
	AllRows bool
	// Reuse bounds the answers of plugins that are kept for equivalent pods.
	Reuse equivalence.Config
}

// Cycle runs scheduling cycles. It belongs to one goroutine, and reuses its
// buffers: a Decision's Attempt is valid until the next cycle.
type Cycle struct {
	config Config
	store  *equivalence.Store // nil if no answers are kept
	runs   map[*pipeline.Pipeline]*pipeline.Run
	// start is where the next search for enough feasible nodes begins.
	start   int
	attempt report.Attempt
	rows    []uint32
	groups  []group
	counts  map[string]int
	scores  []report.Score     // of candidates
	feeds   []report.FeedValue // of candidates
	top     []int
	best    []uint32
	pcg     rand.PCG
	rand    *rand.Rand // over pcg
}

// group is the nodes with one verdict.
type group struct {
	rejection int // its index in the attempt
	plugin    int // its index in the pipeline
	size      int
	next      int // where its next row goes
}

// New returns a Cycle.
func New(config Config) *Cycle {
	if config.Candidates == 0 {
		config.Candidates = 5
	}
	c := &Cycle{config: config, runs: make(map[*pipeline.Pipeline]*pipeline.Run), counts: make(map[string]int)}
	if !config.Reuse.Off() {
		c.store = equivalence.New(config.Reuse)
	}
	c.rand = rand.New(&c.pcg)
	return c
}

// Rotation returns where the next search for enough feasible nodes begins, and Resume sets it: it is all
// that decisions depend on besides their Input.
func (c *Cycle) Rotation() int { return c.start }

// Resume sets what Rotation returned.
func (c *Cycle) Resume(rotation int) { c.start = rotation }

// Forget forgets the kept answers of plugins. What is kept decides nothing, unless a plugin's calls fail: its
// breaker counts calls, and a call fails for all of its nodes.
func (c *Cycle) Forget() {
	for _, run := range c.runs {
		run.DropAnswers()
	}
	if c.store != nil {
		c.store.Forgotten()
	}
}

// Input is what one decision depends on.
type Input struct {
	Context     context.Context
	Snapshot    *state.Snapshot
	Pod         *state.QueuedPod
	Pipeline    *pipeline.Pipeline
	Nominations state.Nominations
	// Debt keeps others from making room for the pod.
	Debt plugin.Debt
	// Extenders (optional) are asked after the plugins. The pipeline then has their
	// Binder.
	Extenders *extender.Extenders
	// Seed is this decision's own random number.
	Seed uint64
	// Now is the time of the loop in seconds since 1970.
	Now int64
	// Sequence numbers decisions from 1.
	Sequence uint64
	// Draw is the number by which a tie is broken; 0 means Sequence.
	Draw uint64
	// Start (optional) is where the search for enough feasible nodes begins; nil goes on where the
	// last one ended.
	Start *int
	// Beside (optional) is a node that Decision.Tied is about.
	Beside *state.Node
}

// Decision is the result of a cycle.
type Decision struct {
	Pod *state.QueuedPod
	// Node is the chosen node; nil when there is none.
	Node *state.Node
	// Tied is true if Node was chosen from several with the highest total, and Input.Beside is one of them.
	Tied bool
	// Status says why there is none; nil when there is one.
	Status *plugin.Status
	// Rejectors and Pending are the plugins that rejected the pod, sorted;
	// Pending is those that did so with that code. Both are empty when there is
	// a node, after an Error, and when the cluster has no node.
	Rejectors, Pending []string
	// Nomination is what PostFilter decided, with the preemption that is to make
	// room for the pod, and NominatedBy the plugin that did.
	Nomination  plugin.PostFilterResult
	NominatedBy string
	// Directives are what PostFilter plugins ask for with waiting pods.
	Directives []plugin.Directives
	// State is the plugins' state, which lives on in the binding cycle.
	State *state.CycleState
	// Attempt is the record of the cycle.
	Attempt *report.Attempt
}

// errNoNodes is the rejection of a pod while the cluster has no node.
var errNoNodes = errors.New("no nodes available to schedule pods")

// Replace drops what is kept for a pipeline that another one replaces, but for the answers of
// plugins that stay.
func (c *Cycle) Replace(old, now *pipeline.Pipeline) {
	run, ok := c.runs[old]
	if !ok {
		return
	}
	delete(c.runs, old)
	c.runs[now] = now.NewRun(c.store)
	c.runs[now].Inherit(run)
}

// Start is where the next search for enough feasible nodes begins.
func (c *Cycle) Start() int { return c.start }

// Kept returns what is kept of the answers of plugins.
func (c *Cycle) Kept() equivalence.Stats { return c.store.Stats() }

// Schedule decides where the pod goes.
func (c *Cycle) Schedule(in Input) Decision {
	watch := clock.Start()
	run, ok := c.runs[in.Pipeline]
	if !ok {
		run = in.Pipeline.NewRun(c.store)
		c.runs[in.Pipeline] = run
	}
	if in.Start != nil {
		c.start = *in.Start
	}
	pod := in.Pod.Pod
	d := Decision{Pod: in.Pod, State: &state.CycleState{}}
	c.attempt = report.Attempt{
		Sequence: in.Sequence, Namespace: pod.Namespace, Pod: pod.Name, UID: pod.UID, Profile: in.Pipeline.Profile(),
		Try: in.Pod.Attempts, Nodes: in.Snapshot.Len(),
		Rejections: c.attempt.Rejections[:0], Candidates: c.attempt.Candidates[:0], Timings: c.attempt.Timings[:0], Points: c.attempt.Points[:0],
		Victims: c.attempt.Victims[:0],
	}
	d.Attempt = &c.attempt
	s := draft{
		cycle: c, run: run, in: &in, d: &d, attempt: &c.attempt,
		input: plugin.Cycle{
			Context: in.Context, Snapshot: in.Snapshot, Pod: pod, State: d.State,
			Seed: in.Seed, Now: in.Now, Nominations: in.Nominations,
		},
	}
	s.decide()
	c.attempt.Code = d.Status.CodeOf()
	c.attempt.Nominated = d.Nomination.NominatedNode
	for _, victim := range d.Nomination.Preemption.Victims {
		c.attempt.Victims = append(c.attempt.Victims, victim.Key())
	}
	if d.Node != nil {
		c.attempt.Node = d.Node.Name
	} else if c.attempt.Message == "" {
		c.attempt.Message = plain.Lines(d.Status.Message(), report.MaxMessage)
	}
	c.attempt.Timings, c.attempt.Points = run.Timings(c.attempt.Timings), run.Points(c.attempt.Points)
	c.attempt.Duration = watch.Elapsed()
	return d
}

// feasibleToFind returns how many feasible nodes among n are enough
// (kube-scheduler's numFeasibleNodesToFind; a percentage that is not given means
// all nodes).
func feasibleToFind(percentage *int32, n int) int {
	const (
		minFeasible   = 100
		minPercentage = 5
	)
	if n < minFeasible || percentage == nil {
		return n
	}
	p := int(*percentage)
	if p == 0 {
		p = max(minPercentage, 50-n/125)
	}
	return max(minFeasible, n*p/100)
}

// fail ends the cycle with something other than verdicts on nodes. A nomination
// that the pod has is void.
func (s *draft) fail(status *plugin.Status) {
	s.d.Status = status
	s.d.Nomination = plugin.PostFilterResult{Override: true}
}

// unenforced rejects a pod that asks for something that no enabled plugin enforces.
func unenforced(f state.Feature) *plugin.Status {
	return plugin.NewStatus(abi.UnschedulableAndUnresolvable,
		fmt.Sprintf("pod uses %s, which no enabled plugin enforces", f)).By(pipeline.Enforcement)
}
