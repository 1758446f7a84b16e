package module

import (
	"fmt"
	"strconv"

	"github.com/berth-scheduler/berth/internal/plain"
)

const draft202012 = "https://json-schema.org/draft/2020-12/schema"

// Checking a configuration is bounded, whatever the schema and the configuration
// are: both may be a stranger's.
const (
	// maxSteps bounds the work of one check. A step takes less than 0.1 µs: a field
	// that is looked up, 16 bytes that are compared, four that are counted. What takes
	// longer is more steps.
	maxSteps = 10_000_000
	// stepsSchema is the steps of holding a schema against a value, stepsProblem those
	// of putting a mistake into words.
	stepsSchema, stepsProblem = 8, 256
	// maxProblems is how many mistakes of one configuration are told, maxProblem the
	// bytes of each, its path and what to do included.
	maxProblems = 20
	maxProblem  = 256
)

// schema is a manifest's config schema (ABI-9.8). nil accepts {} only. It is safe
// for concurrent use.
type schema struct{ root *node }

// newSchema compiles a schema and returns remarks on it.
//
// # Errors
//
// The first mistake or limit that is exceeded, a *problem.
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
		return nil, nil, &problem{detail: "the schema is no object"}
	}
	if version, has := root["$schema"]; has && version != draft202012 {
		return nil, nil, &problem{path: "$schema", detail: show(version) + " is not understood", fix: "leave it out, or write " + strconv.Quote(draft202012) + " (ABI-9.8)"}
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
		remarks = append(remarks, fmt.Sprintf("manifest: config: %d more keywords are unknown", c.remarked-len(remarks)))
	}
	return s, remarks, nil
}

// validate holds a value of parseJSON against the schema and returns what does
// not fit, in the order of the paths.
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

// check returns what is wrong with a value. It first asks whether it fits, which
// costs no memory, and looks for the mistakes only if it does not.
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
		return []problem{{detail: fmt.Sprintf("holding it against the schema takes more than %d steps", maxSteps), fix: "make the configuration smaller, or let the plugin's author simplify the schema"}}
	}
	return []problem{{detail: "it does not fit the schema"}}
}

// tooMany is the text of an exceeded limit of ABI-10.
func tooMany(n int, what string) string {
	return fmt.Sprintf("more than %d %s (ABI-10)", n, what)
}
