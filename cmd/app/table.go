package app

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
)

const (
	defaultWidth = 100 // characters, if neither a terminal nor $COLUMNS gives a width
	columnGap    = 2
)

// width returns the line width for w: that of the terminal, or $COLUMNS.
func width(w io.Writer) int {
	if file, ok := w.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		if n, _, err := term.GetSize(int(file.Fd())); err == nil && n > 0 {
			return n
		}
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	return defaultWidth
}

// digestShown is how many hexadecimal digits of a digest tables show; -o json has all.
const digestShown = 12

// short returns the beginning of a digest.
func short(digest string) string {
	if at := strings.IndexByte(digest, ':') + 1 + digestShown; at < len(digest) {
		return digest[:at]
	}
	return digest
}

// column is a column of a table.
type column struct {
	head    string
	numbers bool // aligned to the right
	// least is the minimum width of the column if the table is too wide; 0 means that
	// its lines are not broken.
	least int
}

// table prints rows under a header.
func (p *printer) table(columns []column, rows []table.Row) { p.tableOf(columns, rows, len(rows)) }

// tableOf is table for the first rows of all.
func (p *printer) tableOf(columns []column, rows []table.Row, all int) {
	rows = slices.Clone(rows[:min(len(rows), maxRows)])
	left := all - len(rows)
	for i, row := range rows {
		rows[i] = shown(row)
	}
	widths := fit(columns, rows, p.width)
	t := table.NewWriter()
	style := table.StyleLight
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", strings.Repeat(" ", columnGap)
	style.Format.Header = text.FormatDefault
	t.SetStyle(style)
	header := make(table.Row, len(columns))
	configs := make([]table.ColumnConfig, len(columns))
	for i, c := range columns {
		header[i] = c.head
		configs[i] = table.ColumnConfig{Number: i + 1, WidthMax: widths[i], WidthMaxEnforcer: wrap, VAlignHeader: text.VAlignBottom}
		if c.numbers {
			configs[i].Align, configs[i].AlignHeader = text.AlignRight, text.AlignRight
		}
	}
	t.SetColumnConfigs(configs)
	t.AppendHeader(header)
	t.AppendRows(rows)
	for line := range strings.Lines(t.Render() + "\n") {
		p.print(strings.TrimRight(strings.ReplaceAll(line, noBreak, " "), " \n") + "\n")
	}
	if left > 0 {
		p.printf("and %d more; -o json has all\n", left)
	}
	p.printf("\n")
}

// maxRows is how many rows of a table are printed.
const maxRows = 1000

// fit returns the widths of the columns. Each is as wide as its longest line; if the table
// is too wide, the widest breakable columns shrink.
func fit(columns []column, rows []table.Row, width int) []int {
	widths := natural(columns, rows)
	for excess := tableWidth(widths) - width; excess > 0; excess-- {
		widest := -1
		for i, c := range columns {
			if c.least > 0 && widths[i] > c.least && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	return widths
}

func natural(columns []column, rows []table.Row) []int {
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = text.LongestLineLen(c.head)
		for _, row := range rows {
			if i < len(row) {
				widths[i] = max(widths[i], text.LongestLineLen(fmt.Sprint(row[i])))
			}
		}
	}
	return widths
}

func tableWidth(widths []int) (sum int) {
	for _, n := range widths {
		sum += n + columnGap
	}
	return sum - columnGap
}

// wrap breaks lines at spaces so that none is longer than width. It breaks a word only if
// the word itself is longer. Line breaks in the text stay.
func wrap(s string, width int) string {
	var out []string
	for line := range strings.SplitSeq(s, "\n") {
		var b []rune
		for word := range strings.SplitSeq(line, " ") {
			w := []rune(word)
			if len(b) > 0 && len(b)+1+len(w) <= width {
				b = append(append(b, ' '), w...)
				continue
			}
			if len(b) > 0 {
				out = append(out, string(b))
			}
			for len(w) > width {
				out, w = append(out, string(w[:width])), w[width:]
			}
			b = slices.Clone(w)
		}
		out = append(out, string(b))
	}
	return strings.Join(out, "\n")
}
