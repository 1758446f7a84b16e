package dynamicresources

import (
	"context"
	"encoding/binary"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"
)

// view numbers what nodes have, as claims with some selectors and constraints see it. Nodes with the same number
// are alike for all searches for such claims, so that one search answers for all of them. A node that changes
// gets another number.
//
// Of a device, claims see what their selectors say of it, the attributes that their constraints compare, and all
// that is no attribute. If it is allocated, they only see the last, unless they ask for all devices, or to administer
// some. Names of devices, pools and slices do not matter, but their order does, in which the library
// searches.
type view struct {
	expressions []string
	attributes  []attribute
	// free is true if the claims cannot see devices that are allocated.
	free bool
	// sliced has the number of what a slice says to the claims, by the number of what it says and, if free, which of its
	// devices are allocated; says has the numbers of that.
	sliced map[string]uint32
	says   map[string]uint32
	// numbers are those of nodes by what they have; next is the next one. 0 is none.
	numbers map[string]uint32
	next    uint32
	rows    []numbered
	key     []byte // of a node
	slice   []byte // what it says
	part    []byte
}

// numbered is the number of a row's content, for a version of the node.
type numbered struct {
	devices *devicesOf
	version uint64
	number  uint32
	// With wide pools, the number is for this version of the node, after so many changes of theirs.
	node    *v1.Node
	changes uint64
}

// mostViews is how many views there are before all are forgotten.
const mostViews = 64

// full reports whether there are too many numbers.
func (v *view) full() bool { return int(v.next) >= mostContents+2*len(v.rows) }

// numbered returns the number of a node's content, if it is known; else 0.
func (l *Ledger) numbered(v *view, row uint32, node *v1.Node) uint32 {
	c := l.contents
	n := c.row(row, node)
	for len(v.rows) <= int(row) {
		v.rows = append(v.rows, numbered{})
	}
	r := &v.rows[row]
	if r.devices == n && r.version == n.version && (len(c.wide) == 0 || r.changes == c.changes && r.node == node) {
		return r.number
	}
	return 0
}

// number returns the number of a node's content.
//
// # Errors
//
// The context ended.
func (l *Ledger) number(ctx context.Context, v *view, row uint32, node *v1.Node) (uint32, error) {
	if number := l.numbered(v, row, node); number != 0 {
		return number, nil
	}
	c := l.contents
	n := c.row(row, node)
	now := numbered{devices: n, version: n.version, number: v.next, node: node, changes: c.changes}
	taken := l.allocated(n)
	key, alike := c.seen(binary.AppendUvarint(v.key[:0], uint64(len(n.slices))), n, node)
	if alike && !n.unlike && !n.shared { // how much of a shared device is left is not in the key
		at := 0
		for i, s := range n.slices {
			first := at
			at += len(s.Spec.Devices)
			says, err := l.says(ctx, v, s, taken[first:at])
			if err != nil {
				return 0, err
			}
			begins := i == 0 || idOf(s) != idOf(n.slices[i-1])
			key = append(binary.LittleEndian.AppendUint32(key, says), bit(begins))
		}
		v.key = append(key, taken...)
		if number := v.numbers[string(v.key)]; number != 0 {
			now.number = number
		} else {
			v.numbers[string(v.key)] = now.number
		}
	}
	if now.number == v.next {
		v.next++
	}
	v.rows[row] = now
	return now.number, nil
}

// says returns the number of what a slice says to the claims of a view. taken says which of its devices are allocated.
func (l *Ledger) says(ctx context.Context, v *view, s *resourcev1.ResourceSlice, taken []byte) (uint32, error) {
	v.part = binary.LittleEndian.AppendUint32(v.part[:0], l.contents.static[s])
	if v.free {
		v.part = append(v.part, taken...)
	}
	if number := v.sliced[string(v.part)]; number != 0 {
		return number, nil
	}
	b := appendPool(v.slice[:0], s)
	for i := range s.Spec.Devices {
		device := s.Spec.Devices[i]
		if !v.free || taken[i] == 0 {
			b = l.appendSeen(ctx, b, v, s, &device)
			if err := ctx.Err(); err != nil {
				return 0, err
			}
		}
		device.Name, device.Attributes = "", nil
		b = appendMessage(b, &device)
	}
	v.slice = b
	number := numberIn(v.says, b)
	v.sliced[string(v.part)] = number
	return number, nil
}

// appendSeen appends what the claims of a view see of a device's attributes.
func (l *Ledger) appendSeen(ctx context.Context, b []byte, v *view, s *resourcev1.ResourceSlice, d *resourcev1.Device) []byte {
	for i := range v.attributes {
		b = appendAttribute(b, s.Spec.Driver, d.Attributes, &v.attributes[i])
	}
	about := aboutDevice(s, d)
	for _, e := range v.expressions {
		b = append(b, byte(l.compiled().of(ctx, e, &about)))
	}
	return b
}

// viewOf returns the view of claims; with whole, that of allocated devices as well.
func (l *Ledger) viewOf(claims []*resourcev1.ResourceClaim, whole bool) *view {
	v := &view{sliced: make(map[string]uint32), says: make(map[string]uint32), numbers: make(map[string]uint32), next: 1, free: !whole}
	for _, claim := range claims {
		for i := range claim.Spec.Devices.Requests {
			r := &claim.Spec.Devices.Requests[i]
			if e := r.Exactly; e != nil {
				v.sees(l, e.DeviceClassName, e.Selectors)
				v.free = v.free && e.AllocationMode == resourcev1.DeviceAllocationModeExactCount && !ptr.Deref(e.AdminAccess, false)
			}
			for j := range r.FirstAvailable {
				v.sees(l, r.FirstAvailable[j].DeviceClassName, r.FirstAvailable[j].Selectors)
				v.free = v.free && r.FirstAvailable[j].AllocationMode == resourcev1.DeviceAllocationModeExactCount
			}
		}
		for i := range claim.Spec.Devices.Constraints {
			c := &claim.Spec.Devices.Constraints[i]
			for _, name := range []*resourcev1.FullyQualifiedName{c.MatchAttribute, c.DistinctAttribute} {
				if name != nil {
					v.attributes = append(v.attributes, attributeOf(string(*name)))
				}
			}
		}
	}
	slices.Sort(v.expressions)
	v.expressions = slices.Compact(v.expressions)
	slices.SortFunc(v.attributes, attribute.compare)
	v.attributes = slices.Compact(v.attributes)
	var key []byte
	for _, e := range v.expressions {
		key = appendString(key, e)
	}
	key = append(key, 0, bit(v.free))
	for i := range v.attributes {
		key = appendString(key, v.attributes[i].full)
	}
	if same := l.views[string(key)]; same != nil {
		return same
	}
	if len(l.views) >= mostViews {
		l.forget()
	}
	l.views[string(key)] = v
	return v
}

// sees adds the selectors of a request and of its class.
func (v *view) sees(l *Ledger, class string, selectors []resourcev1.DeviceSelector) {
	if class := l.devices.Classes.DeviceClass(class); class != nil {
		selectors = slices.Concat(class.Spec.Selectors, selectors)
	}
	for i := range selectors {
		if selectors[i].CEL != nil {
			v.expressions = append(v.expressions, selectors[i].CEL.Expression)
		}
	}
}
