package noderesources

import (
	"math"

	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/quantity"
)

// BalancedName is the name of Balanced in a profile.
const BalancedName = "NodeResourcesBalancedAllocation"

// Balanced is the plugin NodeResourcesBalancedAllocation.
type Balanced struct {
	info    plugin.Info
	scored  []scored
	devices Devices
}

var (
	_ plugin.PreScore   = (*Balanced)(nil)
	_ plugin.Score      = (*Balanced)(nil)
	_ plugin.Aggregates = (*Balanced)(nil)
)

// NewBalanced returns the plugin. Without args it balances cpu and memory.
func NewBalanced(args *configv1.NodeResourcesBalancedAllocationArgs, devices Devices) (*Balanced, error) {
	b := &Balanced{devices: devices, info: plugin.Info{
		Name:       BalancedName,
		Reads:      plugin.Whole(abi.NodeAllocatable, abi.NodeRequested, abi.IncomingRequests),
		NodeScoped: []abi.Point{abi.Score},
	}}
	var specs []configv1.ResourceSpec
	if args != nil {
		specs = args.Resources
	}
	var err error
	b.scored, err = newScored(specs)
	return b, err
}

// Info describes the plugin.
func (b *Balanced) Info() *plugin.Info { return &b.info }

// PreScore skips pods that request none of the resources: they do not change the balance of any
// node, and would all go to the best balanced one.
func (b *Balanced) PreScore(c *plugin.Cycle, _ []uint32) *plugin.Status {
	asked := requestOf(c.Pod, b.scored, false, b.devices)
	if asked.none() {
		return plugin.NewStatus(abi.Skip)
	}
	c.State.Write(BalancedName, preScoreKey, asked)
	return nil
}

func (r request) none() bool {
	for i := range r {
		if r[i].amount != 0 {
			return false
		}
	}
	return true
}

// AppendAggregates appends what ends the reuse of answers if devices count.
func (b *Balanced) AppendAggregates(to []byte, c *plugin.Cycle) []byte {
	return appendCounted(to, c, b.scored, b.devices)
}

// Score compares how evenly a node's resources are used with and without the pod: 75 for no
// change, up to 100 if the pod restores the balance, down to 50 if it destroys it.
func (b *Balanced) Score(c *plugin.Cycle, rows []uint32, out []int64) *plugin.Status {
	asked, ok := c.State.Read(BalancedName, preScoreKey).(request)
	if !ok {
		if asked = requestOf(c.Pod, b.scored, false, b.devices); asked.none() {
			return nil
		}
	}
	var buf [fewResources]usage
	list := usages(buf[:0], &c.Snapshot.Nodes, c.Snapshot, b.scored, asked, false)
	var withBuf, withoutBuf [fewResources]float64
	const half = abi.MaxScore / 2
	for i, row := range rows {
		with, without := withBuf[:0], withoutBuf[:0]
		for j := range list {
			u := &list[j]
			capacity, allocated := u.allocatable[row], u.allocated[row]
			if capacity == 0 {
				if capacity, allocated = u.counted(row); capacity == 0 {
					continue
				}
			}
			with = append(with, min(1, float64(quantity.Sum(allocated, u.amount))/float64(capacity)))
			without = append(without, min(1, float64(allocated)/float64(capacity)))
		}
		out[i] = half + (half+evenness(with)-evenness(without))/2
	}
	return nil
}

// evenness is 100 × (1 − the standard deviation of the fractions), rounded down.
func evenness(fractions []float64) int64 {
	var deviation float64
	switch n := len(fractions); {
	case n == 2:
		deviation = math.Abs((fractions[0] - fractions[1]) / 2)
	case n > 2:
		var sum, squares float64
		for _, f := range fractions {
			sum += f
		}
		mean := sum / float64(n)
		for _, f := range fractions {
			squares += float64((f - mean) * (f - mean)) // the conversion keeps a compiler from fusing product and sum
		}
		deviation = math.Sqrt(squares / float64(n))
	}
	return int64((1 - deviation) * float64(abi.MaxScore))
}
