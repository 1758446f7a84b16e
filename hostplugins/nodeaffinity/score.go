package nodeaffinity

import (
	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins/internal/nodeselector"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

const preScoreKey = "PreScore"

// preferred is what Score adds up, with strings resolved.
type preferred struct{ pod, added nodeselector.Preferences }

// Clone returns the value itself: it does not change after PreScore.
func (p *preferred) Clone() state.Value { return p }

func (n *NodeAffinity) resolvePreferred(c *plugin.Cycle) (*preferred, error) {
	for i := range c.Pod.Preferred {
		if err := c.Pod.Preferred[i].Err; err != nil {
			return nil, err
		}
	}
	return &preferred{
		pod:   nodeselector.Preferred(c.Pod.Preferred, c.Snapshot.Strings),
		added: nodeselector.Preferred(n.addedPreferred, c.Snapshot.Strings),
	}, nil
}

// PreScore skips pods without preferences. A preference that cannot be evaluated
// fails the attempt.
func (n *NodeAffinity) PreScore(c *plugin.Cycle, _ []uint32) *plugin.Status {
	if !n.hasPreferred && !prefers(c.Pod) {
		return plugin.NewStatus(abi.Skip)
	}
	p, err := n.resolvePreferred(c)
	if err != nil {
		return plugin.Fail(err)
	}
	c.State.Write(Name, preScoreKey, p)
	return nil
}

func prefers(pod *state.Pod) bool {
	a := pod.Object.Spec.Affinity
	return a != nil && a.NodeAffinity != nil && a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution != nil
}

// Score adds up the weights of the matching terms, including addedAffinity's.
func (n *NodeAffinity) Score(c *plugin.Cycle, rows []uint32, out []int64) *plugin.Status {
	p, ok := c.State.Read(Name, preScoreKey).(*preferred)
	if !ok {
		var err error
		if p, err = n.resolvePreferred(c); err != nil {
			return plugin.Fail(err)
		}
	}
	p.added.Score(c.Snapshot, rows, out)
	p.pod.Score(c.Snapshot, rows, out)
	return nil
}

// Normalize scales the scores in proportion so that the highest gets 100.
func (n *NodeAffinity) Normalize(_ *plugin.Cycle, _ []uint32, scores []int64) *plugin.Status {
	plugin.NormalizeMax(scores, false)
	return nil
}

// Scaling implements plugin.Scaler.
func (n *NodeAffinity) Scaling() (plugin.Scaling, bool) { return plugin.ToMax, true }
