package main

import (
	_ "embed"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"
)

//go:embed scale.md.tmpl
var page string

//go:embed scale.svg.tmpl
var drawing string

// write writes the page and its drawing into a folder.
func (p *report) write(dir string) error {
	for name, what := range map[string]struct {
		text string
		data any
	}{"scale.md": {page, p}, "scale.svg": {drawing, draw(p.Nodes)}} {
		t, err := template.New(name).Parse(what.text)
		if err != nil {
			return err
		}
		var b strings.Builder
		if err := t.Execute(&b, what.data); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(b.String()), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// The rectangle of the diagram, in pixels.
const left, top, width, height = 70.0, 20.0, 480.0, 320.0

type tick struct {
	At   float64
	Text string
}

type line struct {
	Title, Color, Path string
	Label              float64
}

type diagram struct {
	XTicks, YTicks []tick
	Lines          []line
}

// draw draws costs against nodes, both by powers of ten.
func draw(t *table) diagram {
	const fromY, toY = 1, 6 // powers of ten, in µs
	fromX, toX := 2.0, 5.0
	x := func(nodes float64) float64 { return left + width*(math.Log10(nodes)-fromX)/(toX-fromX) }
	y := func(us float64) float64 { return top + height*(toY-math.Log10(us))/(toY-fromY) }
	var d diagram
	for e := int(fromX); e <= int(toX); e++ {
		n := int(math.Pow10(e))
		d.XTicks = append(d.XTicks, tick{x(float64(n)), grouped(n)})
	}
	for e := fromY; e <= toY; e++ {
		us := math.Pow10(e)
		text := strconv.Itoa(int(us)) + " µs"
		if us >= 1000 {
			text = strconv.Itoa(int(us/1000)) + " ms"
		}
		d.YTicks = append(d.YTicks, tick{y(us), text})
	}
	colors := []string{"#b45309", "#dc2626", "#64748b", "#2563eb", "#059669", "#7c3aed"}
	last := math.Inf(1)
	for i := range t.ways {
		l := line{Title: t.ways[i], Color: colors[i%len(colors)]}
		for j, row := range t.rows {
			nodes, _ := strconv.Atoi(strings.ReplaceAll(row, ",", ""))
			us := float64(t.costs[j][i]) / 1000
			l.Path += fmt.Sprintf("%c%.1f %.1f", "ML"[min(j, 1)], x(float64(nodes)), y(us))
			l.Label = y(us)
		}
		if math.Abs(l.Label-last) < 14 { // two lines that end side by side
			l.Label = last + 14
		}
		last = l.Label
		d.Lines = append(d.Lines, l)
	}
	return d
}
