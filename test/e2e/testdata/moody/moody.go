// Package moody is a plugin that passes all nodes, unless its configuration makes it a bad version.
package moody

import (
	_ "embed"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/config"
)

//go:embed manifest.json
var manifest []byte

// Moody is the plugin.
type Moody struct {
	berth.Base
	side             berth.NodeLabel
	sides            [2]berth.Const
	no               berth.Reason
	faultEvery, work int64
	rejects, byName  bool

	calls, sum int64
}

// New returns the plugin.
func New() *Moody {
	b := berth.Load(manifest)
	return &Moody{
		Base: b, side: b.NodeLabel("example.com/side"), sides: [2]berth.Const{b.Const("left"), b.Const("right")},
		no: b.Reason("no node is good enough"),
	}
}

// Configure reads how bad it is.
func (m *Moody) Configure(data []byte) error {
	c := config.Parse(data)
	c.Only("faultEvery", "work", "rejects", "byName")
	m.faultEvery, m.work = c.Get("faultEvery").Int64(0), c.Get("work").Int64(0) // in so many calls; so much for each node
	m.rejects, m.byName = c.Get("rejects").Bool(false), c.Get("byName").Bool(false)
	return c.Err()
}

// Filter judges a node.
func (m *Moody) Filter(pod berth.Pod, node berth.Node) berth.Status {
	m.calls++
	if m.faultEvery > 0 && m.calls%m.faultEvery == 0 {
		panic("it is a bad version")
	}
	for i := range m.work {
		m.sum += i ^ m.calls
	}
	if name := pod.Name(); m.rejects || m.byName && !m.sides[int(name[len(name)-1])%2].Is(node.Label(m.side)) {
		return berth.Unschedulable(m.no)
	}
	return berth.Success
}
