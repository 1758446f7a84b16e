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

// Config is the plugin's configuration.
type Config struct {
	// Tenants has the namespaces with pools of their own.
	Tenants map[string]Tenant `json:"tenants"`
	// Shared are the pools that are open to all.
	Shared []string `json:"shared"`
	// Others says where pods of other namespaces may go: `shared` (the default), or `any` node.
	Others string `json:"others"`
}

// Tenant is what a namespace may use.
type Tenant struct {
	// Pools are values of the node label berth.dev/pool.
	Pools []string `json:"pools"`
	// Fallback also allows the shared pools. The tenant's own are preferred.
	Fallback bool `json:"fallback"`
}

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

// Configure reads a Config.
func (p *TenantPool) Configure(data []byte) error {
	c, err := config.Parse[Config](data)
	if err != nil {
		return err
	}
	shared := p.constants(c.Shared)
	p.others, p.anyNode = pools{fallback: shared}, c.Others == "any"
	p.tenants = make(map[string]pools, len(c.Tenants))
	for namespace, t := range c.Tenants {
		of := pools{own: p.constants(t.Pools)}
		if t.Fallback {
			of.fallback = shared
		}
		p.tenants[namespace] = of
	}
	return nil
}

func (p *TenantPool) constants(texts []string) []berth.Const {
	var all []berth.Const
	for _, text := range texts {
		all = append(all, p.Const(text))
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
