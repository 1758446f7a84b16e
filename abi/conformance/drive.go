package conformance

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/conformance/cluster"
	"github.com/berth-scheduler/berth/abi/conformance/internal/image"
	"github.com/berth-scheduler/berth/abi/wire"
)

// drive plays scenes in one way.
type drive struct {
	k      *checker
	w      way
	im     *image.Image // of the current call
	random *rand.Rand
	// layouts are those that calls have. The region has room for each.
	layouts []*image.Image
	// laid is which of them the current call has, and relaid counts how often it became another one.
	laid, relaid int
	// far is the layout of the scene whose slots are far apart; nil if the plugin sees none.
	far   *image.Image
	grown *wire.Dict // of all scenes so far
	epoch uint64
	// generation grows with each scene about another cluster. If points have scope node it differs in each way that does
	// not keep instances (ABI-4.12).
	generation uint64
	// cycle are the instances that hold the nodes, as many as the way requires. scoped is the
	// instance for pre_filter of a guest of scope node, and aux is for the other points.
	cycle       []*seat
	scoped, aux *seat
	// before is the region as it was before a call; its room is used again.
	before []byte

	// The state of the scene that is played.
	s      *scene
	pod    cluster.Pod // with patches
	state  *guestState
	strs   *wire.Dict // all strings of the scene
	held   *held      // by the cycle instances
	script []entry
	// standing are the nodes that pre_filter accepted, passed those that filter accepted, and
	// node is the chosen one; over is true if the pod was rejected.
	standing, passed []int
	node             string
	over             bool
	// verdicts and reasons are those of filter, by the names of nodes.
	verdicts, reasons map[string]string
	// said are the reasons of whole calls and of pods of a list.
	said map[string]string
}

// held is the numbering of a cluster in the instances of a cycle.
type held struct {
	dict *wire.Dict
	// parts has a numbering for each instance. rows has the place of each node.
	parts []*image.Numbering
}

// larger is by how much the tables of a layout are larger.
type larger struct{ all, others, slots uint32 }

// mostMoves is how far a call's own parts move within a layout.
const mostMoves = 3

// relaidBy is how much larger the tables of further layouts are. In the first two the header is
// at the same place.
func relaidBy() []larger { return []larger{{}, {others: 40}, {all: 13}, {all: 64}} }

// drive makes the layouts that fit all scenes in a way, the largest last.
func (k *checker) drive(w way, all []*scene) (*drive, error) {
	d := &drive{k: k, w: w, random: rand.New(rand.NewPCG(k.o.Seed, uint64(len(w.duty))))}
	spares := []larger{{all: w.spare}}
	if w.relaid {
		spares = relaidBy()
	}
	for _, spare := range spares {
		im, err := k.layout(w, all, spare)
		if err != nil {
			return nil, err
		}
		d.layouts = append(d.layouts, im)
	}
	d.im = d.layouts[0]
	if w.wide && k.reads.HasNode("pods") {
		if at := slices.IndexFunc(all, isFar); at >= 0 {
			var err error
			d.far, err = k.layout(w, all[at:at+1], larger{slots: 1 << 16})
			return d, err
		}
	}
	return d, nil
}

// isFar reports whether slots are far apart in a scene: that with the least large cluster, since it takes time.
func isFar(s *scene) bool { return len(s.cluster.Nodes) == large()[0] }

