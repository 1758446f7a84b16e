package input

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

// table reads the rows of one CSV file by column name and records mistakes.
type table struct {
	file    string
	reader  *csv.Reader
	columns map[string]int
	width   int
	row     []string
	line    int
	bad     bool // the current row has a mistake
	g       *gatherer
}

// newTable reads the header; nil if it is unusable.
func newTable(f source, need []string, g *gatherer) *table {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(f.data, []byte("\uFEFF"))))
	r.FieldsPerRecord = -1
	r.ReuseRecord = true
	t := &table{file: f.file, reader: r, g: g, line: 1}
	header, err := r.Read()
	if err != nil {
		t.readError(err, "write a first row with the columns "+strings.Join(need, ","))
		return nil
	}
	t.line, _ = r.FieldPos(0)
	t.width = len(header)
	t.columns = make(map[string]int, len(header))
	for i, name := range header {
		name = strings.TrimSpace(name)
		if _, twice := t.columns[name]; twice && name != "" {
			t.fail(name, "the header names this column twice", "remove one of them")
		}
		t.columns[name] = i
	}
	for _, name := range need {
		if _, ok := t.columns[name]; !ok {
			t.fail(name, "the header has no such column", "add it; required are "+strings.Join(need, ","))
		}
	}
	if t.bad {
		return nil
	}
	return t
}

// next moves to the next row of the right width; false at the end.
func (t *table) next() bool {
	for {
		row, err := t.reader.Read()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.readError(err, "fix the quotes in this row")
			}
			return false
		}
		t.row, t.bad = row, false
		t.line, _ = t.reader.FieldPos(0)
		if len(row) == t.width {
			return true
		}
		name := "row"
		for column, i := range t.columns {
			if i == len(row) {
				name = column
			}
		}
		t.fail(name, fmt.Sprintf("the row has %d fields and the header %d", len(row), t.width), "give every column a value; leave nothing between two commas for an empty one")
	}
}

func (t *table) readError(err error, fix string) {
	if errors.Is(err, io.EOF) {
		t.fail("", "the file is empty", fix)
		return
	}
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		t.line, err = parse.Line, parse.Err
	}
	t.fail("", strings.TrimPrefix(err.Error(), "csv: "), fix)
}

func (t *table) fail(column, detail, fix string) {
	t.bad = true
	t.g.add(&Error{File: t.file, Line: t.line, Path: column, Detail: detail, Fix: fix})
}

// text returns a field; empty if the file does not have the column.
func (t *table) text(column string) string {
	i, ok := t.columns[column]
	if !ok {
		return ""
	}
	return strings.TrimSpace(t.row[i])
}

// number parses a whole number from 0 to limit.
func (t *table) number(column string, limit int64) int64 {
	s := t.text(column)
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) || (err == nil && n > limit):
		t.fail(column, fmt.Sprintf("%s is larger than %d", s, limit), "write a smaller number")
	case err != nil:
		t.fail(column, fmt.Sprintf("%q is not a whole number", s), "write digits only, such as 4000")
	case n < 0:
		t.fail(column, s+" is negative", "write 0 or more")
	default:
		return n
	}
	return 0
}

// seconds parses a time of the trace. ok is false for an empty field.
func (t *table) seconds(column string) (at time.Duration, ok bool) {
	s := t.text(column)
	if s == "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	switch {
	case err != nil || f != f:
		t.fail(column, fmt.Sprintf("%q is not a number of seconds", s), "write seconds since the start of the trace, such as 427061")
	case f < 0:
		t.fail(column, s+" is negative", "write 0 or more")
	case f > maxSeconds:
		t.fail(column, fmt.Sprintf("%s is larger than %d", s, int64(maxSeconds)), "write a smaller number")
	default:
		whole := int64(f)
		return time.Duration(whole)*time.Second + time.Duration((f-float64(whole))*1e9), true
	}
	return 0, false
}

// maxSeconds keeps offsets within a time.Duration (292 years).
const maxSeconds = 9_000_000_000

// maxTraceName is the maximum length of a label value, because node names become label values.
// The longer name of a clone is still a valid pod name.
const maxTraceName = validation.LabelValueMaxLength

// name parses the name of a node or pod; first has the lines of earlier ones.
func (t *table) name(column string, first map[string]int) string {
	name := t.text(column)
	if len(validation.IsDNS1123Subdomain(name)) > 0 || len(name) > maxTraceName {
		t.fail(column, fmt.Sprintf("%q is not a valid name", name), "use lower-case letters, digits, '-' and '.', at most 63")
		return name
	}
	if line, ok := first[name]; ok {
		t.fail(column, fmt.Sprintf("%q is already on line %d", name, line), "rename or remove one of them")
		return name
	}
	first[name] = t.line
	return name
}

// label parses a value that becomes a label value; it may be empty.
func (t *table) label(column, value string) string {
	if msgs := validation.IsValidLabelValue(value); len(msgs) > 0 {
		t.fail(column, fmt.Sprintf("%q cannot be a label's value", value), "use letters, digits, '-', '_' and '.', at most 63")
	}
	return value
}
