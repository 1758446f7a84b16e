package race

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/berth-scheduler/berth/test/internal/cluster"
)

// WritePairs writes what the plugins cost, as a table in Markdown: of each leg the ratios of
// Berth with plugins to Berth without, over pairs of runs that followed each other, as
// geometric means with their 95 % intervals. It writes nothing if there are no two pairs.
func WritePairs(w io.Writer, results []Result) error {
	var out strings.Builder
	for i := range results {
		leg := results[i].Leg.String()
		if first := indexOf(results, leg); first != i {
			continue
		}
		var with, without []Result
		for _, r := range results {
			switch {
			case r.Leg.String() != leg:
			case r.Scheduler == WithPlugins:
				with = append(with, r)
			case r.Scheduler == cluster.BerthProgram:
				without = append(without, r)
			}
		}
		n := min(len(with), len(without))
		if n < 2 {
			continue
		}
		if out.Len() == 0 {
			out.WriteString("\n| with plugins / without | pods | pairs | CPU a pod | 95 % | pods/s | 95 % | p99 | 95 % |\n|---|---|---:|---:|---:|---:|---:|---:|---:|\n")
		}
		fmt.Fprintf(&out, "| %s, %s nodes | %s | %d |", results[i].Leg.Mode, thousands(results[i].Leg.Nodes), results[i].Leg.Workload.Name, n)
		for _, figure := range []func(Result) float64{
			func(r Result) float64 { return r.CPUPerPod.Seconds() }, func(r Result) float64 { return r.PodsPerSecond },
			func(r Result) float64 { return r.P99.Seconds() },
		} {
			var logs []float64
			for j := range n {
				logs = append(logs, math.Log(figure(with[j])/figure(without[j])))
			}
			mean, half := interval(logs)
			fmt.Fprintf(&out, " %.2f | %.2f to %.2f |", math.Exp(mean), math.Exp(mean-half), math.Exp(mean+half))
		}
		out.WriteByte('\n')
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func indexOf(results []Result, leg string) int {
	for i := range results {
		if results[i].Leg.String() == leg {
			return i
		}
	}
	return -1
}

// interval returns the mean of at least two values and half the width of its 95 % interval, by
// Student's t.
func interval(values []float64) (mean, half float64) {
	n := float64(len(values))
	for _, v := range values {
		mean += v / n
	}
	sum := 0.0
	for _, v := range values {
		sum += (v - mean) * (v - mean)
	}
	return mean, student(len(values)-1) * math.Sqrt(sum/(n-1)/n)
}

// student returns the 97.5 % quantile of Student's t; for more than 10 degrees of freedom a
// value that is up to 1 % too large.
func student(degrees int) float64 {
	table := []float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228}
	if degrees <= len(table) {
		return table[degrees-1]
	}
	return 1.96 + 2.7/float64(degrees)
}