// layout makes a layout that fits all scenes in a way.
func (k *checker) layout(w way, all []*scene, spare larger) (*image.Image, error) {
	grown := wire.NewDict()
	rooms := &image.Rooms{Unknown: w.unknown, Stale: w.unknown || w.fresh == never, Overlays: mostOverlays, Batch: 1, Keys: k.man.Points.QueueSort != nil}
	most := 0
	for _, s := range all {
		e := &image.Encoder{Reads: k.reads}
		e.Dict = s.dictionary(e)
		numbering := image.InOrder(s.cluster)
		if s.whatIf >= 0 {
			numbering.Overlays = s.overlays(&image.Overlay{Node: s.whatIf, Pods: append(slices.Clone(s.on), s.add)}, mostOverlays-1)
		}
		contents := []*image.Content{e.Content(s.cluster, numbering)}
		for _, event := range s.events { // their nodes are drawn apart from the cluster's
			c := event.cluster()
			contents = append(contents, e.Content(c, image.InOrder(c)))
		}
		var batch [][]byte
		for i, p := range s.all() {
			record := e.Record(s.cluster, p, s.longest(), w.unknown)
			rooms.FitRecord(record)
			if i <= len(s.pods)+2*events { // the pods of a list, and those of events
				batch = append(batch, record)
			}
		}
		rooms.FitBatch(batch...)
		ids := image.Renumbered(e.Dict, max(w.dead, mostDead), nil)
		if w.growing {
			ids = grow(grown, e.Dict)
		}
		if w.wide && len(s.cluster.Nodes) >= large()[0] {
			ids = image.Wide(e.Dict, rand.New(rand.NewPCG(0, 0)))
		}
		for _, content := range contents {
			content.Seal(ids)
			rooms.Fit(content)
		}
		most = max(most, len(s.cluster.Pods), len(s.cluster.Namespaces))
	}
	if w.relaid {
		rooms.Moves = mostMoves
	}
	rooms.Spare, rooms.Others, rooms.Gaps = spare.all, spare.others, uint32(most+shift+2)+spare.slots
	if asked := &k.man.Directives; len(asked.Annotations)+len(asked.Labels) > 0 {
		rooms.Patches = abi.MaxDirectiveText
	}
	return rooms.Layout()
}

// grow adds the strings of a dictionary to another one.
func grow(all, more *wire.Dict) *wire.Dict {
	for id := range uint32(more.Len()) {
		if id > 0 { // 0 is no string
			all.Intern(more.String(id))
		}
	}
	return all
}

// close frees all instances.
func (d *drive) close(ctx context.Context) error {
	var errs []error
	for _, s := range append(d.cycle, d.scoped, d.aux) {
		if s != nil {
			errs = append(errs, s.inst.Close(ctx))
		}
	}
	d.cycle, d.scoped, d.aux = nil, nil, nil
	return errors.Join(errs...)
}

// renumber renumbers the cluster for the instances of a cycle.
func (d *drive) renumber() {
	whole := d.w.numbers(d.s.cluster, d.random)
	if d.im == d.far {
		whole.Slots = image.Far(whole.Slots)
	}
	d.held = &held{dict: d.ids()}
	shards := max(1, d.w.shards)
	for i := range shards {
		part := *whole
		part.Nodes = nil
		for j, n := range whole.Nodes {
			if j%shards == i {
				part.Nodes = append(part.Nodes, n)
			}
		}
		d.held.parts = append(d.held.parts, &part)
	}
}

// mostDead is how many ids of strings that are not used every layout has room for.
const mostDead = 8

// ids returns a dictionary of the scene for the way, in a new epoch unless it only grows.
func (d *drive) ids() *wire.Dict {
	if d.w.growing {
		if d.grown == nil {
			d.grown, d.epoch = wire.NewDict(), 1
		}
		return d.grown // each call adds the strings that it needs, so that they come late
	}
	d.epoch++
	if d.w.wide && len(d.s.cluster.Nodes) >= large()[0] {
		return image.Wide(d.strs, d.random)
	}
	switch {
	case d.w.shuffled:
		return image.Renumbered(d.strs, d.w.dead, d.random)
	case d.w.fresh == never: // what an instance keeps of an epoch is wrong in the next one, also if the cluster has not changed
		return image.Renumbered(d.strs, int(d.epoch%mostDead), nil)
	}
	return image.Renumbered(d.strs, d.w.dead, nil)
}

