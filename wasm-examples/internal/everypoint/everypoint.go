package everypoint

import (
	_ "embed"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/config"
)

// Manifest is the plugin's manifest.
//
//go:embed manifest.json
var Manifest []byte

const prefix = "everypoint.berth.dev/"

// EveryPoint is the plugin.
type EveryPoint struct {
	berth.Base
	published berth.Published
	note      berth.NodeAnnotation
	disk      berth.NodeLabel
	ready     berth.NodeCondition
	app       berth.PodLabel
	team      berth.NamespaceLabel
	cpu       berth.Resource
	usage     berth.Feed
	slotNames berth.ObjectColumn
	slotSizes berth.ObjectColumn
	maxKeys   berth.ObjectColumn
	maxima    berth.ObjectColumn
	memory    berth.Resource
	peer      berth.PodAnnotation
	maxPeers  berth.PodAnnotation
	yes       berth.Const
	keys      keys
	tooMany   berth.Reason
	at        at

	number float64

	rows  berth.Rows
	state []byte // scratch
}

// keys are keys of labels, whose ids find them.
type keys struct{ app, disk, team berth.Const }

// at has the annotation of each point.
type at struct {
	preEnqueue, queueKey, hint, preFilter, filter, postFilter berth.PodAnnotation
	preScore, score, normalize, reserve, unreserve, permit    berth.PodAnnotation
	preBind, bind, postBind                                   berth.PodAnnotation
}

var (
	_ berth.Configurer   = (*EveryPoint)(nil)
	_ berth.Preparer     = (*EveryPoint)(nil)
	_ berth.PreEnqueuer  = (*EveryPoint)(nil)
	_ berth.QueueKeyer   = (*EveryPoint)(nil)
	_ berth.Hinter       = (*EveryPoint)(nil)
	_ berth.PreFilterer  = (*EveryPoint)(nil)
	_ berth.PodAdder     = (*EveryPoint)(nil)
	_ berth.Filterer     = (*EveryPoint)(nil)
	_ berth.PostFilterer = (*EveryPoint)(nil)
	_ berth.PreScorer    = (*EveryPoint)(nil)
	_ berth.Scorer       = (*EveryPoint)(nil)
	_ berth.Normalizer   = (*EveryPoint)(nil)
	_ berth.Reserver     = (*EveryPoint)(nil)
	_ berth.Unreserver   = (*EveryPoint)(nil)
	_ berth.Permitter    = (*EveryPoint)(nil)
	_ berth.PreBinder    = (*EveryPoint)(nil)
	_ berth.Binder       = (*EveryPoint)(nil)
	_ berth.PostBinder   = (*EveryPoint)(nil)
)

// New returns the plugin.
func New() *EveryPoint {
	b := berth.Load(Manifest)
	key := func(name string) berth.PodAnnotation { return b.PodAnnotation(prefix + name) }
	return &EveryPoint{
		Base: b, published: b.Published("publisher/plan"), note: b.NodeAnnotation(prefix + "note"), disk: b.NodeLabel("disk"),
		ready: b.NodeCondition("Ready"), app: b.PodLabel("app"), team: b.NamespaceLabel("team"), cpu: b.Resource("cpu"), usage: b.Feed("node.cpu.usage:milli"),
		slotNames: b.ObjectColumn("box.spec.slots[*].name:string"), slotSizes: b.ObjectColumn("box.spec.slots[*].size:quantity"),
		maxKeys: b.ObjectColumn("quota.spec.max[*].@key:string"), maxima: b.ObjectColumn("quota.spec.max[*]:quantity"),
		memory: b.Resource("memory"), peer: key("peer"), maxPeers: key("max-peers"),
		yes: b.Const("true"), keys: keys{b.Const("app"), b.Const("disk"), b.Const("team")}, tooMany: b.Reason("too many peers"),
		at: at{
			preEnqueue: key("pre-enqueue"), queueKey: key("queue-key"), hint: key("hint"), preFilter: key("pre-filter"),
			filter: key("filter"), postFilter: key("post-filter"), preScore: key("pre-score"), score: key("score"),
			normalize: key("normalize"), reserve: key("reserve"), unreserve: key("unreserve"), permit: key("permit"),
			preBind: key("pre-bind"), bind: key("bind"), postBind: key("post-bind"),
		},
	}
}

// Configure refuses what the configuration must not be.
func (p *EveryPoint) Configure(data []byte) error {
	c := config.Parse(data)
	c.Only("numbers", "flags", "number")
	p.number = c.Get("number").Float64(0)
	for _, n := range c.Get("numbers").Elements() {
		n.Int64(0)
	}
	for _, flag := range c.Get("flags").Fields() {
		flag.Bool(false)
	}
	return c.Err()
}
