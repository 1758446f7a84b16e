package conformance_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/abi"
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/wire"
)

// manifests reads testdata/plugins.json.
func manifests(t *testing.T, name string) ([]byte, *wire.Manifest) {
	t.Helper()
	text, err := os.ReadFile("testdata/plugins.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	man, err := wire.DecodeManifest(all[name])
	if err != nil {
		t.Fatal(err)
	}
	return all[name], man
}

// wrongly is a plugin that may make one mistake.
type wrongly struct{ mistake string }

func (w wrongly) wrong(mistake string) bool { return w.mistake == mistake }

// pools is a plugin of scope node: pods of a namespace go to nodes of its pool, preferably to
// nodes with pods of higher priority.
type pools struct {
	berth.Base
	wrongly
	pool  berth.NodeLabel
	other berth.Reason
	none  berth.Reason
	pools map[string]string
	known map[string]berth.Const // of pools
	calls int
	last  string
	said  bool
	// of the last call
	generation uint64
	id         berth.ID
}

func newPools(manifest []byte, mistake string) *pools {
	b := berth.Load(manifest)
	b.Reason("never said")
	return &pools{Base: b, wrongly: wrongly{mistake}, pool: b.NodeLabel("pool"), other: b.Reason("another pool"), none: b.Reason("no pool")}
}

// Configure reads pools by namespace.
func (p *pools) Configure(config []byte) error {
	if p.wrong("refuses its configuration") {
		return fmt.Errorf("it is never right")
	}
	p.known = map[string]berth.Const{}
	err := json.Unmarshal(config, &p.pools)
	for _, pool := range p.pools {
		p.known[pool] = p.Const(pool)
	}
	return err
}

// PreFilter stores the pod's pool.
func (p *pools) PreFilter(pod berth.Pod, nodes berth.Nodes) (*berth.Rows, berth.Status) {
	if p.wrong("pre_filter of scope node returns rows") {
		return &berth.Rows{}, berth.Success
	}
	if p.wrong("traps without nodes") && nodes.Len() == 0 {
		panic("no nodes")
	}
	p.StateSet("pool", []byte(p.pools[p.Text(pod.Namespace())]))
	if !strings.HasPrefix(p.mistake, "keeps") {
		p.last = p.pools[p.Text(pod.Namespace())]
	}
	return nil, berth.Success
}

// Prepare checks whether the pod has a pool.
func (p *pools) Prepare(berth.Pod) berth.Status {
	p.calls++
	p.said = false
	if p.wrong("logs what it did not declare") {
		p.Log(berth.Info, "hello")
	}
	return berth.Success
}

// Filter requires the pod's pool.
func (p *pools) Filter(pod berth.Pod, node berth.Node) berth.Status {
	pool := p.pools[p.Text(pod.Namespace())]
	if p.wrong("keeps the pod of an earlier call") {
		pool = p.last
		p.last = p.pools[p.Text(pod.Namespace())]
	}
	if generation := p.Snapshot().Generation(); p.wrong("keeps a pool while the generation stays") {
		if p.generation == generation {
			pool = p.last
		}
		p.generation, p.last = generation, pool
	}
	if state, ok := p.StateGet("pool"); ok && string(state) != pool {
		return berth.Error(0)
	}
	label := p.Text(node.Label(p.pool))
	switch {
	case p.wrong("sets state of scope node") && p.StateSet("seen", nil):
	case p.wrong("counts its calls") && p.calls%3 == 2:
		return berth.Pending(p.other)
	case p.wrong("depends on other nodes") && p.Snapshot().Nodes().Len() > 7:
		return berth.Pending(p.other)
	case p.wrong("looks at the namespaces") && p.Snapshot().Namespaces().Len() > 0:
		return berth.Pending(p.other)
	case p.wrong("answers Skip for a row"):
		return berth.Skip
	case p.wrong("judges the first 512 rows") && node.Row() >= 512:
		return berth.Success
	case p.wrong("reasons of earlier calls take up room") && p.calls > 3 && pool != "" && pool != label:
		return berth.Unschedulable(0)
	case pool != "" && label == "":
		return berth.Unschedulable(p.none)
	case p.wrong("an id has 16 bits") && pool != "":
		if uint16(p.known[pool].ID()) != uint16(node.Label(p.pool)) {
			return berth.Unschedulable(p.other)
		}
		return berth.Success
	case p.wrong("keeps a pool's id while the generation stays") && pool != "":
		if now := p.Snapshot().Generation(); p.generation != now || p.last != pool {
			p.generation, p.last, p.id = now, pool, p.known[pool].ID()
		}
		if p.id != node.Label(p.pool) {
			return berth.Unschedulable(p.other)
		}
	case pool != "" && !p.known[pool].Is(node.Label(p.pool)):
		return berth.Unschedulable(p.other)
	}
	return berth.Success
}

// Score returns the highest priority of the node's pods.
func (p *pools) Score(pod berth.Pod, node berth.Node) int64 {
	best := int64(0)
	pods := node.Pods()
	for i := range pods.Len() {
		best = max(best, int64(pods.At(i).Priority()))
	}
	switch {
	case p.wrong("depends on row numbers"):
		best += int64(node.Row())
	case p.wrong("depends on ids"):
		best += int64(node.Label(p.pool))
	case p.wrong("depends on the order of slots") && pods.Len() > 0:
		best = int64(pods.At(0).Priority())
	case p.wrong("the first node of a call gets more") && !p.said:
		best++
	case p.wrong("depends on the generation"):
		best += int64(p.Snapshot().Generation() % 2)
	}
	p.said = true
	return best
}

// everything is a plugin of scope cluster with every point. It spreads pods over zones, and
// assigns numbered devices.
type everything struct {
	berth.Base
	wrongly
	device       berth.PodAnnotation
	bonus, other berth.Published
	full         berth.Reason
	event        string // name of the first one's object
	given        string // device that was reserved last
	reserved     int
}

func newEverything(manifest []byte, mistake string) *everything {
	b := berth.Load(manifest)
	return &everything{Base: b, wrongly: wrongly{mistake}, device: b.PodAnnotation("example.com/device"), bonus: b.Published("plan/bonus"), other: b.Published("other/key"), full: b.Reason("the zone is full")}
}

// PreEnqueue gates pods with scheduling gates.
func (p *everything) PreEnqueue(pod berth.Pod) berth.Status {
	if p.wrong("queue points trap") {
		panic("queue")
	}
	if p.wrong("an annotation has at most 1,024 bytes") && len(p.Text(pod.Annotation(p.device))) > 1024 {
		panic("no room")
	}
	if len(pod.SchedulingGates()) > 0 {
		return berth.Pending(p.full)
	}
	return berth.Success
}

// QueueKey sorts by priority, then by the number of attempts.
func (p *everything) QueueKey(pod berth.Pod, queued berth.Queued, key *berth.Key) {
	key.AppendInt64Descending(pod.Priority())
	key.AppendUint64(uint64(queued.Attempts))
	if p.wrong("keys have ids") {
		key.AppendUint64(uint64(pod.Namespace()))
	}
}

// Hint accepts events of nodes that are usable.
func (p *everything) Hint(event berth.Event, _ berth.Pod) berth.HintResult {
	name := strings.Clone(event.Name())
	if p.event = cmp.Or(p.event, name); p.wrong("an event's name is kept") {
		name = p.event
	}
	switch {
	case p.wrong("an event has one action") && event.Actions() != abi.ActionAdd:
		return berth.QueueSkip
	case p.wrong("every object has a namespace") && name != "" && event.Namespace() == "":
		panic("no namespace")
	case len(name)%2 == 1:
		return berth.QueueSkip
	}
	if node, ok := event.NewNode(); ok && (node.Unschedulable() || node.Zone() == berth.Absent) {
		return berth.QueueSkip
	}
	if p.wrong("hints go by the row of a node") {
		if node, ok := event.NewNode(); ok && node.Row() == 0 {
			return berth.QueueSkip
		}
	}
	return berth.Queue
}

// zones parses counts of pods by zone: a zone and a number in each line.
func zones(text string) map[string]int {
	out := map[string]int{}
	for line := range strings.Lines(text) {
		var zone string
		var n int
		if _, err := fmt.Sscanf(line, "%q %d", &zone, &n); err == nil {
			out[zone] = n
		}
	}
	return out
}

func (p *everything) keep(counts map[string]int) {
	out := ""
	for _, zone := range slices.Sorted(maps.Keys(counts)) {
		out += fmt.Sprintf("%q %d\n", zone, counts[zone])
	}
	p.StateSet("zones", []byte(out))
}

// PreFilter counts pods by zone, and excludes cordoned nodes.
func (p *everything) PreFilter(pod berth.Pod, nodes berth.Nodes) (*berth.Rows, berth.Status) {
	counts := map[string]int{}
	rows := &berth.Rows{}
	for i := range nodes.Len() {
		counts[p.Text(nodes.At(i).Zone())] += nodes.At(i).Pods().Len()
		if !nodes.At(i).Unschedulable() {
			rows.Add(nodes.At(i))
		}
	}
	p.keep(counts)
	p.StateSet("ids", []byte{byte(pod.Namespace())})
	switch {
	case p.wrong("the first row is left"):
		rows.Reset()
		if nodes.Len() > 0 {
			rows.Add(nodes.At(0))
		}
	case p.wrong("the state holds an id"), p.wrong("reads its state by an id"):
		p.StateSet("namespace", []byte{byte(pod.Namespace()), byte(pod.Namespace() >> 8)})
	case p.wrong("the state holds a slot"):
		for i := range nodes.Len() {
			if nodes.At(i).Pods().Len() > 0 {
				p.StateSet("row", []byte{byte(nodes.At(i).Row())})
			}
		}
	}
	return rows, berth.Success
}

// AddPod counts one more.
func (p *everything) AddPod(_, _ berth.Pod, node berth.Node) berth.Status {
	if p.wrong("add_pod fails") {
		return berth.Error(0)
	}
	if p.wrong("add_pod counts twice") {
		return p.count(node, 2)
	}
	return p.count(node, 1)
}

// RemovePod counts one less.
func (p *everything) RemovePod(_, _ berth.Pod, node berth.Node) berth.Status {
	if p.wrong("remove_pod does nothing") {
		return berth.Success
	}
	return p.count(node, -1)
}

func (p *everything) count(node berth.Node, n int) berth.Status {
	state, ok := p.StateGet("zones")
	if !ok {
		return berth.Error(0)
	}
	counts := zones(string(state))
	counts[p.Text(node.Zone())] += n
	p.keep(counts)
	return berth.Success
}

// Filter rejects zones with many pods.
func (p *everything) Filter(pod berth.Pod, node berth.Node) berth.Status {
	if id, ok := p.StateGet("ids"); !ok || id[0] != byte(pod.Namespace()) {
		return berth.Error(0) // a cycle-local key has the wrong meaning
	}
	if row, ok := p.StateGet("row"); ok && row[0] == byte(node.Row()) {
		return berth.Pending(p.full)
	}
	state, _ := p.StateGet("zones")
	if zones(string(state))[p.Text(node.Zone())] > 9 {
		return berth.Unschedulable(p.full)
	}
	return berth.Success
}

// PostFilter nominates the first node, by name, that was judged unschedulable.
func (p *everything) PostFilter(_ berth.Pod, nodes berth.Judged) berth.Status {
	best := ""
	for i := range nodes.Len() {
		name := strings.Clone(nodes.At(i).Name())
		first := best == "" || name < best
		if p.wrong("nominates the first row") {
			first = best == ""
		}
		if nodes.Code(i) == berth.Unschedulable(0).Code() && first {
			best = name
		}
	}
	switch {
	case p.wrong("nominates an unknown node"):
		p.Nominate("nowhere")
	case best == "":
		return berth.Unschedulable(p.full)
	default:
		p.Nominate(best)
	}
	return berth.Success
}

// PreScore skips pods without a priority.
func (p *everything) PreScore(pod berth.Pod, _ berth.Nodes) berth.Status {
	bonus, ok := p.PublishedGet(p.bonus)
	_, other := p.PublishedGet(p.other)
	switch {
	case ok && string(bonus) != "3" && len(bonus) > 0 || other:
		return berth.Error(0)
	case pod.Priority() == 0:
		return berth.Skip
	}
	return berth.Success
}

// Score returns the number of pods in the zone.
func (p *everything) Score(_ berth.Pod, node berth.Node) int64 {
	state, _ := p.StateGet("zones")
	return int64(zones(string(state))[p.Text(node.Zone())])
}

// Normalize reverses scores.
func (p *everything) Normalize(_ berth.Pod, _ berth.Nodes, scores []int64) berth.Status {
	for i := range scores {
		scores[i] = max(0, 100-scores[i])
		if p.wrong("normalises to 101") {
			scores[i]++
		}
	}
	return berth.Success
}

// Reserve assigns the lowest device that no pod on the node has.
func (p *everything) Reserve(pod berth.Pod, node berth.Node) berth.Status {
	taken := map[string]bool{}
	pods := node.Pods()
	for i := range pods.Len() {
		taken[p.Text(pods.At(i).Annotation(p.device))] = true
	}
	if _, ok := p.StateGet("ids"); ok {
		return berth.Error(0) // cycle-local keys are gone (ABI-7.10)
	}
	n := 0
	for taken[fmt.Sprint(n)] {
		n++
	}
	p.Annotate("example.com/device", fmt.Sprint(n))
	p.StateSet("device", fmt.Append(nil, n))
	p.given, p.reserved = fmt.Sprint(n), p.reserved+1
	switch {
	case p.wrong("labels what it did not declare"):
		p.Label("example.com/device", fmt.Sprint(n))
	case p.wrong("writes an invalid key"):
		p.Annotate("example.com/a b", "")
	case p.wrong("reads its state by an id"):
		if kept, ok := p.StateGet("namespace"); ok && string(kept) != string([]byte{byte(pod.Namespace()), byte(pod.Namespace() >> 8)}) {
			return berth.Error(0)
		}
	}
	if object, ok := p.NodeObject(node); !ok || len(object) == 0 {
		return berth.Error(0)
	}
	return berth.Success
}

// Unreserve does nothing.
func (p *everything) Unreserve(berth.Pod, berth.Node) berth.Status {
	if _, ok := p.StateGet("device"); !ok && p.wrong("unreserve expects reserve") {
		panic("it was not reserved")
	}
	if p.reserved == 0 && p.wrong("counts what is reserved") {
		return berth.Error(0)
	}
	p.reserved = max(0, p.reserved-1)
	return berth.Success
}

// Permit makes pods of low priority wait, and allows others on the node.
func (p *everything) Permit(pod berth.Pod, node berth.Node) (time.Duration, berth.Status) {
	if pod.Priority() < 0 {
		return time.Second, berth.Wait
	}
	pods := node.Pods()
	for i := range pods.Len() {
		p.Allow(pods.At(i).UID())
	}
	return 0, berth.Success
}

// PreBind stores where the pod goes.
func (p *everything) PreBind(_ berth.Pod, node berth.Node) berth.Status {
	device, _ := p.StateGet("device")
	if p.wrong("what is reserved is kept") && p.given != "" {
		device = []byte(p.given)
	}
	p.Annotate("example.com/node", strings.Clone(node.Name())+" "+string(device))
	return berth.Success
}

// Bind binds pods whose names end in an even digit.
func (p *everything) Bind(pod berth.Pod, _ berth.Node) berth.Status {
	name := pod.Name()
	if name[len(name)-1]%2 == 1 {
		return berth.Skip
	}
	if !p.wrong("binds without a directive") {
		p.BindPod()
	}
	return berth.Success
}

// PostBind reads the pod once more.
func (p *everything) PostBind(pod berth.Pod, _ berth.Node) berth.Status {
	if object, ok := p.PodObject(pod); !ok || len(object) == 0 {
		return berth.Error(0)
	}
	return berth.Success
}
