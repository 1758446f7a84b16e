package berthtest

import (
	"encoding/binary"
	"math/rand/v2"
	"strconv"

	"github.com/berth-scheduler/berth/abi/internal/region"
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
)

const (
	spareRows = 3
	callSize  = 128
)

// content is what a call is about.
type content struct {
	nodes []Node
	// overlay has the content of overlay rows; pods that are also on nodes share their slots.
	overlay []*rowNode
	// nominated are the pods with a nominated node.
	nominated []Nominated
	// namespaces are all namespaces; an aux instance does not have their table.
	namespaces []Namespace
	aux        bool
	pod        *Pod // the call's pod; may be nil
	list       []Pod
	queued     []berth.Queued
	event      *Event
	now        int64 // seconds since 1970; 0 for a call without the time
}

// rowNode is a node as a row shows it.
type rowNode struct {
	*Node
	pods      []*Pod
	nominated []*Pod // if the plugin reads them
}

// newRow returns a node with its pods.
func newRow(n *Node) *rowNode {
	r := &rowNode{Node: n}
	for i := range n.Pods {
		r.pods = append(r.pods, &n.Pods[i])
	}
	return r
}

// numbering says in what order things are numbered.
type numbering struct {
	order []int      // order[row] is the index of the node
	rand  *rand.Rand // nil numbers ids and slots in the order of appearance
	seed  uint64
	// turn is unique to this image in the instance: epochs and layouts differ.
	turn uint64
}

// image is a region for a content, with the places of things in it.
type image struct {
	content   *content
	data      []byte
	base      uint32
	addresses []uint32 // offsets of u32 that contain an address
	dict      dict
	encoder   region.Encoder
	numbering
	rows, capacity uint32

	call, codes, reasons, scores, keys uint32
	rowSet, header, pod, podSize       uint32
	podList, event, queue              uint32 // 0 if the content has none
	readFrom, readEnd                  uint32 // what a guest must not write
}

type dict struct {
	ids   map[string]uint32
	texts []string
}

func (d *dict) id(s string) uint32 {
	id, ok := d.ids[s]
	if !ok {
		id = uint32(len(d.texts))
		d.ids[s], d.texts = id, append(d.texts, s)
	}
	return id
}

// table is a table with room for rows.
type table struct {
	region.Table
	capacity uint32
}

func u32(b []byte, vs ...uint32) []byte {
	for _, v := range vs {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

func i64(b []byte, v int64) []byte { return binary.LittleEndian.AppendUint64(b, uint64(v)) }

// newImage writes the region for a content.
func newImage(m *Manifest, c *content, n numbering) *image {
	return newImageOf(m, c, n, func(img *image) []byte {
		if c.pod == nil {
			return nil
		}
		return img.record(m, c, c.pod)
	})
}

// newImageOf writes the region with room for a pod record, which may add strings.
func newImageOf(m *Manifest, c *content, n numbering, record func(*image) []byte) *image {
	img := &image{content: c, numbering: n, rows: uint32(len(c.nodes)), capacity: uint32(len(c.nodes)) + spareRows}
	img.dict = dict{ids: map[string]uint32{}, texts: []string{""}}
	img.encoder = region.Encoder{Reads: m.reads(), ID: img.dict.id, Order: func(n int) []int { return perm(n, img.rand) }, Stale: true}
	if n.rand != nil { // other ids for the same strings
		for i := range n.rand.IntN(5) + 1 {
			img.dict.id("berthtest-" + strconv.Itoa(i))
		}
		img.dict.id("")
	}
	img.lay(m, c, img.tables(c), record(img))
	return img
}

// rowsOf returns the nodes by row: rows, spare rows (nil), overlay rows.
func (img *image) rowsOf(c *content) []*rowNode {
	all := make([]*rowNode, img.capacity, int(img.capacity)+len(c.overlay))
	for row, i := range img.order {
		all[row] = newRow(&c.nodes[i])
	}
	all = append(all, c.overlay...)
	if !img.encoder.Reads.HasNode("nominated") {
		return all
	}
	for _, row := range all {
		if row == nil {
			continue
		}
		row.nominated = nil
		for i := range c.nominated {
			if n := &c.nominated[i]; n.Node == row.Name {
				row.nominated = append(row.nominated, &n.Pod)
			}
		}
	}
	return all
}

// node returns the node of a row, nil if there is none.
func (img *image) node(row uint32) *Node {
	c := img.content
	switch over := int64(row) - int64(img.capacity); {
	case row < img.rows:
		return &c.nodes[img.order[row]]
	case over >= 0 && over < int64(len(c.overlay)):
		return c.overlay[over].Node
	}
	return nil
}

// row returns the row of the i-th node.
func (img *image) row(i int) uint32 {
	for row, node := range img.order {
		if node == i {
			return uint32(row)
		}
	}
	panic("berthtest: no such node")
}

// perm returns 0 … n−1, in random order if r is not nil.
func perm(n int, r *rand.Rand) []int {
	if r != nil {
		return r.Perm(n)
	}
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}
