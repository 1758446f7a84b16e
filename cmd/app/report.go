package app

import (
	"errors"
	"fmt"
	"os"

	"github.com/berth-scheduler/berth/runtime/sim"
	"github.com/berth-scheduler/berth/runtime/sim/curve"
	"github.com/berth-scheduler/berth/runtime/sim/input"
)

// curveReport is the file of --report with the curve of a run; nil for none.
type curveReport struct {
	file  *os.File
	curve *curve.Curve
}

// checkReport rejects --report for runs that have no curve.
func (o *simulateOptions) checkReport() error {
	switch {
	case o.report == "":
		return nil
	case o.input.trace == "":
		return errors.New("--report needs a trace: add --trace openb --nodes FILE --pods FILE")
	case o.attempts != 1 || o.input.departures:
		return errors.New("--report needs pods that are tried once and do not leave: add --attempts 1, and remove --departures")
	}
	return nil
}

// newReport creates the file before the run starts, and registers it as the simulation's
// observer.
func newReport(file string, c *sim.Config, typical []input.TypicalPod) (*curveReport, error) {
	if file == "" {
		return nil, nil
	}
	f, err := os.Create(file)
	if err != nil {
		return nil, fmt.Errorf("--report: %w (name a file that can be written)", err)
	}
	r := &curveReport{f, curve.New(c.Nodes, typical)}
	c.Answered = r.curve.Answered
	return r, nil
}

// write writes the curve up to the last pod.
func (r *curveReport) write() error {
	if r == nil {
		return nil
	}
	if err := errors.Join(r.curve.WriteCSV(r.file), r.file.Close()); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}
