package extender

import (
	"sync"

	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// scale converts the scores of extenders, at most extenderv1.MaxExtenderPriority, to the scale
// of plugins.
const scale = abi.MaxScore / extenderv1.MaxExtenderPriority

// Scores are the scores of one extender.
type Scores struct {
	// Name is the extender's URL, without a password.
	Name string
	// Weight is the extender's weight, times the ratio of the scales.
	Weight int64
	// Scores has one element per row of the request, as returned by the extender.
	Scores []int64
}

// Prioritize calls the extenders that are interested in the cycle's pod, concurrently, to score
// rows. One that fails gives no scores; the others still count.
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
				e.deps.Log.Info("extender gave no scores", "extender", x.client.name, "pod", c.Pod.Key(), "error", err)
				return
			}
			answers[i] = scores
		})
	}
	calls.Wait()
	var out []Scores
	for i, x := range e.all {
		if answers[i] != nil {
			out = append(out, Scores{Name: x.client.name, Weight: x.config.Weight * scale, Scores: answers[i]})
		}
	}
	return out
}

// prioritize adds up the scores of each row. Scores of nodes outside the request are dropped.
func (x *extender) prioritize(c *plugin.Cycle, rows []uint32) ([]int64, error) {
	var result extenderv1.HostPriorityList
	if err := x.ask(c.Context, x.config.PrioritizeVerb, len(rows), x.args(c, rows), &result); err != nil {
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
