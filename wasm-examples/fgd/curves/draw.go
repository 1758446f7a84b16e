package main

import (
	_ "embed"
	"fmt"
	"io"
	"strings"
	"text/template"
)

//go:embed curves.svg.tmpl
var drawing string

// panel is a diagram: a rectangle of the drawing, and its content.
type panel struct {
	Title                    string
	Left, Top, Width, Height float64 // in pixels
	XTicks, YTicks           []tick
	Lines                    []line
}

type tick struct {
	At   float64 // in pixels
	Text string
}

type line struct {
	Title, Color, Path string
	// The published mean and range in pixels, if the panel has them; and the position of the
	// line's title.
	Mark             bool
	X, Mean, Low, Up float64
	Label            float64
}

// axes are the ranges of a panel.
type axes struct{ fromX, toX, fromY, toY float64 }

func (p *panel) x(a axes, v float64) float64 { return p.Left + p.Width*(v-a.fromX)/(a.toX-a.fromX) }
func (p *panel) y(a axes, v float64) float64 { return p.Top + p.Height*(a.toY-v)/(a.toY-a.fromY) }

func (p *panel) ticks(a axes, stepX, stepY float64) {
	for v := a.fromX; v <= a.toX; v += stepX {
		p.XTicks = append(p.XTicks, tick{p.x(a, v), fmt.Sprintf("%.0f %%", v)})
	}
	for v := a.fromY; v <= a.toY; v += stepY {
		p.YTicks = append(p.YTicks, tick{p.y(a, v), fmt.Sprintf("%.0f %%", v)})
	}
}

// path returns a curve's line in a panel.
func (p *panel) path(a axes, points []point, value func(point) float64) string {
	var b strings.Builder
	for _, at := range points {
		x, y := float64(at.arrived), value(at)
		if x < a.fromX || x > a.toX || y < a.fromY || y > a.toY {
			continue
		}
		fmt.Fprintf(&b, "%c%.1f %.1f", "LM"[min(1, 1-min(b.Len(), 1))], p.x(a, x), p.y(a, y))
	}
	return b.String()
}

// draw draws what is allocated, where the policies differ, beside the published results; and
// what is fragmented.
func draw(w io.Writer, curves []curve) error {
	allocated := panel{Title: "allocated GPUs", Left: 60, Top: 60, Width: 360, Height: 300}
	fragmented := panel{Title: "GPUs that are a fragment", Left: 520, Top: 60, Width: 360, Height: 300}
	a, f := axes{80, 130, 80, 100}, axes{0, 130, 0, 20}
	allocated.ticks(a, 10, 5)
	fragmented.ticks(f, 20, 5)
	for _, p := range published() {
		of := ofPolicy(curves, p.policy)
		if len(of) == 0 {
			continue
		}
		points := means(of)
		last := points[len(points)-1]
		low, up := p.ends[0], p.ends[0]
		for _, v := range p.ends {
			low, up = min(low, v), max(up, v)
		}
		allocated.Lines = append(allocated.Lines, line{
			Title: p.title, Color: p.color, Path: allocated.path(a, points, func(at point) float64 { return at.allocated }),
			Mark: true, X: allocated.x(a, 130), Mean: allocated.y(a, p.mean()), Low: allocated.y(a, low), Up: allocated.y(a, up), Label: allocated.y(a, last.allocated),
		})
		fragmented.Lines = append(fragmented.Lines, line{
			Title: p.title, Color: p.color, Path: fragmented.path(f, points, func(at point) float64 { return at.fragmented }),
			X: fragmented.x(f, 130), Label: fragmented.y(f, last.fragmented),
		})
	}
	t, err := template.New("curves").Funcs(template.FuncMap{"add": func(x, y float64) float64 { return x + y }}).Parse(drawing)
	if err != nil {
		return err
	}
	return t.Execute(w, []panel{allocated, fragmented})
}
