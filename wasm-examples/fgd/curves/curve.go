package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// point is a row of a file: all in percent.
type point struct {
	arrived               int
	allocated, fragmented float64
}

// curve is the curve of one run.
type curve struct {
	policy string
	seed   int
	points []point
}

// end returns what is allocated at the end.
func (c curve) end() float64 { return c.points[len(c.points)-1].allocated }

func (c curve) published() (policy, bool) {
	all := published()
	i := slices.IndexFunc(all, func(p policy) bool { return p.policy == c.policy })
	if i < 0 {
		return policy{}, false
	}
	return all[i], true
}

func ofPolicy(curves []curve, name string) (of []curve) {
	for _, c := range curves {
		if c.policy == name {
			of = append(of, c)
		}
	}
	return of
}

// read reads a file, whose name gives the policy and the seed.
func read(file string) (curve, error) {
	base := strings.TrimSuffix(filepath.Base(file), ".csv")
	at := strings.LastIndexByte(base, '-')
	seed, err := strconv.Atoi(base[at+1:])
	c := curve{policy: base[:max(at, 0)], seed: seed}
	if _, known := c.published(); err != nil || !known {
		return c, fmt.Errorf("%s: the name is not fgd-SEED.csv, best-fit-SEED.csv or random-fit-SEED.csv", file)
	}
	f, err := os.Open(file)
	if err != nil {
		return c, err
	}
	defer f.Close() //nolint:errcheck // it was read only
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return c, fmt.Errorf("%s: %w", file, err)
	}
	if len(rows) == 0 {
		return c, fmt.Errorf("%s: it is empty", file)
	}
	for i, row := range rows {
		if i == 0 {
			if len(row) < 3 || !slices.Equal(row[:3], []string{"arrived", "allocated", "fragmented"}) {
				return c, fmt.Errorf("%s:1: it is not a curve of berth simulate --report: the columns are %v", file, row)
			}
			continue
		}
		arrived, err1 := strconv.Atoi(row[0])
		allocated, err2 := strconv.ParseFloat(row[1], 64)
		fragmented, err3 := strconv.ParseFloat(row[2], 64)
		for _, err := range []error{err1, err2, err3} {
			if err != nil {
				return c, fmt.Errorf("%s:%d: %w", file, i+1, err)
			}
		}
		c.points = append(c.points, point{arrived, allocated, fragmented})
	}
	if len(c.points) == 0 {
		return c, fmt.Errorf("%s: the curve is empty", file)
	}
	return c, nil
}

// means returns the mean curve, as far as all curves go.
func means(curves []curve) (points []point) {
	for i := range curves[0].points {
		p := point{arrived: curves[0].points[i].arrived}
		for _, c := range curves {
			if i >= len(c.points) {
				return points
			}
			p.allocated += c.points[i].allocated / float64(len(curves))
			p.fragmented += c.points[i].fragmented / float64(len(curves))
		}
		points = append(points, p)
	}
	return points
}
