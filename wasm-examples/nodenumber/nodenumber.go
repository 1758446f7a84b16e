// Package nodenumber is a plugin that prefers nodes with a high number in a label or an annotation, whose key the configuration names.
package nodenumber

import (
	_ "embed"
	"strconv"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/config"
)

// Manifest is the plugin's manifest.
//
//go:embed manifest.json
var Manifest []byte

// NodeNumber is the plugin.
type NodeNumber struct {
	berth.Base
	number func(berth.Node) berth.ID // the text of a node's number
}

var (
	_ berth.Configurer = (*NodeNumber)(nil)
	_ berth.Scorer     = (*NodeNumber)(nil)
)

// New returns the plugin.
func New() *NodeNumber {
	return &NodeNumber{Base: berth.Load(Manifest), number: func(berth.Node) berth.ID { return berth.Absent }}
}

// Configure looks up the key. The manifest says where the configuration has it, so the host has a column for it.
func (p *NodeNumber) Configure(data []byte) error {
	c := config.Parse(data)
	c.Only("label", "annotation")
	label, annotation := c.Get("label"), c.Get("annotation")
	if key, ok := p.FindNodeLabel(label.Text("")); ok {
		p.number = func(node berth.Node) berth.ID { return node.Label(key) }
	}
	if key, ok := p.FindNodeAnnotation(annotation.Text("")); ok {
		if label.Exists() {
			annotation.Refuse("the number is in a label already")
		}
		p.number = func(node berth.Node) berth.ID { return node.Annotation(key) }
	}
	return c.Err()
}

// Score is the node's number; 0 if it has none. The manifest asks the host to scale the highest to 100.
func (p *NodeNumber) Score(_ berth.Pod, node berth.Node) int64 {
	n, err := strconv.ParseInt(p.Text(p.number(node)), 10, 64)
	if err != nil {
		return 0
	}
	return max(0, n)
}
