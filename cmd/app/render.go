package app

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/sim"
)

// printer writes lines of at most width characters where possible, and keeps the first
// error.
type printer struct {
	w     io.Writer
	width int
	err   error
}

func (p *printer) printf(format string, args ...any) { p.print(fmt.Sprintf(format, shown(args)...)) }

// print prints a text that shown has made safe.
func (p *printer) print(text string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, text)
	}
}

// text prints a wrapped paragraph.
func (p *printer) text(format string, args ...any) {
	p.print(wrap(fmt.Sprintf(format, shown(args)...), p.width) + "\n")
}

// maxShown is the longest text in a paragraph or a cell, in bytes; JSON has all of it.
const maxShown = 16 << 10

// shown shortens texts and escapes control characters that could disturb a terminal. Many texts come from modules.
func shown(values []any) []any {
	out := make([]any, len(values))
	for i, value := range values {
		switch v := value.(type) {
		case string:
			value = plain.Lines(v, maxShown)
		case error:
			value = plain.Lines(v.Error(), maxShown)
		case fmt.Stringer:
			value = plain.Lines(v.String(), maxShown)
		}
		out[i] = value
	}
	return out
}

// render prints a result as text.
func render(w io.Writer, width int, r *sim.Result, explain types.NamespacedName) error {
	p := &printer{w: w, width: width}
	s := r.Summary
	p.text("Placed %d of %s on %s with %s in %s (%.0f pods/s).",
		s.Scheduled, count(s.Pods, "pod"), count(s.Nodes, "node"), count(int(s.Attempts), "attempt"), seconds(s.Seconds), s.PodsPerSecond)
	p.printf("\n")
	p.usage(r.Usage)
	for _, l := range r.Load {
		p.text("By the model of %s, %s uses most, %d, and a node %d on average.", l.Feed, l.Busiest, l.Most, l.Mean)
		p.printf("\n")
	}
	p.pending(r.Unschedulable)
	p.evicted(r.Evicted)
	p.resizes(r.Resizes)
	p.attached(r.Attached)
	p.plugins(r.Plugins)
	p.trials("IN SHADOW", r.Trials, 10)
	if r.Explanation != nil {
		p.explain(explain, r.Explanation)
	}
	return p.err
}

func (p *printer) usage(usage []sim.Usage) {
	if len(usage) == 0 {
		return
	}
	peak := slices.ContainsFunc(usage, func(u sim.Usage) bool { return u.Peak != u.Requested })
	columns := []column{
		{head: "RESOURCE"}, {head: "ALLOCATABLE", numbers: true}, {head: "REQUESTED", numbers: true}, {head: "SHARE", numbers: true},
	}
	if peak {
		columns = append(columns, column{head: "AT PEAK", numbers: true})
	}
	rows := make([]table.Row, 0, len(usage))
	for _, u := range usage {
		row := table.Row{u.Resource, amount(u.Resource, u.Allocatable), amount(u.Resource, u.Requested), share(u.Requested, u.Allocatable)}
		if peak {
			row = append(row, share(u.Peak, u.Allocatable))
		}
		rows = append(rows, row)
	}
	p.table(columns, rows)
}

func (p *printer) plugins(plugins []sim.PluginUsage) {
	if len(plugins) == 0 {
		return
	}
	total, faults := 0.0, false
	profiles := make(map[string]bool)
	for _, u := range plugins {
		total += u.Seconds
		faults = faults || u.Faults != 0
		profiles[u.Profile] = true
	}
	sorted := slices.Clone(plugins)
	slices.SortStableFunc(sorted, func(a, b sim.PluginUsage) int { return cmp.Compare(b.Seconds, a.Seconds) })
	columns := []column{
		{head: "PLUGIN"}, {head: "CALLS", numbers: true}, {head: "ROWS", numbers: true}, {head: "REUSED", numbers: true},
		{head: "TIME", numbers: true}, {head: "SHARE", numbers: true},
	}
	if faults { // of guests, which are rare
		columns = slices.Insert(columns, 4, column{head: "FAULTS", numbers: true})
	}
	if len(profiles) > 1 {
		columns = slices.Insert(columns, 0, column{head: "PROFILE", least: 10})
	}
	rows := make([]table.Row, 0, len(sorted))
	for _, u := range sorted {
		row := table.Row{u.Name, u.Calls, u.Rows, u.Reused, seconds(u.Seconds), percent(u.Seconds, total)}
		if faults {
			row = slices.Insert(row, 4, any(u.Faults))
		}
		if len(profiles) > 1 {
			row = slices.Insert(row, 0, any(u.Profile))
		}
		rows = append(rows, row)
	}
	p.table(columns, rows)
	for _, u := range sorted {
		if u.FirstFault != "" {
			p.text("%s: %s, the first: %s", u.Name, count(int(u.Faults), "fault"), u.FirstFault)
		}
	}
}

// count is a number and a noun.
func count(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "y"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(noun, "y"))
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// namesInGroup is how many pods or nodes of a group are printed; JSON has all.
const namesInGroup = 3

// noBreak is a space that wrap does not break; tables print it as a space.
const noBreak = "\u00a0"

// some joins the first names of a list, and says how many more there are.
func some(names []string, separator string) string { return someOf(names, len(names), separator) }

// someOf is some for a list that contains only part of all names.
func someOf(names []string, all int, separator string) string {
	if all <= namesInGroup+1 && len(names) == all {
		return strings.Join(names, separator)
	}
	names = names[:min(namesInGroup, len(names))]
	return strings.Join(names, separator) + separator + fmt.Sprintf("…"+noBreak+"%d"+noBreak+"more", all-len(names))
}

// amount formats a quantity of a resource.
func amount(name v1.ResourceName, value int64) string {
	switch name {
	case v1.ResourceCPU:
		return fmt.Sprintf("%.1f cores", float64(value)/1000)
	case v1.ResourceMemory, v1.ResourceEphemeralStorage:
		return fmt.Sprintf("%.1f GiB", float64(value)/(1<<30))
	}
	return fmt.Sprint(value)
}

func share(part, whole int64) string { return percent(float64(part), float64(whole)) }

func percent(part, whole float64) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*part/whole)
}

// seconds formats a duration with three digits.
func seconds(s float64) string {
	unit := "s"
	switch {
	case s >= 999.5:
		return fmt.Sprintf("%.0f s", s)
	case s >= 0.9995:
	case s >= 0.9995e-3:
		s, unit = s*1e3, "ms"
	default:
		s, unit = s*1e6, "µs"
	}
	digits := 2
	if s > 0 {
		digits = min(max(2-int(math.Floor(math.Log10(s*1.0005))), 0), 2)
	}
	return fmt.Sprintf("%.*f %s", digits, s, unit)
}
