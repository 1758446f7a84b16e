package schema

import (
	"fmt"
	"slices"
	"strconv"
)

// beside applies the schemas that are about the same value.
func (c *checker) beside(n *node, value any, out *findings) bool {
	ok := true
	for _, s := range n.allOf {
		if ok = c.eval(s, value, out) && ok; !ok && (out == nil || out.full()) {
			return false
		}
	}
	if n.not != nil && c.eval(n.not, value, nil) {
		ok = c.fail(out, func() (string, string) { return `it fits the schema in "not"`, "" })
	}
	return c.alternatives(n, value, out) && ok
}

// alternatives checks anyOf and oneOf.
func (c *checker) alternatives(n *node, value any, out *findings) bool {
	fits := func(s *node) bool { return c.eval(s, value, nil) }
	ok := true
	if n.anyOf != nil && !slices.ContainsFunc(n.anyOf, fits) {
		ok = c.none(n.anyOf, value, out)
	}
	if n.oneOf == nil || !ok && out == nil {
		return ok
	}
	first := slices.IndexFunc(n.oneOf, fits)
	if first < 0 {
		return c.none(n.oneOf, value, out)
	}
	if second := slices.IndexFunc(n.oneOf[first+1:], fits); second >= 0 {
		return c.fail(out, func() (string, string) {
			return fmt.Sprintf("alternatives %d and %d fit, only one may", first+1, first+1+second+1), ""
		})
	}
	return ok
}

// none explains why no alternative fits.
func (c *checker) none(list []*node, value any, out *findings) bool {
	if len(list) == 1 {
		if out != nil {
			c.eval(list[0], value, out)
		}
		return false
	}
	return c.fail(out, func() (string, string) {
		text := "none of " + strconv.Itoa(len(list)) + " alternatives fits: "
		for i, s := range list {
			if len(text) > MaxProblem {
				break // the rest would be cut
			}
			if i > 0 {
				text += ", or "
			}
			text += c.why(s, value)
		}
		return text, ""
	})
}

// why returns the first mistake in a value that does not fit, with its path from here.
func (c *checker) why(n *node, value any) string {
	inner := findings{most: 1}
	outer := c.at
	c.at = nil
	c.eval(n, value, &inner)
	c.at = outer
	if len(inner.list) == 0 {
		return "it does not fit"
	}
	first := inner.list[0]
	if first.Path != "" {
		return first.Path + ": " + first.Detail
	}
	return first.Detail
}
