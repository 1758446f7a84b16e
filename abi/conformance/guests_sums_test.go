package conformance_test

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
)

// sums is a plugin of scope cluster whose answers are sums of all that it reads: each element of each list counts, in
// any order. So an answer changes with whatever it reads wrongly.
type sums struct {
	berth.Base
	wrongly
	pool      berth.NodeLabel
	app       berth.PodLabel
	cpu       berth.Resource
	bonus     berth.Published
	odd, even berth.Reason
	before    berth.Reason
	kept      map[string]uint64
	rows      map[string]int
	count     uint64
	counted   bool
	seen      uint64 // in pre_filter
	last      []byte // that was published
}

func newSums(manifest []byte, mistake string) *sums {
	b := berth.Load(manifest)
	return &sums{
		Base: b, wrongly: wrongly{mistake}, pool: b.NodeLabel("pool"), app: b.PodLabel("app"), cpu: b.Resource("cpu"), bonus: b.Published("plan/bonus"),
		odd: b.Reason("odd", "two texts"), even: b.Reason("even"), kept: map[string]uint64{}, rows: map[string]int{},
	}
}

// lists are what sums reads lists of, with the numbers of entries that a mistaken guest has room for.
func lists() map[string][]int {
	return map[string][]int{
		"labels": {4, 16}, "tolerations": {4, 8}, "gates": {4}, "ports": {4}, "selectors": {4}, "required terms": {4},
		"preferred terms": {4}, "requirements": {4}, "values": {4}, "taints": {4, 8}, "images of a node": {16}, "ports of a node": {4},
		"pods of a node": {4, 32},
	}
}

// onlyFirst is the mistake to read no more than the first n of a list.
func onlyFirst(n int, of string) string {
	return fmt.Sprintf("only the first %d of the %s count", n, of)
}

// ends reports whether a mistaken guest has no room for the entry at index i of a list.
func (p *sums) ends(i int, list string) bool {
	return slices.ContainsFunc(lists()[list], func(n int) bool { return i >= n && p.wrong(onlyFirst(n, list)) })
}

// hash returns a number for texts.
func hash(kind string, texts ...any) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, kind)
	for _, text := range texts {
		fmt.Fprintf(h, "|%v", text)
	}
	return h.Sum64() >> 8
}

// keep returns what it has for a key, and what number returns otherwise.
func (p *sums) keep(key any, number func() uint64) uint64 {
	by := fmt.Sprint(key)
	if n, ok := p.kept[by]; ok {
		return n
	}
	p.kept[by] = number()
	return p.kept[by]
}

// pairs sums up labels.
func (p *sums) pairs(kind string, all []berth.Pair) (sum uint64) {
	for i, pair := range all {
		switch {
		case p.wrong("a label's key has at most 128 bytes") && len(p.Text(pair.Key)) > 128:
			panic("no room")
		case !p.ends(i, "labels"):
			sum += hash(kind, p.Text(pair.Key), p.Text(pair.Value))
		}
	}
	return sum
}

func (p *sums) ofPod(pod berth.Pod) uint64 {
	number := func() uint64 { return p.readPod(pod) }
	switch generation := p.Snapshot().Generation(); {
	case p.wrong("a pod is kept by its UID"):
		return p.keep(pod.UID(), number)
	case p.wrong("a pod is kept by its name"):
		return p.keep(pod.Name(), number)
	case p.wrong("a pod is kept while the generation stays"):
		return p.keep(generation, number)
	case p.wrong("a pod is kept while the epoch stays"):
		return p.keep(p.Snapshot().Epoch(), number)
	case p.wrong("a pod is kept by its UID and generation"):
		return p.keep(fmt.Sprint(pod.UID(), generation), number)
	}
	return number()
}

