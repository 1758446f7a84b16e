// Package tenantpool is a plugin that keeps the pods of a tenant's namespace on the nodes of
// the tenant's pools, with shared pools as fallback.
package tenantpool

import (
	_ "embed"
	"slices"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/config"
)

// Manifest is the plugin's manifest.
//
//go:embed manifest.json
var Manifest []byte

// ReasonWrongPool is the reason for rejecting a node.
const ReasonWrongPool = "node(s) didn't belong to the tenant's pool"

// TenantPool is the plugin.
type TenantPool struct {
	berth.Base
	pool  berth.NodeLabel
	wrong berth.Reason

	tenants map[string]pools
	others  pools
	anyNode bool // for namespaces without tenant

	own, fallback []berth.ID // of this call's pod
}

// pools is where the pods of a namespace may go.
type pools struct{ own, fallback []berth.Const }

var (
	_ berth.Configurer = (*TenantPool)(nil)
	_ berth.Preparer   = (*TenantPool)(nil)
	_ berth.Filterer   = (*TenantPool)(nil)
	_ berth.Scorer     = (*TenantPool)(nil)
)

// New returns the plugin.
func New() *TenantPool {
	b := berth.Load(Manifest)
	return &TenantPool{Base: b, pool: b.NodeLabel("berth.dev/pool"), wrong: b.Reason(ReasonWrongPool)}
}

// Configure reads where pods may go.
func (p *TenantPool) Configure(data []byte) error {
	c := config.Parse(data)
	c.Only("tenants", "shared", "others")
	shared := p.constants(c.Get("shared"))
	p.others, p.anyNode = pools{fallback: shared}, c.Get("others").Text("") == "any"
	p.tenants = map[string]pools{}
	for _, tenant := range c.Get("tenants").Fields() {
		tenant.Only("pools", "fallback")
		of := pools{own: p.constants(tenant.Get("pools"))}
		if tenant.Get("fallback").Bool(false) {
			of.fallback = shared
		}
		p.tenants[tenant.Key()] = of
	}
	return c.Err()
}

func (p *TenantPool) constants(texts config.Value) []berth.Const {
	var all []berth.Const
	for _, text := range texts.Elements() {
		all = append(all, p.Const(text.Text("")))
	}
	return all
}

// Prepare looks up the pools of the pod's namespace.
func (p *TenantPool) Prepare(pod berth.Pod) berth.Status {
	of, tenant := p.tenants[p.Text(pod.Namespace())]
	if !tenant {
		if p.anyNode {
			return berth.Skip
		}
		of = p.others
	}
	p.own, p.fallback = ids(p.own[:0], of.own), ids(p.fallback[:0], of.fallback)
	return berth.Success
}

// ids appends the ids of the pools that have nodes.
func ids(to []berth.ID, pools []berth.Const) []berth.ID {
	for _, pool := range pools {
		if id := pool.ID(); id != berth.Absent {
			to = append(to, id)
		}
	}
	return to
}

// Filter rejects nodes of other pools.
func (p *TenantPool) Filter(_ berth.Pod, node berth.Node) berth.Status {
	pool := node.Label(p.pool)
	if slices.Contains(p.own, pool) || slices.Contains(p.fallback, pool) {
		return berth.Success
	}
	// Other pods on the node do not matter, so preemption cannot help.
	return berth.UnschedulableAndUnresolvable(p.wrong)
}

// Score prefers the tenant's own nodes to shared ones.
func (p *TenantPool) Score(_ berth.Pod, node berth.Node) int64 {
	if slices.Contains(p.own, node.Label(p.pool)) {
		return 100
	}
	return 0
}
