package dynamicresources

import (
	"encoding/binary"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/utils/ptr"
)

// contents is what nodes have for claims: their devices and which of them are allocated.
type contents struct {
	pools map[poolID]*pool
	nodes map[string]*devicesOf
	// static has the number of what each slice says, and said the numbers of that.
	static  map[*resourcev1.ResourceSlice]uint32
	said    map[string]uint32
	wide    []*resourcev1.ResourceSlice // of wide pools
	plain   []*resourcev1.ResourceSlice // all but those of nodes that have pools with counters
	changes uint64                      // of wide pools
	order   []poolID                    // wide pools as they are searched
	reaches []reaches                   // of wide pools
	blurred bool                        // how nodes see wide pools is not known
	at      []place
}

// mostContents is the highest number of contents, besides those in use; then all are numbered again.
const mostContents = 1 << 16

// poolID identifies a pool.
type poolID struct{ driver, name string }

// pool is where a pool's devices are.
type pool struct {
	node string
	wide bool // not one node's
	// names are those of its devices, while slices are taken in; twice is true if one occurs twice.
	names map[string]bool
	twice bool
}

// devicesOf is the slices of a node, in the order in which they are searched.
type devicesOf struct {
	slices []*resourcev1.ResourceSlice
	// version is that of what is allocated. taken says which devices are, as of version at.
	version, at uint64
	taken       []byte
	counters    bool // a pool has counters
	// unlike is true if the node is like no other, because names that are not unique matter; shared is true as long
	// as a device allows several allocations, or has shares.
	unlike, shared bool
	// sees is what a version of the node sees of wide pools.
	sees []byte
	node *v1.Node
}

// place is the devices of a row.
type place struct {
	node    *v1.Node
	devices *devicesOf
}

func newContents() *contents { return &contents{said: make(map[string]uint32)} }

// rebuild takes in all slices, sorted by name.
func (c *contents) rebuild(all []*resourcev1.ResourceSlice) {
	static := c.static
	c.pools, c.nodes = make(map[poolID]*pool), make(map[string]*devicesOf)
	c.static, c.wide, c.plain, c.at = make(map[*resourcev1.ResourceSlice]uint32, len(all)), nil, nil, nil
	c.changes++
	for _, s := range all {
		number, ok := static[s]
		if !ok {
			number = c.numberOf(s)
		}
		c.static[s] = number
		id := idOf(s)
		p := c.pools[id]
		if p == nil {
			p = &pool{node: ptr.Deref(s.Spec.NodeName, ""), names: make(map[string]bool)}
			p.wide = p.node == ""
			c.pools[id] = p
		}
		p.wide = p.wide || ptr.Deref(s.Spec.NodeName, "") != p.node
		for i := range s.Spec.Devices {
			name := s.Spec.Devices[i].Name
			p.twice = p.twice || p.names[name]
			p.names[name] = true
		}
	}
	for _, s := range all {
		p := c.pools[idOf(s)]
		p.names = nil
		if p.wide {
			c.wide = append(c.wide, s)
		} else {
			n := c.of(p.node)
			n.slices = append(n.slices, s)
			n.counters = n.counters || hasCounters(s)
			n.unlike = n.unlike || p.twice
		}
	}
	for _, s := range all {
		if p := c.pools[idOf(s)]; p.wide || !c.of(p.node).counters {
			c.plain = append(c.plain, s)
		}
	}
	for _, n := range c.nodes {
		slices.SortStableFunc(n.slices, func(a, b *resourcev1.ResourceSlice) int { return idOf(a).compare(idOf(b)) })
	}
	c.widen()
}

func (c *contents) of(node string) *devicesOf {
	n := c.nodes[node]
	if n == nil {
		n = &devicesOf{version: 1}
		c.nodes[node] = n
	}
	return n
}

// numberOf returns the number of what a slice says, but for names that do not matter.
func (c *contents) numberOf(s *resourcev1.ResourceSlice) uint32 {
	b := appendPool(nil, s)
	for i := range s.Spec.Devices {
		device := s.Spec.Devices[i]
		device.Name = ""
		b = appendMessage(b, &device)
	}
	return numberIn(c.said, b)
}

// appendPool appends what a slice says besides its devices.
func appendPool(b []byte, s *resourcev1.ResourceSlice) []byte {
	b = appendString(b, s.Spec.Driver)
	b = binary.AppendVarint(b, s.Spec.Pool.Generation)
	b = binary.AppendVarint(b, s.Spec.Pool.ResourceSliceCount)
	for i := range s.Spec.SharedCounters {
		b = appendMessage(b, &s.Spec.SharedCounters[i])
	}
	return append(b, 0)
}

// numberIn returns the number of a key, from 1.
func numberIn(numbers map[string]uint32, key []byte) uint32 {
	number, ok := numbers[string(key)]
	if !ok {
		number = uint32(len(numbers)) + 1
		numbers[string(key)] = number
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
		c.of(p.node).version++
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

// allocated returns a byte for each device, which says whether a claim has it for itself.
func (l *Ledger) allocated(n *devicesOf) []byte {
	if n.at == n.version {
		return n.taken
	}
	n.at, n.taken, n.shared = n.version, n.taken[:0], false
	for _, s := range n.slices {
		for i := range s.Spec.Devices {
			d := &s.Spec.Devices[i]
			id := structured.MakeDeviceID(s.Spec.Driver, s.Spec.Pool.Name, d.Name)
			n.taken = append(n.taken, bit(l.state.AllocatedDevices.Has(id)))
			// Shares stay when the driver no longer allows several allocations.
			n.shared = n.shared || ptr.Deref(d.AllowMultipleAllocations, false) || l.shares[id] > 0
		}
	}
	return n.taken
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// full reports whether there are too many numbers.
func (c *contents) full() bool { return len(c.said) >= mostContents+2*len(c.static) }
