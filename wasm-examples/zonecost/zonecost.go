// Package zonecost is a plugin that prefers nodes in cheap zones.
package zonecost

import (
	_ "embed"
	"errors"
	"maps"
	"math"
	"slices"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/config"
)

// Manifest is the plugin's manifest.
//
//go:embed manifest.json
var Manifest []byte

// Config is the plugin's configuration. Prices may be in any unit, but the same for all: only
// their ratios matter.
type Config struct {
	// Zones has the price of each zone.
	Zones map[string]float64 `json:"zones"`
	// Default is the price of other zones; the default is that of the most expensive zone.
	Default *float64 `json:"default"`
}

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

// Configure reads a Config.
func (p *ZoneCost) Configure(data []byte) error {
	c, err := config.Parse[Config](data)
	if err != nil {
		return err
	}
	p.zones, p.elsewhere = nil, 0
	for _, zone := range slices.Sorted(maps.Keys(c.Zones)) {
		cost := c.Zones[zone]
		if cost < 0 || cost > 1e9 {
			return errors.New("zones: " + zone + ": the price must be 0 to 1e9")
		}
		price := price{zone: p.Const(zone), cost: int64(math.Round(cost * millionths))}
		p.zones = append(p.zones, price)
		p.elsewhere = max(p.elsewhere, price.cost)
	}
	if c.Default != nil {
		if *c.Default < 0 || *c.Default > 1e9 {
			return errors.New("default: the price must be 0 to 1e9")
		}
		p.elsewhere = int64(math.Round(*c.Default * millionths))
	}
	return nil
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
