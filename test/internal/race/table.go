package race

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/berth-scheduler/berth/test/internal/cluster"
)

// WriteTable writes the medians of repetitions as a table in Markdown, with a line
// for each leg and scheduler, in the order of the results.
func WriteTable(w io.Writer, results []Result) error {
	type key struct {
		leg       string
		scheduler cluster.Program
	}
	groups := make(map[key][]Result)
	var keys []key
	for _, r := range results {
		k := key{r.Leg.String(), r.Scheduler}
		if groups[k] == nil {
			keys = append(keys, k)
		}
		groups[k] = append(groups[k], r)
	}
	// The schedulers of a leg in one order, whoever came first.
	slices.SortStableFunc(keys, func(a, b key) int {
		if a.leg != b.leg {
			return 0
		}
		return -compare(a.scheduler, b.scheduler)
	})
	if _, err := fmt.Fprintln(w, "| pods | nodes | how they come | scheduler | pods/s | p50 | p99 | CPU ms/pod | peak MiB |\n|---|---:|---|---|---:|---:|---:|---:|---:|"); err != nil {
		return err
	}
	for _, k := range keys {
		group := groups[k]
		leg := group[0].Leg
		how := string(leg.Mode) + fmt.Sprintf(" of %d", leg.Pods)
		if _, err := fmt.Fprintf(w, "| %s | %d | %s | %s | %.0f | %s | %s | %.2f | %.0f |\n", leg.Workload.Name, leg.Nodes, how, k.scheduler,
			median(group, func(r Result) float64 { return r.PodsPerSecond }),
			short(median(group, func(r Result) float64 { return r.P50.Seconds() })),
			short(median(group, func(r Result) float64 { return r.P99.Seconds() })),
			median(group, func(r Result) float64 { return r.CPUPerPod.Seconds() * 1000 }),
			median(group, func(r Result) float64 { return float64(r.PeakMemory) / (1 << 20) }),
		); err != nil {
			return err
		}
	}
	return nil
}

func compare(a, b cluster.Program) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// median of a figure; of an even number of results the mean of the two in the
// middle.
func median(results []Result, figure func(Result) float64) float64 {
	var values []float64
	for _, r := range results {
		values = append(values, figure(r))
	}
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// short renders seconds.
func short(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", seconds)
}
