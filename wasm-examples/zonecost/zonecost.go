// Package zonecost is a plugin that prefers nodes in cheap zones.
package zonecost

import (
	_ "embed"
	"math"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/config"
)

// Manifest is the plugin's manifest.
//
//go:embed manifest.json
var Manifest []byte

// ZoneCost is the plugin.
type ZoneCost struct {
	berth.Base
	zone berth.NodeLabel

	zones     []price
	elsewhere int64
}

// price is the price of a zone in millionths.
type price struct {
	zone berth.Const
	cost int64
}

const millionths = 1e6

var (
	_ berth.Configurer = (*ZoneCost)(nil)
	_ berth.Scorer     = (*ZoneCost)(nil)
)

// New returns the plugin.
func New() *ZoneCost {
	b := berth.Load(Manifest)
	return &ZoneCost{Base: b, zone: b.NodeLabel("topology.kubernetes.io/zone")}
}

// Configure reads the prices of zones, and that of other zones, which by default is the highest.
func (p *ZoneCost) Configure(data []byte) error {
	c := config.Parse(data)
	c.Only("zones", "default")
	p.zones, p.elsewhere = nil, 0
	for _, zone := range c.Get("zones").Fields() {
		price := price{zone: p.Const(zone.Key()), cost: cost(zone)}
		p.zones = append(p.zones, price)
		p.elsewhere = max(p.elsewhere, price.cost)
	}
	if other := c.Get("default"); other.Exists() {
		p.elsewhere = cost(other)
	}
	return c.Err()
}

// cost reads a price. Prices may be in any unit, but the same for all: only their ratios matter.
func cost(v config.Value) int64 {
	price := v.Float64(0)
	if price < 0 || price > 1e9 {
		v.Refuse("the price must be 0 to 1e9")
	}
	return int64(math.Round(price * millionths))
}

// Score is the price of the node's zone. The manifest asks the host to normalize it with
// `reverse`: a free zone gets 100, the most expensive 0.
func (p *ZoneCost) Score(_ berth.Pod, node berth.Node) int64 {
	zone := node.Label(p.zone)
	for i := range p.zones {
		if p.zones[i].zone.Is(zone) {
			return p.zones[i].cost
		}
	}
	return p.elsewhere
}
