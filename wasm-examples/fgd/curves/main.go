// Command curves compares runs of the experiment with its published results: it reads curves
// that `berth simulate --report` wrote to files named POLICY-SEED.csv, prints what is allocated
// at the end as Markdown tables, and draws the means as SVG.
package main

import (
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "curves: %v\n", err)
		os.Exit(2)
	}
}

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("curves", flag.ContinueOnError)
	svg := flags.String("svg", "", "draw the means of all seeds to this `FILE`")
	artefact := flags.String("published", "", "`FILE` analysis_allo_discrete.csv of the artefact: compare whole curves with it")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "usage: curves [-svg FILE] [-published FILE] POLICY-SEED.csv ...")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return fmt.Errorf("no curves: name files that berth simulate --report wrote, as fgd-42.csv")
	}
	var curves []curve
	for _, file := range flags.Args() {
		c, err := read(file)
		if err != nil {
			return err
		}
		curves = append(curves, c)
	}
	if err := printTables(stdout, curves); err != nil {
		return err
	}
	if *artefact != "" {
		if err := compare(stdout, curves, *artefact); err != nil {
			return err
		}
	}
	if *svg == "" {
		return nil
	}
	f, err := os.Create(*svg)
	if err != nil {
		return err
	}
	if err := draw(f, curves); err != nil {
		return fmt.Errorf("%s: %w", *svg, err)
	}
	return f.Close()
}

// printTables prints means, and each seed.
func printTables(w io.Writer, curves []curve) error {
	text := "| policy | seeds | allocated at 130 % | from, to | published | difference |\n|---|---:|---:|---:|---:|---:|\n"
	for _, p := range published() {
		of := ofPolicy(curves, p.policy)
		if len(of) == 0 {
			continue
		}
		var ends []float64
		for _, c := range of {
			ends = append(ends, c.end())
		}
		m := mean(ends)
		text += fmt.Sprintf("| %s | %d | %.2f %% | %.2f, %.2f | %.2f %% | %+.2f |\n", p.title, len(of), m, slices.Min(ends), slices.Max(ends), p.mean(), m-p.mean())
	}
	text += "\n| seed |"
	rule := "|---:|"
	for _, p := range published() {
		text += fmt.Sprintf(" %s | published |", p.title)
		rule += "---:|---:|"
	}
	text += "\n" + rule + "\n"
	for i := range seeds {
		seed := firstSeed + i
		line, some := fmt.Sprintf("| %d |", seed), false
		for _, p := range published() {
			at := slices.IndexFunc(curves, func(c curve) bool { return c.policy == p.policy && c.seed == seed })
			if at < 0 {
				line += fmt.Sprintf(" | %.2f |", p.ends[i])
				continue
			}
			some = true
			line += fmt.Sprintf(" %.2f | %.2f |", curves[at].end(), p.ends[i])
		}
		if some {
			text += line + "\n"
		}
	}
	_, err := io.WriteString(w, text)
	return err
}

func mean(values []float64) (m float64) {
	for _, v := range values {
		m += v / float64(len(values))
	}
	return math.Round(m*1e6) / 1e6
}