// ask is one call of the guest.
type ask struct {
	point abi.Point
	// rows are rows of the instance; an overlay row is part of a what-if, after so many others.
	rows   []uint32
	whatIf *image.Overlay
	others int
	pods   []cluster.Pod
	queue  []wire.QueueEntry // of the pods
	event  *Event            // of hint
	node   string            // the chosen node
	state  *guestState
	// input are the scores for normalize, verdicts the codes for post_filter, by row.
	input    []int64
	verdicts []abi.Code
	part     int // which of the cycle's instances
}

// reply is the guest's answer. A nil reply is a fault, which is in the ledger.
type reply struct {
	code abi.Code
	call *wire.CallView
	// nodes are the names of the rows in the call.
	nodes []string
}

// call makes a call in the instance that the way requires.
func (d *drive) call(ctx context.Context, a *ask) (*reply, error) {
	if d.w.moving == allCalls && !a.point.Aux() || d.held == nil {
		d.renumber()
	}
	at := d.place(a)
	if d.w.fresh == eachCall && *at != nil {
		if err := (*at).inst.Close(ctx); err != nil {
			return nil, err
		}
		*at = nil
	}
	if *at == nil {
		s, err := d.k.sit(ctx, d.layouts[len(d.layouts)-1])
		if s == nil || err != nil {
			return nil, err
		}
		*at = s
	}
	out, err := d.make(ctx, *at, a)
	if out == nil && err == nil { // a fault: the instance is not called again
		err = (*at).inst.Close(ctx)
		*at = nil
	}
	return out, err
}

// place returns the instance for a call.
func (d *drive) place(a *ask) **seat {
	switch {
	case a.point.Aux():
		return &d.aux
	case a.point == abi.PreFilter && d.k.man.Sharded():
		return &d.scoped
	}
	for len(d.cycle) <= a.part {
		d.cycle = append(d.cycle, nil)
	}
	return &d.cycle[a.part]
}

// world returns the cluster that the instance of a call holds, and its numbering.
func (d *drive) world(a *ask) (*cluster.Cluster, *image.Numbering, *wire.Dict) {
	if a.point.Aux() {
		c := &cluster.Cluster{}
		switch {
		case a.point == abi.Hint:
			c = a.event.cluster()
		case a.point >= abi.Reserve:
			c = d.s.around(d.node)
		}
		return c, d.w.numbers(c, d.random), d.ids()
	}
	numbering := *d.held.parts[a.part]
	if a.point == abi.PreFilter && d.k.man.Sharded() {
		numbering.Nodes = nil // ABI-5.3
	}
	if d.w.split && a.whatIf == nil && (numbering.Nodes == nil || d.k.man.Scope(a.point) == abi.ScopeNode) {
		c, numbering := d.s.without(a.rows, numbering)
		return c, &numbering, d.held.dict
	}
	if a.whatIf != nil {
		if d.w.shuffled {
			a.others = d.random.IntN(mostOverlays)
		}
		numbering.Overlays = d.s.overlays(a.whatIf, a.others)
	}
	return d.s.cluster, &numbering, d.held.dict
}

// mostOverlays is how many overlay rows a region has.
const mostOverlays = 3

// overlays returns the overlay row of a what-if after others, which no call names: other nodes without pods.
func (s *scene) overlays(of *image.Overlay, others int) (out []image.Overlay) {
	for i := range others {
		out = append(out, image.Overlay{Node: (s.whatIf + 1 + i) % len(s.cluster.Nodes)})
	}
	return append(out, *of)
}

