package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Error is one mistake in a configuration or settings file.
type Error struct {
	File string
	// Line counts from 1; 0 if unknown.
	Line int
	// Path is the field path, such as profiles[0].plugins.filter.enabled[1].name; empty for the
	// whole file.
	Path string
	// Detail says what is wrong. Fix says what to do; it may be empty.
	Detail, Fix string
}

// Error returns "file:line: path: detail; fix", without unknown parts.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(position(e.File, e.Line, e.Path))
	b.WriteString(e.Detail)
	if e.Fix != "" {
		b.WriteString("; " + e.Fix)
	}
	return b.String()
}

// position formats where an error or a warning is.
func position(file string, line int, path string) string {
	var b strings.Builder
	switch {
	case file != "" && line > 0:
		fmt.Fprintf(&b, "%s:%d: ", file, line)
	case file != "":
		b.WriteString(file + ": ")
	}
	if path != "" {
		b.WriteString(path + ": ")
	}
	return b.String()
}

// maxErrors is how many mistakes of a file are kept: one of a few MiB has room for a hundred thousand.
const maxErrors = 1000

// report collects the errors and warnings of one file.
type report struct {
	file  string
	lines *lines // nil if there is no file
	errs  []*Error
	more  int // beyond maxErrors
	// broken are the paths of values that cannot be decoded. They count as absent, and nothing
	// else is reported about them.
	broken []string
	notes  map[string]note // by plugin name
	warned []Warning       // not about plugins
}

func newReport(file string, l *lines) *report {
	return &report{file: file, lines: l, notes: map[string]note{}}
}

// add records a mistake at path (nil for the whole file).
func (r *report) add(path *field.Path, detail, fix string) {
	r.addAt(text(path), detail, fix)
}

// breaks records that the value at path cannot be decoded.
func (r *report) breaks(path *field.Path, detail, fix string) {
	r.add(path, detail, fix)
	r.broken = append(r.broken, text(path))
}

func (r *report) addAt(path, detail, fix string) {
	for _, b := range r.broken {
		if rest, ok := strings.CutPrefix(path, b); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return
		}
	}
	if len(r.errs) >= maxErrors {
		r.more++
		return
	}
	r.errs = append(r.errs, &Error{File: r.file, Line: r.lines.of(path), Path: path, Detail: detail, Fix: fix})
}

// addAll records the field errors inside err: a *field.Error, an
// aggregate of them, or nil.
func (r *report) addAll(err error) {
	for _, e := range fieldErrors(err) {
		r.addAt(e.Field, lowerFirst(e.ErrorBody()), "")
	}
}

// fieldErrors flattens err. Errors of other types become field errors without a field.
func fieldErrors(err error) []*field.Error {
	if err == nil {
		return nil
	}
	var many utilerrors.Aggregate
	if errors.As(err, &many) {
		var all []*field.Error
		for _, e := range many.Errors() {
			all = append(all, fieldErrors(e)...)
		}
		return all
	}
	var one *field.Error
	if errors.As(err, &one) {
		return []*field.Error{one}
	}
	return []*field.Error{field.InternalError(nil, err)}
}

// err returns the errors sorted by line, path and detail, without duplicates.
func (r *report) err() error {
	slices.SortStableFunc(r.errs, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Detail, b.Detail))
	})
	r.errs = slices.CompactFunc(r.errs, func(a, b *Error) bool { return *a == *b })
	joined := make([]error, len(r.errs))
	for i, e := range r.errs {
		joined[i] = e
	}
	if r.more > 0 {
		joined = append(joined, &Error{File: r.file, Detail: fmt.Sprintf("there are %d more mistakes", r.more), Fix: "mend these first"})
	}
	return errors.Join(joined...)
}

// text is path.String(), but "" for the root.
func text(path *field.Path) string {
	if path == nil {
		return ""
	}
	return path.String()
}

func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}
