package schema

import (
	"slices"
	"strconv"
	"unicode/utf8"
)

// checker checks a value against a schema. Everything costs steps; it stops when they run out.
type checker struct {
	left    int
	at      path
	scratch []int
}

// spent is the value of the panic when no steps are left.
type spent struct{}

func (c *checker) spend(steps int) {
	if c.left -= steps; c.left < 0 {
		panic(spent{})
	}
}

// within runs do. It returns false if the steps run out.
func (c *checker) within(do func() bool) (ok bool) {
	defer func() {
		if r := recover(); r != nil {
			if _, expected := r.(spent); !expected {
				panic(r)
			}
			ok = false
		}
	}()
	return do()
}

// fail records a mistake at the current path and returns false. Without findings it makes no
// text, because only the result is wanted.
func (c *checker) fail(out *findings, text func() (detail, fix string)) bool {
	if out != nil && !out.full() {
		c.spend(stepsProblem)
		detail, fix := text()
		out.add(Problem{Path: c.at.String(), Detail: detail, Fix: fix})
	}
	return false
}

// eval reports whether a value fits a schema. Without out it stops at the first mistake; with
// out it continues and records all.
func (c *checker) eval(n *node, value any, out *findings) bool {
	c.spend(stepsSchema)
	if n.nothing {
		return c.fail(out, func() (string, string) { return "nothing may be here", "remove it" })
	}
	if !c.itself(n, value, out) {
		return false
	}
	ok := c.inside(n, value, out)
	if ok || out != nil && !out.full() {
		ok = c.beside(n, value, out) && ok
	}
	return ok
}

// itself checks a value, but not its parts.
func (c *checker) itself(n *node, value any, out *findings) bool {
	if len(n.types) > 0 && !slices.ContainsFunc(n.types, func(t string) bool { return hasType(value, t) }) {
		return c.fail(out, func() (string, string) { return explainType(n.types, value), "" })
	}
	if n.hasEnum && !slices.ContainsFunc(n.enum, func(e any) bool { return c.equal(e, value) }) {
		return c.fail(out, func() (string, string) { return explainEnum(n.enum, value) })
	}
	switch v := value.(type) {
	case string:
		return c.text(n, v, out)
	case int64, uint64, float64:
		return c.number(n, v, out)
	}
	return true
}

func hasType(value any, want string) bool {
	is := typeOf(value)
	return is == want || is == "integer" && want == "number"
}

func (c *checker) text(n *node, v string, out *findings) bool {
	ok := true
	if n.length != anySize() {
		c.spend(len(v) / 4)
		ok = c.sized(n.length, utf8.RuneCountInString(v), "character", out)
	}
	if n.pattern != nil && (ok || out != nil) && !c.matches(n.pattern, v) {
		ok = c.fail(out, func() (string, string) {
			return Show(v) + " does not match the pattern " + strconv.Quote(n.pattern.regexp.String()), ""
		})
	}
	return ok
}

func (c *checker) sized(s size, n int, noun string, out *findings) bool {
	if n < s.least || n > s.most {
		return c.fail(out, func() (string, string) { return explainSize(s, n, noun), "" })
	}
	return true
}

func (c *checker) number(n *node, v any, out *findings) bool {
	bounds := [...]struct {
		bound any
		text  string
		fits  func(compared int) bool
	}{
		{n.minimum, "at least", func(c int) bool { return c >= 0 }},
		{n.maximum, "at most", func(c int) bool { return c <= 0 }},
		{n.exclusiveMinimum, "more than", func(c int) bool { return c > 0 }},
		{n.exclusiveMaximum, "less than", func(c int) bool { return c < 0 }},
	}
	for _, b := range bounds {
		if b.bound != nil && !b.fits(compareNumbers(v, b.bound)) {
			return c.fail(out, func() (string, string) {
				return Show(v) + " is not allowed", "write a number of " + b.text + " " + Show(b.bound)
			})
		}
	}
	if n.multipleOf == nil {
		return true
	}
	c.spend(stepsSchema)
	if !isMultiple(v, n.multipleOf) {
		return c.fail(out, func() (string, string) { return Show(v) + " is not a multiple of " + Show(n.multipleOf), "" })
	}
	return true
}

// field checks the value of a field.
func (c *checker) field(n *node, name string, value any, out *findings) bool {
	c.at.push(step{name: name, field: true})
	ok := c.eval(n, value, out)
	c.at.pop()
	return ok
}

// element checks an element of a list.
func (c *checker) element(n *node, i int, value any, out *findings) bool {
	c.at.push(step{index: i})
	ok := c.eval(n, value, out)
	c.at.pop()
	return ok
}
