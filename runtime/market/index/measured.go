package index

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/berth-scheduler/berth/internal/plain"
)

// Conformed is the file that berth plugin conformance -o json writes.
type Conformed struct {
	// Module is the digest of the module that was tested.
	Module string `json:"module"`
	Conformance
}

// Benched is the file that berth plugin bench -o json writes.
type Benched struct {
	Module string  `json:"module"`
	Rows   []Bench `json:"rows"`
}

// Measured sets Conformance and Bench from the JSON of Conformed and Benched. If one of these is nil,
// what it would set stays. It refuses measurements of another module, and files
// without any, such as one in the place of the other.
func (v *Version) Measured(conformed, benched []byte) error {
	var c Conformed
	var b Benched
	err := errors.Join(
		v.measured("conformance", conformed, &c, &c.Module, func() bool { return c.Conformance == Conformance{} }),
		v.measured("bench", benched, &b, &b.Module, func() bool { return len(b.Rows) == 0 }),
	)
	if err != nil {
		return err
	}
	if conformed != nil {
		v.Conformance = &c.Conformance
	}
	if benched != nil {
		v.Bench = b.Rows
	}
	return nil
}

func (v *Version) measured(what string, text []byte, into any, module *string, empty func() bool) error {
	if text == nil {
		return nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("its %s: %s", what, plain.Line(err.Error(), 256))
	}
	if *module != v.Module {
		return fmt.Errorf("its %s is of another module: %s", what, plain.Quote(*module, 80))
	}
	if empty() {
		return fmt.Errorf("its %s has no results of berth plugin %s -o json", what, what)
	}
	return nil
}