// make writes what the call needs, makes it, and reads the answers.
func (d *drive) make(ctx context.Context, s *seat, a *ask) (*reply, error) {
	c, numbering, dict := d.world(a)
	d.relay(s)
	lo, hi, call, err := d.write(s, a, c, numbering, dict)
	if err != nil {
		return nil, err
	}
	d.serve(s.f, a, c, numbering)
	d.before = append(d.before[:0], s.bytes()...)
	export, _ := wire.ExportOf(a.point)
	made := &called{make: func() (int32, error) { return s.inst.Call(ctx, export, s.base+d.im.Call, lo, hi) }, state: a.state.clone()}
	again := d.w.again > 0 && (a.event == nil || a.event == d.s.events[0]) // one event is like the others for what piles up
	if again {
		made.region = slices.Clone(d.before)
	}
	made.result, err = made.make()
	where := d.where(a)
	for _, wrong := range s.f.wrong {
		d.k.looked(dutyFunctions, where+": "+wrong)
	}
	if len(s.f.wrong) == 0 {
		d.k.looked(dutyFunctions, "")
	}
	duty := dutyTraps
	if d.s.bare || len(d.s.cluster.Nodes) == 0 {
		duty = dutyBare
	}
	if err != nil {
		d.k.looked(duty, fmt.Sprintf("%s: %v", where, err))
		return nil, nil
	}
	d.k.looked(duty, "")
	if wrong := s.changed(d.before, call.N, call.Keys); wrong != "" {
		d.k.looked(dutyRegion, where+": "+wrong)
		return nil, nil
	}
	d.k.looked(dutyRegion, "")
	if again {
		wrong := d.wears(s, made, call.N)
		if wrong != "" {
			wrong = where + ": " + wrong
		}
		if d.k.looked(dutyLasting, wrong); wrong != "" {
			return nil, nil
		}
	}
	s.f.point, s.f.state = abi.NumPoints, nil
	got, err := s.decode()
	out := &reply{code: abi.Code(made.result), call: got}
	for _, row := range a.rows {
		out.nodes = append(out.nodes, c.Nodes[numbering.Nodes[row]].Metadata.Name)
	}
	if a.whatIf != nil {
		out.nodes = []string{c.Nodes[a.whatIf.Node].Metadata.Name}
	}
	wrong := ""
	if err != nil {
		wrong = err.Error()
	} else {
		wrong = d.k.formed(a, made.result, got, uint32(len(numbering.Nodes)), d.s)
	}
	if wrong != "" {
		d.k.looked(dutyAnswers(a.point), where+": "+wrong)
		return nil, nil
	}
	d.k.looked(dutyAnswers(a.point), "")
	if d.w.duty == "" {
		d.k.reasons(got)
	}
	return out, nil
}

// relay has the next call in another layout.
func (d *drive) relay(s *seat) {
	if len(d.layouts) == 1 {
		return
	}
	clear(s.inst.Memory()[s.base : s.base+s.size])
	if at := d.random.IntN(2 * len(d.layouts)); at < len(d.layouts) && at != d.laid { // the same layout may have the same number
		d.laid = at
		d.relaid++
	}
	d.im = d.layouts[d.laid].Moved(d.random.Uint32N(mostMoves+1), d.random.Uint32N(2))
	s.im = d.im
}

// where says what a failing example is about.
func (d *drive) where(a *ask) string {
	out := fmt.Sprintf("%s, %s", d.s.name, a.point)
	if d.w.duty != "" {
		out += ", while checking that " + d.w.duty
	}
	return out
}

// serve sets the data of host functions for a call.
func (d *drive) serve(f *functions, a *ask, c *cluster.Cluster, numbering *image.Numbering) {
	f.point, f.aux, f.state, f.values, f.wrong = a.point, a.point.Aux(), a.state, d.s.values, nil
	if f.pods = a.pods; a.point > abi.Hint {
		pod := d.pod
		if a.node != "" {
			pod.Spec.NodeName = a.node
		}
		if a.point != abi.AddPod && a.point != abi.RemovePod {
			f.pods = []cluster.Pod{pod}
		}
	}
	f.node = func(row uint32) *cluster.Node {
		if uint64(row) >= uint64(len(numbering.Nodes)) {
			return nil
		}
		return &c.Nodes[numbering.Nodes[row]]
	}
}
