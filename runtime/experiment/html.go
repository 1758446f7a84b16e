package experiment

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"
	"time"

	"github.com/berth-scheduler/berth/internal/plain"
)

//go:embed report.html.tmpl
var page string

// maxRows is how many moves the page has; JSON has all.
const maxRows = 5000

// The size of a plot, in units of its view box.
const (
	plotWidth, plotHeight = 420.0, 160.0
	plotLeft, plotTop     = 48.0, 10.0
)

// plot is a diagram with a line for each side.
type plot struct {
	Title         string
	Before, After string // paths
	Y             []tick
	Start, End    string // of the x axis
}

type tick struct {
	At   float64
	Text string
}

// WriteHTML writes the report as one page without scripts, with plots.
func (r *Report) WriteHTML(w io.Writer) error {
	t, err := template.New("report").Funcs(template.FuncMap{
		"side":    func(f Fate) string { return f.text() },
		"percent": func(v float64) string { return fmt.Sprintf("%.1f %%", v) },
		"number":  func(v float64) string { return fmt.Sprintf("%.1f", v) },
		"duration": func(s float64) string {
			return time.Duration(s * float64(time.Second)).Round(10 * time.Millisecond).String()
		},
		"kinds": func(g Groups) map[string][]Group {
			return map[string][]Group{"controller": g.Controllers, "namespace": g.Namespaces, "node pool": g.Pools, "reason": g.Reasons}
		},
		"counted": counted,
		"time":    func(t time.Time) string { return t.Format(time.DateTime) },
		"index":   func(list []Resource, i int) Resource { return list[i] },
	}).Parse(page)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, struct {
		*Report
		Shown  []Move
		Hidden int
		Plots  []plot
	}{r, r.Moves[:min(len(r.Moves), maxRows)], max(0, len(r.Moves)-maxRows), r.plots()}); err != nil {
		return err
	}
	// A recording that was edited may have names that no API server takes.
	_, err = io.WriteString(w, plain.Lines(out.Bytes(), 3*out.Len()))
	return err
}

// Moved counts the changes in words; empty if there is none.
func (r *Report) Moved() string { return counted(r.Changes) }

func counted(changes map[Change]int) string {
	var out []string
	for _, c := range Changes() {
		if n := changes[c]; n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, c.text()))
		}
	}
	return strings.Join(out, ", ")
}

// faithful is which part of the pods a simulation must leave as recorded, so that nothing need be said of what it moves.
const faithful = 0.95

// Reproduced says in words how well the simulation with the recorded configuration repeats the recording.
func (r *Report) Reproduced() string {
	x := &r.Recording
	share := 1.0
	if x.Pods > 0 {
		share = float64(x.Same) / float64(x.Pods)
	}
	out := fmt.Sprintf("With the recorded configuration, the simulation left %d of %d pods as recorded (%.1f %%)", x.Same, x.Pods, math.Floor(float64(1000*share))/10)
	var others []string
	for _, c := range Changes() {
		if n := x.Others[c]; n > 0 {
			others = append(others, fmt.Sprintf("%d %s", n, strings.ToLower(string(c))))
		}
	}
	if len(others) > 0 {
		out += ", and the others otherwise: " + strings.Join(others, ", ")
	}
	if out += "."; share < faithful {
		out += " What follows compares two simulations, so read it with care."
	}
	return out
}

func (c Change) text() string {
	switch c {
	case Elsewhere:
		return "elsewhere"
	case Pending:
		return "now pending"
	case Placed:
		return "now placed"
	case Preempted:
		return "now preempted"
	case Spared:
		return "no longer preempted"
	}
	return string(c)
}

// text is the node of a side.
func (f *Fate) text() string {
	if f.Node == "" {
		return "none"
	}
	return f.Node
}

// plots draws the samples of both sides.
func (r *Report) plots() (out []plot) {
	if len(r.SamplesBefore) < 2 || len(r.SamplesAfter) < 2 {
		return nil
	}
	for i := range r.Before.Resources {
		name := string(r.Before.Resources[i].Resource)
		out = append(out,
			r.plot("Requested "+name+", percent", func(s *Sample) float64 { return s.Resources[i].Requested }),
			r.plot("Fragmented "+name+", percent", func(s *Sample) float64 { return s.Resources[i].Fragmented }))
	}
	return append(out,
		r.plot("Nodes with pods", func(s *Sample) float64 { return float64(s.NodesUsed) }),
		r.plot("Pending pods", func(s *Sample) float64 { return float64(s.Pending) }))
}

func (r *Report) plot(title string, value func(*Sample) float64) plot {
	most, end := 0.0, r.SamplesBefore[len(r.SamplesBefore)-1].X
	for _, side := range [][]Sample{r.SamplesBefore, r.SamplesAfter} {
		for i := range side {
			most = max(most, value(&side[i]))
			end = max(end, side[i].X)
		}
	}
	most = max(most, 1)
	path := func(side []Sample) string {
		var b strings.Builder
		for i := range side {
			x := plotLeft
			if end > 0 {
				x += float64(side[i].X / end * plotWidth)
			}
			y := plotTop + plotHeight - float64(value(&side[i])/most*plotHeight)
			verb := "L"
			if i == 0 {
				verb = "M"
			}
			fmt.Fprintf(&b, "%s%.1f %.1f", verb, x, y)
		}
		return b.String()
	}
	p := plot{Title: title, Before: path(r.SamplesBefore), After: path(r.SamplesAfter), Start: "0"}
	if p.End = fmt.Sprintf("%.0f pods", end); r.ByTime {
		p.End = time.Duration(end * float64(time.Second)).Round(time.Second).String()
	}
	for i := range 5 {
		share := float64(i) / 4
		p.Y = append(p.Y, tick{plotTop + plotHeight - float64(share*plotHeight), fmt.Sprintf("%.4g", float64(share*most))})
	}
	return p
}