func (p *sums) readPod(pod berth.Pod) uint64 {
	switch {
	case p.wrong("a UID has at most 32 bytes") && len(pod.UID()) > 32, p.wrong("a name has at most 128 bytes") && len(pod.Name()) > 128:
		panic("no room")
	case p.wrong("a namespace's name has at most 32 bytes") && len(p.Text(pod.Namespace())) > 32:
		panic("no room")
	}
	sum := hash("pod", pod.Name(), pod.UID(), p.Text(pod.Namespace()), pod.Priority(), pod.Request(p.cpu)) + p.pairs("of pod", pod.Labels()) + p.pairs("of namespace", pod.NamespaceLabels())
	for i, t := range pod.Tolerations() {
		if !p.ends(i, "tolerations") {
			sum += hash("toleration", p.Text(t.Key), p.Text(t.Value), t.Operator, t.Effect, t.Seconds)
		}
	}
	for i, gate := range pod.SchedulingGates() {
		if !p.ends(i, "gates") {
			sum += hash("gate", p.Text(gate))
		}
	}
	for i, port := range pod.HostPorts() {
		if !p.ends(i, "ports") {
			sum += hash("port", p.Text(port.IP), port.Port, port.Protocol)
		}
	}
	for i, image := range pod.Images() {
		if !p.wrong("only the last image counts") || i == len(pod.Images())-1 {
			sum += hash("image", p.Text(image))
		}
	}
	for i, r := range pod.NodeSelector() {
		if !p.ends(i, "selectors") {
			sum += hash("selector", p.Text(r.Key), p.ofValues(pod, &r))
		}
	}
	terms, _ := pod.RequiredTerms()
	return sum + p.ofTerms("required", pod, terms) + p.ofTerms("preferred", pod, pod.PreferredTerms())
}

// ofTerms sums up terms of the node affinity.
func (p *sums) ofTerms(kind string, pod berth.Pod, terms []berth.Term) (sum uint64) {
	for i, t := range terms {
		if p.ends(i, kind+" terms") {
			break
		}
		if p.wrong("a term has requirements") && len(pod.Requirements(t)) == 0 {
			panic("no requirements")
		}
		for j, r := range pod.Requirements(t) {
			if !p.ends(j, "requirements") {
				sum += hash(kind, t.Weight, p.Text(r.Key), r.Operator, r.Number, p.ofValues(pod, &r))
			}
		}
	}
	return sum
}

func (p *sums) ofValues(pod berth.Pod, r *berth.Requirement) (sum uint64) {
	for i, value := range pod.Values(r) {
		if !p.ends(i, "values") {
			sum += hash("value", p.Text(value))
		}
	}
	return sum
}

func (p *sums) ofNode(node berth.Node) uint64 {
	sum := hash("node", node.Name(), p.Text(node.Label(p.pool)), node.Allocatable(p.cpu), node.Unschedulable()) + p.pairs("of node", node.Labels())
	for i, t := range node.Taints() {
		if !p.ends(i, "taints") {
			sum += hash("taint", p.Text(t.Key), p.Text(t.Value), t.Effect)
		}
	}
	for i, image := range node.Images() {
		if !p.ends(i, "images of a node") {
			sum += hash("image", p.Text(image.Name), image.Size)
		}
	}
	for i, port := range node.Ports() {
		if !p.ends(i, "ports of a node") {
			sum += hash("port", p.Text(port.IP), port.Port, port.Protocol)
		}
	}
	pods := node.Pods()
	for i := range pods.Len() {
		if !p.ends(i, "pods of a node") {
			sum += p.ofPlaced(pods.At(i))
		}
	}
	return sum
}

func (p *sums) ofPlaced(pod berth.PlacedPod) uint64 {
	number := func() uint64 {
		return hash("placed", pod.UID(), p.Text(pod.Label(p.app)), pod.Priority(), pod.Terminating()) + p.pairs("of placed", pod.Labels())
	}
	if p.wrong("a pod of a node is kept by its UID") {
		return p.keep(pod.UID(), number)
	}
	return number()
}

