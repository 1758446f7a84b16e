package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/berth-scheduler/berth/test/internal/mutate"
)

// tally is how many mistakes of a subject there are.
type tally struct{ all, drawn, equivalent int }

// tallies returns the tally of each subject.
func tallies() (map[string]tally, error) {
	changes, err := read()
	out := map[string]tally{}
	for i := range changes {
		c := &changes[i]
		n := out[c.Subject]
		n.all++
		if drawn(c) {
			n.drawn++
		}
		if c.Why != "" {
			n.equivalent++
		}
		out[c.Subject] = n
	}
	return out, err
}

// drawn reports whether an operator made a mistake.
func drawn(c *mutate.Change) bool {
	operator, _, _ := strings.Cut(c.Mistake, ": ")
	switch operator {
	case "comparison", "bound", "constant", "dropped call":
		return true
	}
	return false
}

// count prints a table of all mistakes.
func count(stdout io.Writer) error {
	of, err := tallies()
	if err != nil {
		return err
	}
	all := tally{}
	fmt.Fprint(stdout, "| in | mistakes | drawn | equivalent |\n|---|---:|---:|---:|\n")
	for _, subject := range subjects() {
		n := of[subject]
		fmt.Fprintf(stdout, "| %s | %d | %d | %d |\n", subject, n.all, n.drawn, n.equivalent)
		all.all, all.drawn, all.equivalent = all.all+n.all, all.drawn+n.drawn, all.equivalent+n.equivalent
	}
	_, err = fmt.Fprintf(stdout, "| all | %d | %d | %d (%.1f %%) |\n", all.all, all.drawn, all.equivalent, percent(all))
	return err
}

func percent(n tally) float64 { return 100 * float64(n.equivalent) / float64(n.all) }
