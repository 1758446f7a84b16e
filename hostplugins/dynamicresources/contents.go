package dynamicresources

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/utils/ptr"
)

// contents numbers what nodes have for claims: their devices and which of them are allocated. Nodes with
// the same number are alike for all searches, so that one search answers for all of them. A node that
// changes gets another number.
//
// Devices are compared without the names of their pools and slices, of which no claim can know, but in their
// order, in which the library searches. Pools that several nodes can use, or that have counters,
// make each node one of its own: it has another number whenever such a pool changes.
type contents struct {
	pools map[poolID]*pool
	nodes map[string]*devicesOf
	// static has the number of what each slice says, and said the numbers of that.
	static map[*resourcev1.ResourceSlice]uint32
	said   map[string]uint32
	// numbers are those of nodes by what they have; next is the next one. 0 is none.
	numbers map[string]uint32
	next    uint32
	wide    []*resourcev1.ResourceSlice // of wide pools
	changes uint64                      // of wide pools
	at      []place
	key     []byte
}

// mostContents is how many numbers there are before all are given anew.
const mostContents = 1 << 16

// poolID identifies a pool.
type poolID struct{ driver, name string }

// pool is where a pool's devices are.
type pool struct {
	node string
	wide bool // not one node's
}

// devicesOf is the slices of a node, in the order in which they are searched, and the number of what they and
// their allocations are now.
type devicesOf struct {
	slices []*resourcev1.ResourceSlice
	number uint32
	// With wide pools, the number is for this version of the node, after so many changes.
	node    *v1.Node
	changes uint64
}

// place is the devices of a row.
type place struct {
	node    *v1.Node
	devices *devicesOf
}

// rebuild takes in all slices, sorted by name.
func (c *contents) rebuild(all []*resourcev1.ResourceSlice) {
	static := c.static
	c.pools, c.nodes = make(map[poolID]*pool), make(map[string]*devicesOf)
	c.static, c.wide, c.at = make(map[*resourcev1.ResourceSlice]uint32, len(all)), nil, nil
	c.changes++
	for _, s := range all {
		number, ok := static[s]
		if !ok {
			number = c.numberOf(s)
		}
		c.static[s] = number
		id := poolID{s.Spec.Driver, s.Spec.Pool.Name}
		p := c.pools[id]
		if p == nil {
			p = &pool{}
			if s.Spec.NodeName != nil {
				p.node = *s.Spec.NodeName
			}
			c.pools[id] = p
		}
		if s.Spec.NodeName == nil || *s.Spec.NodeName != p.node || len(s.Spec.SharedCounters) > 0 {
			p.wide = true
		}
	}
	for _, s := range all {
		if p := c.pools[poolID{s.Spec.Driver, s.Spec.Pool.Name}]; p.wide {
			c.wide = append(c.wide, s)
		} else {
			n := c.of(p.node)
			n.slices = append(n.slices, s)
		}
	}
	for _, n := range c.nodes {
		slices.SortStableFunc(n.slices, func(a, b *resourcev1.ResourceSlice) int {
			return cmp.Or(strings.Compare(a.Spec.Driver, b.Spec.Driver), strings.Compare(a.Spec.Pool.Name, b.Spec.Pool.Name))
		})
	}
}

func (c *contents) of(node string) *devicesOf {
	n := c.nodes[node]
	if n == nil {
		n = &devicesOf{}
		c.nodes[node] = n
	}
	return n
}

// numberOf returns the number of what a slice says, but for names that do not matter.
func (c *contents) numberOf(s *resourcev1.ResourceSlice) uint32 {
	b := append([]byte(s.Spec.Driver), 0)
	b = binary.AppendVarint(b, s.Spec.Pool.Generation)
	b = binary.AppendVarint(b, s.Spec.Pool.ResourceSliceCount)
	for i := range s.Spec.Devices {
		data, err := s.Spec.Devices[i].Marshal()
		if err != nil {
			panic("BUG: a device cannot be encoded: " + err.Error())
		}
		b = append(binary.AppendUvarint(b, uint64(len(data))), data...)
	}
	number, ok := c.said[string(b)]
	if !ok {
		number = uint32(len(c.said)) + 1
		c.said[string(b)] = number
	}
	return number
}

// changed takes in that devices of a pool were allocated or freed.
func (c *contents) changed(id poolID) {
	switch p := c.pools[id]; {
	case p == nil:
	case p.wide:
		c.changes++
	default:
		c.of(p.node).number = 0
	}
}

