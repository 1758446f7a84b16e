package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
)

// The seeds of the published runs.
const (
	firstSeed = 42
	seeds     = 10
)

// policy is one of the policies with its published results: the allocation in percent when 130
// % of the GPUs were requested, by seed (column 130 of
// experiments/analysis/expected_results/analysis_allo_discrete.csv in
// github.com/hkust-adsl/kubernetes-scheduler-simulator, the artefact of Weng et al., USENIX ATC
// 2023; workload openb_pod_list_default).
type policy struct {
	policy, title, artefact, color string
	ends                           [seeds]float64
}

func (p policy) mean() float64 { return mean(p.ends[:]) }

func published() []policy {
	return []policy{
		{"fgd", "FGD", "06-FGD", "#1b7837", [seeds]float64{95.29, 95.32, 95.44, 95.48, 95.49, 95.27, 95.37, 95.47, 95.35, 95.43}},
		{"best-fit", "Best-Fit", "05-BestFit", "#2166ac", [seeds]float64{93.13, 93.25, 93.09, 93.14, 93.19, 93.04, 92.95, 93.21, 92.87, 92.89}},
		{"random-fit", "Random", "01-Random", "#b35806", [seeds]float64{87.26, 88.03, 87.83, 87.36, 87.48, 87.41, 87.81, 87.07, 87.31, 87.14}},
	}
}

// compare prints how far the curves deviate from the artefact's.
func compare(w io.Writer, curves []curve, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it was read only
	r := csv.NewReader(f)
	header, err := r.Read()
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	column := make(map[string]int)
	for i, name := range header {
		column[name] = i
	}
	fmt.Fprintln(w)
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		field := func(name string) string {
			if i, ok := column[name]; ok {
				return row[i]
			}
			return ""
		}
		for _, c := range curves {
			if p, ok := c.published(); !ok || field("workload") != "openb_pod_list_default" || field("sc_policy") != p.artefact || field("seed") != strconv.Itoa(c.seed) {
				continue
			}
			most, n := 0.0, 0
			for _, at := range c.points {
				v, err := strconv.ParseFloat(field(strconv.Itoa(at.arrived)), 64)
				if err != nil {
					return fmt.Errorf("%s: column %d: %w", file, at.arrived, err)
				}
				most, n = max(most, math.Abs(v-at.allocated)), n+1
			}
			fmt.Fprintf(w, "%s, seed %d: the curves differ by at most %.2f in %d columns\n", c.policy, c.seed, most, n)
		}
	}
}
