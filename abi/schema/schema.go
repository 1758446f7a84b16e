// Package schema checks configurations against the JSON Schema in a plugin's manifest (ABI-9.8), within
// bounds for any schema and configuration. Hosts and the tests of plugins share it, so that both
// refuse with the same words.
package schema

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/berth-scheduler/berth/internal/plain"
)

const draft202012 = "https://json-schema.org/draft/2020-12/schema"

// Checking a configuration is bounded for any schema and configuration, because both may come
// from a stranger.
const (
	// maxSteps bounds the work of one check. A step takes less than 0.1 µs: looking up a field,
	// comparing 16 bytes, counting four. Work that takes longer costs more steps.
	maxSteps = 10_000_000
	// stepsSchema is the cost of applying a schema to a value, stepsProblem the cost of
	// describing a mistake.
	stepsSchema, stepsProblem = 8, 256
	// MaxProblems is the number of mistakes reported for one configuration. MaxProblem is the
	// size of each in bytes, with its path and remedy.
	MaxProblems = 20
	MaxProblem  = 256
)

// Schema is a manifest's config schema (ABI-9.8). nil accepts only {}. It is safe for
// concurrent use.
type Schema struct{ root *node }

// New compiles a schema and returns warnings about it.
//
// # Errors
//
// The first mistake or exceeded limit, a *Problem.
func New(raw []byte) (s *Schema, remarks []string, err error) {
	if len(raw) == 0 {
		return nil, nil, nil
	}
	value, err := Parse(raw)
	if err != nil {
		return nil, nil, err
	}
	root, ok := value.(map[string]any)
	if !ok {
		return nil, nil, &Problem{Detail: "the schema is not an object"}
	}
	if version, has := root["$schema"]; has && version != draft202012 {
		return nil, nil, &Problem{Path: "$schema", Detail: Show(version) + " is not supported", Fix: "leave it out, or write " + strconv.Quote(draft202012) + " (ABI-9.8)"}
	}
	c := &compiler{keywords: keywords(), patterns: patterns{compiled: map[string]*pattern{}}}
	s = &Schema{}
	if s.root, err = c.compile(root); err != nil {
		return nil, nil, err
	}
	for _, p := range c.remarks.list {
		remarks = append(remarks, plain.Cut("manifest: config: "+p.Path+": "+p.Detail+p.Fix, MaxProblem))
	}
	if c.remarked > len(remarks) {
		remarks = append(remarks, fmt.Sprintf("manifest: config: %d more remarks", c.remarked-len(remarks)))
	}
	return s, remarks, nil
}

// Check checks a configuration in JSON and returns it in canonical form: compact, with sorted fields
// and unchanged numbers (ABI-9.8).
//
// # Errors
//
// All mistakes, joined, in the order of their paths. Each is a *Problem.
func (s *Schema) Check(raw []byte) ([]byte, error) {
	value, err := Parse(raw)
	if err != nil {
		return nil, err
	}
	problems := s.validate(value)
	if len(problems) == 0 {
		return Canonical(value)
	}
	errs := make([]error, len(problems))
	for i := range problems {
		errs[i] = &problems[i]
	}
	return nil, errors.Join(errs...)
}

// validate checks a value of Parse against the schema and returns the mistakes in the order
// of their paths.
func (s *Schema) validate(value any) []Problem {
	if s == nil {
		m, ok := value.(map[string]any)
		switch {
		case !ok:
			return []Problem{{Detail: "expected an object, found " + Show(value), Fix: "write {}"}}
		case len(m) > 0:
			return []Problem{{Path: plain.Cut(Join("", keys(m)[0]), MaxPath), Detail: "the plugin takes no configuration: its manifest has no schema", Fix: "remove it (ABI-9.8)"}}
		}
		return nil
	}
	instance, err := newInstance(value)
	if err != nil {
		return []Problem{*err}
	}
	c := checker{left: maxSteps}
	return c.check(s.root, instance)
}

// check returns the mistakes in a value. It first checks whether the value fits, which needs no
// memory, and looks for the mistakes only if it does not.
func (c *checker) check(root *node, value any) []Problem {
	var out findings
	out.most = MaxProblems
	if c.within(func() bool { return c.eval(root, value, nil) }) {
		return nil
	}
	if c.left >= 0 {
		c.within(func() bool { return c.eval(root, value, &out) })
	}
	switch {
	case len(out.list) > 0:
		return out.list
	case c.left < 0:
		return []Problem{{Detail: fmt.Sprintf("checking it against the schema takes more than %d steps", maxSteps), Fix: "make the configuration smaller, or let the plugin's author simplify the schema"}}
	}
	return []Problem{{Detail: "it does not fit the schema"}}
}

// tooMany describes an exceeded limit of ABI-10.
func tooMany(n int, what string) string {
	return fmt.Sprintf("more than %d %s (ABI-10)", n, what)
}