// ofNamespaces sums up the pod's namespace as the table has it.
func (p *sums) ofNamespaces(pod berth.Pod) (sum uint64) {
	all, name := p.Snapshot().Namespaces(), p.Text(pod.Namespace())
	if p.wrong("a namespace's row is kept") {
		if row, ok := p.rows[name]; ok && row < all.Len() {
			return p.pairs("namespace", all.At(row).Labels())
		}
	}
	for i := range all.Len() {
		if p.Text(all.At(i).Name()) == name && name != "" {
			p.rows[strings.Clone(name)] = i
			sum += p.pairs("namespace", all.At(i).Labels())
		}
	}
	return sum
}

// ofAll sums up all nodes.
func (p *sums) ofAll() (sum uint64) {
	nodes := p.Snapshot().Nodes()
	for i := range nodes.Len() {
		sum += uint64(nodes.At(i).Allocatable(p.cpu)) >> 3
	}
	return sum
}

// PreFilter counts pods.
func (p *sums) PreFilter(pod berth.Pod, nodes berth.Nodes) (*berth.Rows, berth.Status) {
	n := 0
	p.seen = p.ofPod(pod)
	for i := range nodes.Len() {
		n += nodes.At(i).Pods().Len()
	}
	p.StateSet("pods", fmt.Appendf(nil, "%d", n))
	p.counted = false
	return nil, berth.Success
}

func (p *sums) pods() (n uint64) {
	if p.wrong("what a what-if counted is kept until the next pod") && p.counted {
		return p.count
	}
	state, _ := p.StateGet("pods")
	_, _ = fmt.Sscan(string(state), &n)
	return n
}

// AddPod counts one more.
func (p *sums) AddPod(berth.Pod, berth.Pod, berth.Node) berth.Status { return p.add(1) }

// RemovePod counts one less.
func (p *sums) RemovePod(berth.Pod, berth.Pod, berth.Node) berth.Status { return p.add(^uint64(0)) }

func (p *sums) add(n uint64) berth.Status {
	p.counted = false
	n += p.pods()
	p.StateSet("pods", fmt.Appendf(nil, "%d", n))
	p.count, p.counted = n, true
	return berth.Success
}

// Filter rejects a third of the nodes.
func (p *sums) Filter(pod berth.Pod, node berth.Node) berth.Status {
	pods := p.pods()
	if p.wrong("filter keeps what a what-if counted") && p.counted {
		pods = p.count
	}
	of := p.ofPod(pod)
	if p.wrong("what pre_filter saw of the pod is kept") && p.seen > 0 {
		of = p.seen
	}
	switch sum := of + p.ofNode(node) + pods; {
	case sum%3 > 0:
		return berth.Success
	case sum%2 > 0:
		return berth.Unschedulable(p.odd)
	default:
		return berth.Unschedulable(p.even)
	}
}

// Score is a sum of everything.
func (p *sums) Score(pod berth.Pod, node berth.Node) int64 {
	return int64((p.ofPod(pod) + p.ofNode(node) + p.ofNamespaces(pod) + p.ofAll() + p.published() + p.pods()) % 101)
}

func (p *sums) published() uint64 {
	number := func() uint64 {
		value, ok := p.PublishedGet(p.bonus)
		if p.last = append(value, p.last[min(len(p.last), len(value)):]...); p.wrong("what was published keeps its length") && ok {
			value = p.last
		}
		return hash("published", string(value), ok)
	}
	if p.wrong("what another plugin published is kept") {
		return p.keep("published", number)
	}
	return number()
}

// Permit rejects some pods.
func (p *sums) Permit(pod berth.Pod, node berth.Node) (time.Duration, berth.Status) {
	sum := p.ofPod(pod) + p.ofNode(node)
	why := p.even
	if sum%2 > 0 {
		why = p.odd
	}
	if p.wrong("the reason is that of the pod before") {
		why, p.before = p.before, why
		if why == 0 {
			why = p.before
		}
	}
	if sum%5 == 0 {
		return 0, berth.Unschedulable(why)
	}
	return 0, berth.Success
}
