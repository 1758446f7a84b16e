// Package cel is a subset of the Common Expression Language (https://github.com/google/cel-spec), small enough for a guest: cel-go as
// a module needs more to start than a host gives (the README of the plugin has the figures).
//
// Types are known when an expression is compiled: bool, int, double, string, lists and maps with keys of strings. The subset has the
// operators of CEL, has, exists, all, exists_one, filter and map, size, startsWith, endsWith, contains, matches, the conversions int,
// double and string, and math.greatest and math.least. [Compile] refuses everything else with its place, and says whether CEL has it.
//
// What can be said without a node is evaluated once for a pod: see [Program.Reset].
package cel

import "strconv"

// Error is a mistake in an expression.
type Error struct {
	// Place is where it is: a column, with its line if there are several.
	Place string
	// Text says what it is.
	Text string
}

func (e *Error) Error() string { return e.Place + ": " + e.Text }

// Failure says why an expression has no value. There is one for each place where an expression can fail.
type Failure = Error

// place returns where a byte of a text is, for people: columns are characters, from 1.
func place(text string, at int) string {
	line, column, lines := 1, 1, false
	for i, c := range text {
		if c == '\n' {
			lines = true
		}
		if i >= at {
			continue
		}
		if column++; c == '\n' {
			line, column = line+1, 1
		}
	}
	if lines {
		return "line " + strconv.Itoa(line) + ", column " + strconv.Itoa(column)
	}
	return "column " + strconv.Itoa(column)
}

// meant returns "; did you mean NAME" if one of the names is much like the given one.
func meant(name string, names []string) string {
	best, least := "", 1+len(name)/4
	if len(name) < 3 {
		return ""
	}
	for _, n := range names {
		if d := distance(name, n); d <= least && (best == "" || d < distance(name, best)) {
			best = n
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best
}

// distance is how many bytes must be changed, added or removed to make a text another one.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := before
			if a[i] != b[j] {
				d = 1 + min(before, row[j], row[j+1])
			}
			before, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}
