package schema

import (
	"fmt"
	"slices"

	"github.com/berth-scheduler/berth/internal/nearest"
)

// inside checks the fields of an object or the elements of a list.
func (c *checker) inside(n *node, value any, out *findings) bool {
	switch v := value.(type) {
	case *object:
		ok := c.needed(n, v, out)
		if !ok && (out == nil || out.full()) {
			return false
		}
		return c.fields(n, v, out) && ok
	case []any:
		return c.elements(n, v, out)
	}
	return true
}

// needed checks that the required fields are present.
func (c *checker) needed(n *node, v *object, out *findings) bool {
	ok := true
	for _, name := range n.required {
		c.spend(1 + len(name)/16)
		if v.has(name) {
			continue
		}
		ok = c.fail(out, func() (string, string) { return "the field " + Show(name) + " is missing", c.misspelt(n, name, v) })
		if out == nil {
			return false
		}
	}
	return c.sized(n.properties, len(v.names), "field", out) && ok
}

// maxMisspelt is how many unknown fields are compared with one that is missing.
const maxMisspelt = 32

// misspelt returns a question about a field that the schema does not know and that is spelt almost like a missing one; empty if there
// is none.
func (c *checker) misspelt(n *node, missing string, v *object) string {
	var unknown []string
	for _, name := range v.names {
		if len(unknown) < maxMisspelt && n.fields[name] == nil {
			unknown = append(unknown, name)
		}
	}
	c.spend(len(v.names) + len(unknown)*4*(4+min(len(missing), nearest.MaxName)))
	if near, ok := nearest.Of(missing, unknown); ok {
		return "is it " + Show(near) + ", misspelt?"
	}
	return ""
}

func (c *checker) fields(n *node, v *object, out *findings) bool {
	if n.fields == nil && n.additional == nil {
		return true
	}
	ok := true
	for i, name := range v.names {
		c.spend(1 + len(name)/16)
		if schema, known := n.fields[name]; known {
			ok = c.field(schema, name, v.values[i], out) && ok
		} else if n.additional != nil {
			ok = c.additional(n, name, v.values[i], out) && ok
		}
		if !ok && (out == nil || out.full()) {
			return false
		}
	}
	return ok
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

func (c *checker) elements(n *node, v []any, out *findings) bool {
	if !c.sized(n.items, len(v), "element", out) {
		return false
	}
	if n.unique {
		if i, j, twice := c.twice(v); twice {
			return c.fail(out, func() (string, string) { return fmt.Sprintf("elements %d and %d are equal", i, j), "remove one" })
		}
	}
	if n.element == nil {
		return true
	}
	ok := true
	for i, item := range v {
		if ok = c.element(n.element, i, item, out) && ok; !ok && (out == nil || out.full()) {
			return false
		}
	}
	return ok
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