// row returns the devices of a row.
func (c *contents) row(row uint32, node *v1.Node) *devicesOf {
	for len(c.at) <= int(row) {
		c.at = append(c.at, place{})
	}
	p := &c.at[row]
	if p.node != node {
		*p = place{node, c.of(node.Name)}
	}
	return p.devices
}

// number returns the number of what a node has.
func (c *contents) number(n *devicesOf, node *v1.Node, now *structured.AllocatedState) uint32 {
	if n.number != 0 && (len(c.wide) == 0 || n.changes == c.changes && n.node == node) {
		return n.number
	}
	n.node, n.changes = node, c.changes
	key, alike := c.key[:0], len(c.wide) == 0
	for i, s := range n.slices {
		begins := i == 0 || s.Spec.Driver != n.slices[i-1].Spec.Driver || s.Spec.Pool.Name != n.slices[i-1].Spec.Pool.Name
		key = append(binary.LittleEndian.AppendUint32(key, c.static[s]), bit(begins))
		for j := range s.Spec.Devices {
			id := structured.MakeDeviceID(s.Spec.Driver, s.Spec.Pool.Name, s.Spec.Devices[j].Name)
			key = append(key, bit(now.AllocatedDevices.Has(id)))
			// How much of a shared device is left is not in the key.
			alike = alike && !ptr.Deref(s.Spec.Devices[j].AllowMultipleAllocations, false)
		}
	}
	c.key = key
	if alike {
		if n.number = c.numbers[string(key)]; n.number != 0 {
			return n.number
		}
		c.numbers[string(key)] = c.next
	}
	n.number = c.next
	c.next++
	return n.number
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// full reports whether the numbers are used up.
func (c *contents) full() bool { return c.next >= mostContents || len(c.said) >= mostContents }

func newContents() *contents {
	return &contents{said: make(map[string]uint32), numbers: make(map[string]uint32), next: 1}
}

// verdicts are which contents have devices for some claims, and how these score.
type verdicts struct {
	of     []verdict // by number
	scores []int64   // only if claims have alternatives
	// details are what is said of nodes that lack devices, by number.
	details map[uint32][]string
}

// verdict is whether there are devices.
type verdict uint8

const (
	unknown verdict = iota
	fits
	lacks
)

func (v *verdicts) verdict(number uint32) verdict {
	if int(number) >= len(v.of) {
		return unknown
	}
	return v.of[number]
}

func (v *verdicts) score(number uint32) int64 {
	if int(number) >= len(v.scores) {
		return 0
	}
	return v.scores[number]
}

func (v *verdicts) learn(number uint32, found verdict, score int64) {
	v.of = grown(v.of, number)
	if v.of[number] = found; score != 0 {
		v.scores = grown(v.scores, number)
		v.scores[number] = score
	}
}

// grown returns an array that has an element for a number.
func grown[T any](s []T, number uint32) []T {
	if n := int(number) + 1 - len(s); n > 0 {
		s = slices.Grow(s, n)[:int(number)+1]
	}
	return s
}

// mostSpecs is for how many lists of claims verdicts are kept, before all are forgotten.
const mostSpecs = 256

// kept returns what is known about some claims. Claims of the same specs are alike.
func (l *Ledger) kept(claims []*resourcev1.ResourceClaim) *verdicts {
	key := l.specs[:0]
	for _, claim := range claims {
		data, err := claim.Spec.Marshal()
		if err != nil {
			panic("BUG: the spec of a claim cannot be encoded: " + err.Error())
		}
		key = append(binary.AppendUvarint(key, uint64(len(data))), data...)
	}
	l.specs = key
	v := l.verdicts[string(key)]
	if v == nil {
		if len(l.verdicts) >= mostSpecs {
			clear(l.verdicts)
		}
		v = &verdicts{}
		l.verdicts[string(key)] = v
	}
	return v
}

// follow takes in what changed before a search. It forgets all verdicts when numbers are used up.
func (l *Ledger) follow() {
	if l.contents != nil && l.contents.full() {
		l.contents = nil
	}
	if l.contents == nil {
		l.contents, l.sliced = newContents(), true
		clear(l.verdicts)
	}
	if l.sliced {
		l.contents.rebuild(l.devices.Slices.ResourceSlices())
		l.sliced = false
	}
}
