package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/sim"
)

// Limits of the readable output; JSON has everything.
const (
	maxGroups    = 20 // groups of pending pods
	namesInGroup = 3  // pods or nodes named in a group
	textWidth    = 90 // of messages in tables, in characters
)

// printer writes and keeps the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// table prints rows under a header, columns of numbers aligned to the right.
func (p *printer) table(header table.Row, rows []table.Row, numbers ...int) {
	t := table.NewWriter()
	style := table.StyleLight
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Format.Header = text.FormatDefault
	t.SetStyle(style)
	configs := make([]table.ColumnConfig, len(header))
	for i := range header {
		configs[i] = table.ColumnConfig{Number: i + 1, WidthMax: textWidth, WidthMaxEnforcer: text.WrapSoft}
		if slices.Contains(numbers, i+1) {
			configs[i].Align, configs[i].AlignHeader = text.AlignRight, text.AlignRight
		}
	}
	t.SetColumnConfigs(configs)
	t.AppendHeader(header)
	t.AppendRows(rows)
	for _, line := range strings.Split(t.Render(), "\n") {
		p.printf("%s\n", strings.TrimRight(line, " "))
	}
	p.printf("\n")
}

// render prints a result for people.
func render(w io.Writer, r *sim.Result, explain types.NamespacedName) error {
	p := &printer{w: w}
	s := r.Summary
	p.printf("Placed %d of %s on %s with %s in %s (%.0f pods/s).\n\n",
		s.Scheduled, count(s.Pods, "pod"), count(s.Nodes, "node"), count(int(s.Attempts), "attempt"), seconds(s.Seconds), s.PodsPerSecond)
	p.usage(r.Usage)
	p.pending(r.Unschedulable)
	p.plugins(r.Plugins)
	if r.Explanation != nil {
		p.explain(explain, r.Explanation)
	}
	return p.err
}

func (p *printer) usage(usage []sim.Usage) {
	rows := make([]table.Row, 0, len(usage))
	peak := false
	for _, u := range usage {
		peak = peak || u.Peak != u.Requested
	}
	for _, u := range usage {
		row := table.Row{u.Resource, amount(u.Resource, u.Allocatable), amount(u.Resource, u.Requested), share(u.Requested, u.Allocatable)}
		if peak {
			row = append(row, share(u.Peak, u.Allocatable))
		}
		rows = append(rows, row)
	}
	header := table.Row{"RESOURCE", "ALLOCATABLE", "REQUESTED", "SHARE"}
	if peak {
		header = append(header, "AT PEAK")
	}
	p.table(header, rows, 2, 3, 4, 5)
}

// pending prints the pods that were not placed, those with equal messages
// together, the largest group first.
func (p *printer) pending(pods []sim.Pending) {
	if len(pods) == 0 {
		return
	}
	groups := make(map[string][]string)
	for _, pod := range pods {
		groups[pod.Message] = append(groups[pod.Message], pod.Namespace+"/"+pod.Pod)
	}
	messages := make([]string, 0, len(groups))
	for message := range groups {
		messages = append(messages, message)
	}
	slices.SortFunc(messages, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(groups[b]), len(groups[a])), cmp.Compare(groups[a][0], groups[b][0]))
	})
	var rows []table.Row
	rest := 0
	for i, message := range messages {
		if i >= maxGroups {
			rest += len(groups[message])
			continue
		}
		rows = append(rows, table.Row{len(groups[message]), some(groups[message], "\n"), message})
	}
	p.printf("%s not placed:\n\n", count(len(pods), "pod"))
	p.table(table.Row{"PODS", "NAMES", "WHY"}, rows, 1)
	if rest > 0 {
		p.printf("… and %s for %d other reasons; -o json lists all.\n\n", count(rest, "pod"), len(messages)-maxGroups)
	}
}

func (p *printer) plugins(plugins []sim.PluginUsage) {
	total := 0.0
	profiles := make(map[string]bool)
	for _, u := range plugins {
		total += u.Seconds
		profiles[u.Profile] = true
	}
	sorted := slices.Clone(plugins)
	slices.SortStableFunc(sorted, func(a, b sim.PluginUsage) int { return cmp.Compare(b.Seconds, a.Seconds) })
	rows := make([]table.Row, 0, len(sorted))
	for _, u := range sorted {
		name := u.Name
		if len(profiles) > 1 {
			name = u.Profile + "/" + name
		}
		rows = append(rows, table.Row{name, u.Calls, u.Rows, seconds(u.Seconds), percent(u.Seconds, total)})
	}
	p.table(table.Row{"PLUGIN", "CALLS", "ROWS", "TIME", "SHARE"}, rows, 2, 3, 4, 5)
}

// count is a number and a noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// some joins the first names of a list and tells how many there are besides.
func some(names []string, separator string) string {
	if len(names) <= namesInGroup+1 {
		return strings.Join(names, separator)
	}
	return strings.Join(names[:namesInGroup], separator) + separator + fmt.Sprintf("… %d more", len(names)-namesInGroup)
}

// amount writes a quantity as people write it.
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

// seconds writes a duration with three digits.
func seconds(s float64) string {
	d := time.Duration(s * float64(time.Second))
	for unit := time.Second; unit >= time.Microsecond; unit /= 1000 {
		if d >= unit {
			return d.Round(unit / 100).String()
		}
	}
	return d.String()
}
