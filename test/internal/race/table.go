package race

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-scheduler/berth/test/internal/cluster"
)

// column is a figure of a result, as the table has it.
type column struct {
	head   string
	figure func(Result) float64
	write  func(float64) string
}

func columns() []column {
	number := func(format string) func(float64) string {
		return func(x float64) string { return fmt.Sprintf(format, x) }
	}
	return []column{
		{"pods/s", func(r Result) float64 { return r.PodsPerSecond }, number("%.0f")},
		{"p50", func(r Result) float64 { return r.P50.Seconds() }, short},
		{"p99", func(r Result) float64 { return r.P99.Seconds() }, short},
		{"CPU ms a pod", func(r Result) float64 { return r.CPUPerPod.Seconds() * 1000 }, number("%.2f")},
		{"peak MiB", func(r Result) float64 { return float64(r.PeakMemory) / (1 << 20) }, number("%.0f")},
	}
}

// WriteTable writes the medians of repetitions as a table in Markdown, that of docs/race.md: a
// line for each leg, in the order of the results, with the schedulers side by side.
func WriteTable(w io.Writer, results []Result) error {
	type key struct {
		leg       string
		scheduler cluster.Program
	}
	groups := make(map[key][]Result)
	var legs []Leg
	var schedulers []cluster.Program
	for _, r := range results {
		k := key{r.Leg.String(), r.Scheduler}
		if !slices.ContainsFunc(legs, func(l Leg) bool { return l.String() == k.leg }) {
			legs = append(legs, r.Leg)
		}
		if !slices.Contains(schedulers, r.Scheduler) {
			schedulers = append(schedulers, r.Scheduler)
		}
		groups[k] = append(groups[k], r)
	}
	// In a fixed order, whichever came first.
	slices.SortFunc(schedulers, func(a, b cluster.Program) int { return strings.Compare(string(b), string(a)) })

	var out strings.Builder
	head, rule := []string{"pods"}, []string{"---", "---"}
	for _, c := range columns() {
		for i, scheduler := range schedulers {
			name := title(scheduler)
			if i == 0 {
				name = c.head + ": " + name
			}
			head, rule = append(head, name), append(rule, "---:")
		}
	}
	fmt.Fprintf(&out, "| | %s |\n|%s|\n", strings.Join(head, " | "), strings.Join(rule, "|"))
	last := ""
	for _, leg := range legs {
		how := fmt.Sprintf("%s, %s nodes", leg.Mode, thousands(leg.Nodes))
		line := []string{"", leg.Workload.Name}
		if how != last { // named once
			line[0], last = how, how
		}
		for _, c := range columns() {
			for _, scheduler := range schedulers {
				text := "" // it did not get that far
				if group := groups[key{leg.String(), scheduler}]; len(group) > 0 {
					text = c.write(median(group, c.figure))
				}
				line = append(line, text)
			}
		}
		fmt.Fprintf(&out, "| %s |\n", strings.Join(line, " | "))
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// title is the name of a scheduler in text.
func title(p cluster.Program) string {
	switch p {
	case cluster.BerthProgram:
		return "Berth"
	case WithPlugins:
		return "Berth with plugins"
	}
	return string(p)
}

// thousands renders a number with commas.
func thousands(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return thousands(n/1000) + fmt.Sprintf(",%03d", n%1000)
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
