package input

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// MaxErrors is the number of mistakes that are shown; the rest are counted.
const MaxErrors = 20

// Error is one mistake in one input file.
type Error struct {
	File   string // as given, or found below a given directory
	Line   int    // 1-based; 0 if there is no line, for example for a missing file
	Path   string // field path such as spec.containers[0].ports, or CSV column; may be empty
	Detail string // what is wrong
	Fix    string // what to do; may be empty
}

// Error returns FILE:LINE: PATH: DETAIL (FIX), without empty parts.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	b.WriteString(": ")
	if e.Path != "" {
		b.WriteString(e.Path + ": ")
	}
	b.WriteString(e.Detail)
	if e.Fix != "" {
		b.WriteString(" (" + e.Fix + ")")
	}
	return b.String()
}

// Errors are all mistakes of a run, in input order.
type Errors struct {
	List    []*Error // at least one, at most MaxErrors
	Omitted int      // mistakes that were found but not kept
}

// Error has one line per mistake, and a last line with the number of the others.
func (e *Errors) Error() string {
	lines := make([]string, 0, len(e.List)+1)
	for _, one := range e.List {
		lines = append(lines, one.Error())
	}
	if e.Omitted > 0 {
		lines = append(lines, fmt.Sprintf("and %d more; fix these first", e.Omitted))
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find each *Error.
func (e *Errors) Unwrap() []error {
	out := make([]error, len(e.List))
	for i, one := range e.List {
		out[i] = one
	}
	return out
}

// gatherer collects mistakes. Those past MaxErrors are only counted.
type gatherer struct {
	list    []*Error
	omitted int
	// left (optional) collects why objects are left out; without it, their mistakes are like all others.
	left *gatherer
	// lenient has unknown fields ignored.
	lenient bool
	kinds   map[string]int // how many objects were left out, by kind
	spare   []spare        // what is left out if there is something else
}

// refuse collects what makes an object unusable.
func (g *gatherer) refuse(obj object, errs ...*Error) {
	if g.left == nil {
		g.add(errs...)
		return
	}
	if g.left.full() {
		g.left.omitted++
		return
	}
	e := *errs[0]
	e.Detail = fmt.Sprintf("%s is left out: %s", obj.name(), e.Detail)
	if more := len(errs) - 1; more == 1 {
		e.Detail += ", and one more mistake"
	} else if more > 1 {
		e.Detail += fmt.Sprintf(", and %d more mistakes", more)
	}
	g.left.add(&e)
}

// leaveOut counts objects that are left out.
func (g *gatherer) leaveOut(kinds []string) {
	for _, kind := range kinds {
		if g.kinds == nil {
			g.kinds = make(map[string]int)
		}
		g.kinds[kind]++
	}
}

// leftOut says how many objects of each kind were left out, the most first; "" for none.
func (g *gatherer) leftOut() string { return countKinds(g.kinds) }

func countKinds(of map[string]int) string {
	kinds := slices.SortedFunc(maps.Keys(of), func(a, b string) int {
		return cmp.Or(cmp.Compare(of[b], of[a]), strings.Compare(a, b))
	})
	for i, kind := range kinds {
		kinds[i] = fmt.Sprintf("%d %s", of[kind], plural(kind, of[kind]))
	}
	return strings.Join(kinds, ", ")
}

// plural returns the word for n of a kind.
func plural(kind string, n int) string {
	if word, rest, more := strings.Cut(kind, " "); more && word != "JSON" {
		return plural(word, n) + " " + rest
	}
	stem, y := strings.CutSuffix(kind, "y")
	switch {
	case n == 1:
		return kind
	case y && !strings.HasSuffix(stem, "a") && !strings.HasSuffix(stem, "e") && !strings.HasSuffix(stem, "o"):
		return stem + "ies"
	case strings.HasSuffix(kind, "ss") || strings.HasSuffix(kind, "x") || strings.HasSuffix(kind, "ch"):
		return kind + "es"
	case strings.HasSuffix(kind, "s"):
		return kind
	}
	return kind + "s"
}

func (g *gatherer) add(errs ...*Error) {
	for _, e := range errs {
		if len(g.list) < MaxErrors {
			g.list = append(g.list, e)
			continue
		}
		g.omitted++
	}
}

// full reports whether another mistake would only be counted, so that its line need not be
// looked up.
func (g *gatherer) full() bool {
	if g.left != nil {
		return g.left.full()
	}
	return len(g.list) >= MaxErrors
}

// err returns nil or an *Errors.
func (g *gatherer) err() error {
	if len(g.list) == 0 {
		return nil
	}
	return &Errors{List: g.list, Omitted: g.omitted}
}
