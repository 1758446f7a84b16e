package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// write writes a curve with a given allocation at the end.
func write(t *testing.T, name string, end float64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	text := "arrived,allocated,fragmented,fragmented_of_idle\n0,0.25,13.9,14\n90,88.5,5,40\n130," + fmt.Sprint(end) + ",4.7,99\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestTables: means, ranges and seeds beside the published ones.
func TestTables(t *testing.T) {
	var out strings.Builder
	svg := filepath.Join(t.TempDir(), "out.svg")
	if err := run([]string{"-svg", svg, write(t, "fgd-42.csv", 95.25), write(t, "fgd-43.csv", 95.35), write(t, "best-fit-42.csv", 93.5)}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\n| FGD | 2 | 95.30 % | 95.25, 95.35 | 95.39 % | -0.09 |\n", "\n| Best-Fit | 1 | 93.50 % | 93.50, 93.50 | 93.08 % | +0.42 |\n",
		"\n| 42 | 95.25 | 95.29 | 93.50 | 93.13 | | 87.26 |\n", "\n| 43 | 95.35 | 95.32 | | 93.25 | | 88.03 |\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("there is no line %q in\n%s", want, out.String())
		}
	}
	drawn, err := os.ReadFile(svg)
	if err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(string(drawn))); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	// Two panels with a line per policy: 90 % arrived and 88.5 % allocated is 1/5 from the left
	// and 8.5/20 up.
	if got := strings.Count(string(drawn), `fill="none"`); got != 4 || !strings.Contains(string(drawn), "132.0 232.5") {
		t.Errorf("%d lines are drawn:\n%s", got, drawn)
	}
}

// TestCompare: the largest difference from the artefact's curve.
func TestCompare(t *testing.T) {
	file := filepath.Join(t.TempDir(), "published.csv")
	rows := "workload,sc_policy,tune,seed,total_gpus,0,90,130\nopenb_pod_list_cpu050,06-FGD,1.3,42,6212,9,9,9\nopenb_pod_list_default,06-FGD,1.3,42,6212,0.25,88.62,95.29\n"
	if err := os.WriteFile(file, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := run([]string{"-published", file, write(t, "fgd-42.csv", 95.25), write(t, "fgd-43.csv", 95.25)}, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(out.String(), "\n\nfgd, seed 42: the curves differ by at most 0.12 in 3 columns\n") {
		t.Errorf("it prints\n%s", out.String())
	}
}

// TestPublished: the means equal those of the paper's artefact.
func TestPublished(t *testing.T) {
	for i, want := range []float64{95.39, 93.08, 87.47} {
		if p := published()[i]; math.Abs(p.mean()-want) > 0.005 {
			t.Errorf("the mean of %s is %.3f, want %.2f", p.title, p.mean(), want)
		}
	}
}

// TestRefuses: the error names what cannot be read.
func TestRefuses(t *testing.T) {
	dir := t.TempDir()
	broken := filepath.Join(dir, "fgd-42.csv")
	for text, want := range map[string]string{
		"":        "it is empty",
		"a,b,c\n": "fgd-42.csv:1: it is not a curve of berth simulate --report",
		"arrived,allocated,fragmented,fragmented_of_idle\n":          "the curve is empty",
		"arrived,allocated,fragmented,fragmented_of_idle\nx,1,1,1\n": "fgd-42.csv:2: ",
		"arrived,allocated,fragmented,fragmented_of_idle\n1,1,,\n":   "fgd-42.csv:2: ",
	} {
		if err := os.WriteFile(broken, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := run([]string{broken}, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	for _, args := range [][]string{nil, {"other-42.csv"}, {"fgd.csv"}, {filepath.Join(dir, "fgd-7.csv")}} {
		if err := run(args, io.Discard); err == nil {
			t.Errorf("%v is accepted", args)
		}
	}
}
