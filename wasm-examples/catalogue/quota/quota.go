// Package quota is a plugin that lets namespaces use what ElasticQuota objects give them, and borrow what others do not use.
package quota

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

// Quota is the plugin.
type Quota struct {
	berth.Base
	name     berth.ObjectColumn
	min, max amounts
	limited  []limited
}

// amounts are the columns of a map of quantities by resource.
type amounts struct{ keys, values berth.ObjectColumn }

// limited is a resource that quotas limit.
type limited struct {
	resource          berth.Resource
	name              berth.Const
	thousandths       bool // it is counted in thousandths, as CPUs are
	beyond, borrowing berth.Reason
}

var (
	_ berth.Configurer  = (*Quota)(nil)
	_ berth.PreFilterer = (*Quota)(nil)
)

// New returns the plugin.
func New() *Quota {
	b := berth.Load(Manifest)
	return &Quota{
		Base: b, name: b.ObjectColumn("quota.metadata.name:string"),
		min: amounts{b.ObjectColumn("quota.spec.min[*].@key:string"), b.ObjectColumn("quota.spec.min[*]:quantity")},
		max: amounts{b.ObjectColumn("quota.spec.max[*].@key:string"), b.ObjectColumn("quota.spec.max[*]:quantity")},
	}
}

// Configure reads the resources.
func (p *Quota) Configure(data []byte) error {
	c := config.Parse(data)
	c.Only("resources")
	p.limited = nil
	names := []string{"cpu", "memory", "ephemeral-storage", "pods"}
	for _, e := range c.Get("resources").Elements() {
		names = append(names, e.Text(""))
	}
	seen := map[string]bool{}
	for _, name := range names {
		if r, ok := p.FindResource(name); ok && !seen[name] {
			seen[name] = true
			p.limited = append(p.limited, limited{
				resource: r, name: p.Const(name), thousandths: name == "cpu",
				beyond:    p.Reason("the namespace's quota has no more " + name),
				borrowing: p.Reason("the namespace has used the " + name + " of its quota, and other quotas have none to lend"),
			})
		}
	}
	return c.Err()
}

// PreFilter rejects a pod of a namespace with a quota if it would be beyond the quota's maximum; or beyond its minimum, if all quotas
// together would be beyond theirs. That does not depend on nodes, so preemption would not help.
func (p *Quota) PreFilter(pod berth.Pod, _ berth.Nodes) (*berth.Rows, berth.Status) {
	all := p.Snapshot().Namespaces()
	own, ok := all.Find(pod.Namespace())
	if !ok || !p.has(own) {
		return nil, berth.Success
	}
	for i := range p.limited {
		l := &p.limited[i]
		request := pod.Request(l.resource)
		if request <= 0 {
			continue
		}
		used := sum(own.Requested(l.resource), request)
		if most, limits := p.amount(own, p.max, l); limits && used > most {
			return nil, berth.UnschedulableAndUnresolvable(l.beyond)
		}
		if least, _ := p.amount(own, p.min, l); used > least && p.lent(all, l, request) {
			return nil, berth.UnschedulableAndUnresolvable(l.borrowing)
		}
	}
	return nil, berth.Success
}

// has reports whether a namespace has a quota.
func (p *Quota) has(n berth.Namespace) bool {
	names := n.ObjectTexts(p.name)
	return n.Name() != berth.Absent && len(names) > 0 && names[0] != berth.Absent
}

// lent reports whether a request of a resource would bring all namespaces with quotas beyond the sum of their minima. A resource of which
// no quota has a minimum is not lent.
func (p *Quota) lent(all berth.Namespaces, l *limited, request int64) bool {
	used, least, counts := request, int64(0), false
	for i := range all.Len() {
		n := all.At(i)
		if !p.has(n) {
			continue
		}
		used = sum(used, n.Requested(l.resource))
		amount, ok := p.amount(n, p.min, l)
		least, counts = sum(least, amount), counts || ok
	}
	return counts && used > least
}

// amount returns how much of a resource is in a map of a namespace's quota, in the unit of the resource; false if it is not there.
func (p *Quota) amount(n berth.Namespace, of amounts, l *limited) (int64, bool) {
	values := n.ObjectNumbers(of.values)
	for i, key := range n.ObjectTexts(of.keys) {
		if !l.name.Is(key) || i >= len(values) || values[i] < 0 {
			continue
		}
		amount := values[i]
		if !l.thousandths && amount < math.MaxInt64 {
			whole := amount / 1000
			if amount%1000 > 0 {
				whole++
			}
			amount = whole
		}
		return amount, true
	}
	return 0, false
}

// sum adds what is not below 0, and is at most the largest number, so that the order does not count.
func sum(a, b int64) int64 {
	a, b = max(a, 0), max(b, 0)
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
