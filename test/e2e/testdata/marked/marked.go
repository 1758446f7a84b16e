// Package marked is a tenant's plugin whose reasons and logs have a text that no other tenant may
// see.
package marked

import (
	_ "embed"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
)

//go:embed manifest.json
var manifest []byte

const marker = "zqmarker"

// Marked is the plugin.
type Marked struct {
	berth.Base
	pool berth.NodeLabel
	slow berth.Const
	why  berth.Reason
}

// New returns the plugin.
func New() *Marked {
	b := berth.Load(manifest)
	return &Marked{Base: b, pool: b.NodeLabel("berth.dev/pool"), slow: b.Const("slow"), why: b.Reason(marker + " is why")}
}

// Filter rejects slow nodes.
func (p *Marked) Filter(_ berth.Pod, node berth.Node) berth.Status {
	if node.Label(p.pool) != p.slow.ID() {
		return berth.Success
	}
	p.Log(berth.Warning, marker+" is what it says")
	return berth.Unschedulable(p.why)
}
