package extender

import (
	"sync"

	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// scale brings the scores of extenders, at most extenderv1.MaxExtenderPriority, to
// those of plugins.
const scale = abi.MaxScore / extenderv1.MaxExtenderPriority

// Scores is what one extender gives nodes.
type Scores struct {
	// Name is the extender's URL.
	Name string
	// Weight multiplies its scores, the difference in scale included.
	Weight int64
	// Scores has one element a row asked, as the extender gave them.
	Scores []int64
}

// Prioritize asks the extenders that are interested in the cycle's pod, all at a
// time, to rate rows. One that fails gives no scores: it may have an opinion, but
// others have too.
func (e *Extenders) Prioritize(c *plugin.Cycle, rows []uint32) []Scores {
	if e == nil {
		return nil
	}
	answers := make([][]int64, len(e.all))
	var calls sync.WaitGroup
	for i, x := range e.all {
		if x.config.PrioritizeVerb == "" || !x.interested(c.Pod) {
			continue
		}
		calls.Go(func() {
			scores, err := x.prioritize(c, rows)
			if err != nil {
				e.deps.Log.Info("extender gives no scores", "extender", x.config.URLPrefix, "pod", c.Pod.Key(), "error", err)
				return
			}
			answers[i] = scores
		})
	}
	calls.Wait()
	var out []Scores
	for i, x := range e.all {
		if answers[i] != nil {
			out = append(out, Scores{Name: x.config.URLPrefix, Weight: x.config.Weight * scale, Scores: answers[i]})
		}
	}
	return out
}

// prioritize adds up the scores of each row. Nodes that were not asked about count
// nowhere.
func (x *extender) prioritize(c *plugin.Cycle, rows []uint32) ([]int64, error) {
	var result extenderv1.HostPriorityList
	if err := x.client.call(c.Context, x.config.PrioritizeVerb, len(rows), x.args(c, rows), &result); err != nil {
		return nil, err
	}
	sums := make(map[string]int64, len(result))
	for i := range result {
		sums[result[i].Host] += result[i].Score
	}
	scores := make([]int64, len(rows))
	for i, row := range rows {
		scores[i] = sums[c.Snapshot.Name(row)]
	}
	return scores, nil
}
