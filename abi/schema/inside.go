package schema

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/berth-scheduler/berth/internal/nearest"
)

// inside checks the fields of an object or the elements of a list.
func (c *checker) inside(n *node, value any, seen evaluated, out *findings) bool {
	switch v := value.(type) {
	case *object:
		ok := c.needed(n, v, out)
		if !ok && (out == nil || out.full()) {
			return false
		}
		return c.fields(n, v, seen, out) && ok
	case []any:
		return c.elements(n, v, seen, out)
	}
	return true
}

// needed checks that the required fields are present.
func (c *checker) needed(n *node, v *object, out *findings) bool {
	ok := true
	missing := func(name string, why string) {
		c.spend(1 + len(name)/16)
		if !v.has(name) {
			ok = c.fail(out, func() (string, string) { return "the field " + Show(name) + " is missing" + why, "" })
		}
	}
	for _, name := range n.required {
		if missing(name, ""); !ok && out == nil {
			return false
		}
	}
	for _, d := range n.dependentRequired {
		c.spend(1 + len(d.name)/16)
		if !v.has(d.name) {
			continue
		}
		for _, name := range d.required {
			if missing(name, ", which "+Show(d.name)+" needs"); !ok && out == nil {
				return false
			}
		}
	}
	return c.sized(n.properties, len(v.names), "field", out) && ok
}

func (c *checker) fields(n *node, v *object, seen evaluated, out *findings) bool {
	if n.fields == nil && n.patternFields == nil && n.additional == nil && n.names == nil {
		return true
	}
	ok := true
	for i, name := range v.names {
		c.spend(1 + len(name)/16)
		if n.names != nil && !c.eval(n.names, name, nil, nil) {
			ok = c.badName(n.names, name, out)
		}
		schema, known := n.fields[name]
		if known {
			ok = c.field(schema, name, v.values[i], out) && ok
		}
		for _, p := range n.patternFields {
			if c.matches(p.pattern, name) {
				known = true
				ok = c.field(p.schema, name, v.values[i], out) && ok
			}
		}
		if !known && n.additional != nil {
			known = true
			ok = c.additional(n, name, v.values[i], out) && ok
		}
		if known {
			seen.add(i)
		}
		if !ok && (out == nil || out.full()) {
			return false
		}
	}
	return ok
}

// badName explains why a field's name is not allowed.
func (c *checker) badName(n *node, name string, out *findings) bool {
	c.at.push(step{name: name, field: true})
	defer c.at.pop()
	return c.fail(out, func() (string, string) { return "the field's name is not allowed: " + c.why(n, name), "" })
}

// additional checks a field that is not in properties.
func (c *checker) additional(n *node, name string, value any, out *findings) bool {
	if !n.additional.nothing {
		return c.field(n.additional, name, value, out)
	}
	c.at.push(step{name: name, field: true})
	defer c.at.pop()
	return c.fail(out, func() (string, string) {
		known := keys(n.fields)
		c.spend(len(known) * 4 * (4 + min(len(name), nearest.MaxName)))
		return "unknown field", nearest.DidYouMean(name, known)
	})
}

func (c *checker) elements(n *node, v []any, seen evaluated, out *findings) bool {
	if !c.sized(n.items, len(v), "element", out) {
		return false
	}
	if n.unique {
		if i, j, twice := c.twice(v); twice {
			return c.fail(out, func() (string, string) { return fmt.Sprintf("elements %d and %d are equal", i, j), "remove one" })
		}
	}
	ok := true
	for i, item := range v {
		schema := n.rest
		if i < len(n.prefix) {
			schema = n.prefix[i]
		}
		if schema == nil {
			break
		}
		seen.add(i)
		ok = c.element(schema, i, item, out) && ok
		if !ok && (out == nil || out.full()) {
			return false
		}
	}
	return c.contains(n, v, seen, out) && ok
}

// contains counts the elements that fit the schema of "contains".
func (c *checker) contains(n *node, v []any, seen evaluated, out *findings) bool {
	if n.contains == nil {
		return true
	}
	fit := 0
	for i, item := range v {
		if c.eval(n.contains, item, nil, nil) {
			fit++
			seen.add(i)
		}
	}
	if fit >= n.contained.least && fit <= n.contained.most {
		return true
	}
	return c.fail(out, func() (string, string) {
		return strconv.Itoa(fit) + ` elements fit "contains", expected ` + n.contained.String(), ""
	})
}

// twice finds two equal elements.
func (c *checker) twice(v []any) (i, j int, found bool) {
	order := c.scratch[:0]
	for i := range v {
		order = append(order, i)
	}
	c.scratch = order
	slices.SortFunc(order, func(i, j int) int {
		if n := c.compare(v[i], v[j]); n != 0 {
			return n
		}
		return i - j
	})
	for k := 1; k < len(order); k++ {
		if c.equal(v[order[k-1]], v[order[k]]) {
			return order[k-1], order[k], true
		}
	}
	return 0, 0, false
}
