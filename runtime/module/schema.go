package module

import (
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
	// maxProblems is the number of mistakes reported for one configuration. maxProblem is the
	// size of each in bytes, with its path and remedy.
	maxProblems = 20
	maxProblem  = 256
)

// schema is a manifest's config schema (ABI-9.8). nil accepts only {}. It is safe for
// concurrent use.
type schema struct{ root *node }

// newSchema compiles a schema and returns warnings about it.
//
// # Errors
//
// The first mistake or exceeded limit, a *problem.
func newSchema(raw []byte) (s *schema, remarks []string, err error) {
	if len(raw) == 0 {
		return nil, nil, nil
	}
	value, err := parseJSON(raw)
	if err != nil {
		return nil, nil, err
	}
	root, ok := value.(map[string]any)
	if !ok {
		return nil, nil, &problem{detail: "the schema is not an object"}
	}
	if version, has := root["$schema"]; has && version != draft202012 {
		return nil, nil, &problem{path: "$schema", detail: show(version) + " is not supported", fix: "leave it out, or write " + strconv.Quote(draft202012) + " (ABI-9.8)"}
	}
	delete(root, "$schema")
	delete(root, "$id")
	c := &compiler{keywords: keywords(), parts: map[*node]map[string]*node{}, patterns: patterns{compiled: map[string]*pattern{}}}
	s = &schema{}
	if s.root, err = c.compile(root); err != nil {
		return nil, nil, err
	}
	for _, p := range c.remarks.list {
		remarks = append(remarks, plain.Cut("manifest: config: "+p.path+": "+p.detail+p.fix, maxProblem))
	}
	if c.remarked > len(remarks) {
		remarks = append(remarks, fmt.Sprintf("manifest: config: %d more remarks", c.remarked-len(remarks)))
	}
	return s, remarks, nil
}

// validate checks a value of parseJSON against the schema and returns the mistakes in the order
// of their paths.
func (s *schema) validate(value any) []problem {
	if s == nil {
		m, ok := value.(map[string]any)
		switch {
		case !ok:
			return []problem{{detail: "expected an object, found " + show(value), fix: "write {}"}}
		case len(m) > 0:
			return []problem{{path: plain.Cut(join("", keys(m)[0]), maxPath), detail: "the plugin takes no configuration: its manifest has no schema", fix: "remove it (ABI-9.8)"}}
		}
		return nil
	}
	instance, err := newInstance(value)
	if err != nil {
		return []problem{*err}
	}
	c := checker{left: maxSteps}
	return c.check(s.root, instance)
}

// check returns the mistakes in a value. It first checks whether the value fits, which needs no
// memory, and looks for the mistakes only if it does not.
func (c *checker) check(root *node, value any) []problem {
	var out findings
	out.most = maxProblems
	if c.within(func() bool { return c.eval(root, value, nil, nil) }) {
		return nil
	}
	if c.left >= 0 {
		c.within(func() bool { return c.eval(root, value, nil, &out) })
	}
	switch {
	case len(out.list) > 0:
		return out.list
	case c.left < 0:
		return []problem{{detail: fmt.Sprintf("checking it against the schema takes more than %d steps", maxSteps), fix: "make the configuration smaller, or let the plugin's author simplify the schema"}}
	}
	return []problem{{detail: "it does not fit the schema"}}
}

// tooMany describes an exceeded limit of ABI-10.
func tooMany(n int, what string) string {
	return fmt.Sprintf("more than %d %s (ABI-10)", n, what)
}
