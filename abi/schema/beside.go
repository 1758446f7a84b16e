package schema

import "strconv"

// beside applies the schemas that are about the same value.
func (c *checker) beside(n *node, value any, seen evaluated, out *findings) bool {
	ok := true
	and := func(s *node) bool { // false: stop
		if s != nil {
			ok = c.eval(s, value, seen, out) && ok
		}
		return ok || out != nil && !out.full()
	}
	if !and(n.ref) {
		return false
	}
	for _, s := range n.allOf {
		if !and(s) {
			return false
		}
	}
	if n.condition != nil {
		branch := n.otherwise
		if c.isolated(n.condition, value, seen) {
			branch = n.then
		}
		if !and(branch) {
			return false
		}
	}
	if v, isObject := value.(*object); isObject {
		for _, d := range n.dependentSchemas {
			c.spend(1 + len(d.name)/16)
			if v.has(d.name) && !and(d.schema) {
				return false
			}
		}
	}
	if n.not != nil && c.eval(n.not, value, nil, nil) {
		ok = c.fail(out, func() (string, string) { return `it fits the schema in "not"`, "" })
	}
	return c.alternatives(n, value, seen, out) && ok
}

// isolated is eval, but a schema that does not fit leaves no trace.
func (c *checker) isolated(n *node, value any, seen evaluated) bool {
	inner := c.fresh(seen)
	if !c.eval(n, value, inner, nil) {
		return false
	}
	c.merge(seen, inner)
	return true
}

// alternatives checks anyOf and oneOf.
func (c *checker) alternatives(n *node, value any, seen evaluated, out *findings) bool {
	ok := true
	if n.anyOf != nil {
		fits := false
		for _, s := range n.anyOf {
			fits = c.isolated(s, value, seen) || fits
			if fits && seen == nil {
				break // the others only matter for seen
			}
		}
		if !fits {
			ok = c.none(n.anyOf, value, out)
		}
	}
	if n.oneOf == nil || !ok && out == nil {
		return ok
	}
	first := -1
	for i, s := range n.oneOf {
		switch {
		case !c.isolated(s, value, seen):
		case first < 0:
			first = i
		default:
			return c.fail(out, func() (string, string) {
				return "alternatives " + strconv.Itoa(first+1) + " and " + strconv.Itoa(i+1) + " fit, only one may", ""
			})
		}
	}
	if first < 0 {
		return c.none(n.oneOf, value, out)
	}
	return ok
}

// none explains why no alternative fits.
func (c *checker) none(list []*node, value any, out *findings) bool {
	if len(list) == 1 {
		if out != nil {
			c.eval(list[0], value, nil, out)
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
	c.eval(n, value, nil, &inner)
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
