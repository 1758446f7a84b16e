// Package plain makes texts of strangers fit to be shown. What comes from a module, a guest, a registry or an
// extender can hold escapes that move a terminal's cursor, characters that turn the direction of writing, line breaks
// that look like the next record of a log, bytes that are no UTF-8, and megabytes of all that. The functions of this
// package take steps and memory in proportion to what they return, however long the text is.
package plain

import (
	"strconv"
	"unicode/utf8"
)

// Mark stands where a text was cut.
const Mark = "…"

// Line returns a text as one line of at most most bytes. Line breaks, tabs and other white space become spaces, other
// characters that cannot be printed, and bytes that are no UTF-8, become U+FFFD. A text that is longer is cut at the border
// of a rune and ends with Mark. What is left needs no escapes but those of quotes and backslashes.
func Line[T ~string | ~[]byte](text T, most int) string { return head(window(text, most), most, false) }

// Lines is Line for a text of several lines: line breaks and tabs stay.
func Lines[T ~string | ~[]byte](text T, most int) string {
	return head(window(text, most), most, true)
}

// Tail is Lines for a text whose end is worth most: what is too long is cut at the front.
func Tail[T ~string | ~[]byte](text T, most int) string {
	most = max(most, 0)
	s := string(text[max(0, len(text)-span(most)):])
	if len(text) <= most && clean(s, true) {
		return s
	}
	out := shown(s, span(len(s)), true)
	if len(out) <= most {
		return string(out)
	}
	mark := Mark
	if most < len(mark) {
		mark = ""
	}
	out = out[len(out)-(most-len(mark)):]
	for len(out) > 0 && !utf8.RuneStart(out[0]) {
		out = out[1:]
	}
	return mark + string(out)
}

// Quote returns a text between double quotes, with Go's escapes for what cannot be printed. Of a text of more than
// most bytes the beginning is taken; what is returned has at most four times as many bytes and the quotes.
func Quote[T ~string | ~[]byte](text T, most int) string {
	if len(text) <= most {
		return strconv.Quote(string(text))
	}
	return strconv.Quote(Cut(string(text[:most+1]), most))
}

// Cut cuts a text that has more than most bytes at the border of a rune, with Mark at its end, and leaves it as it is
// otherwise: for what a machine reads.
func Cut(text string, most int) string { return CutWith(text, most, Mark) }

// CutWith is Cut with another mark.
func CutWith(text string, most int, mark string) string {
	if len(text) <= most {
		return text
	}
	end := max(0, most-len(mark))
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + mark[:min(len(mark), max(0, most))]
}

// span is how many bytes of a text are looked at to fill most bytes: a character that cannot be printed has up to four,
// and becomes one of three.
func span(most int) int { return 2*max(most, 0) + 2*utf8.UTFMax }

func window[T ~string | ~[]byte](text T, most int) string {
	return string(text[:min(len(text), span(most))])
}

// head returns the beginning of a text that window has cut.
func head(s string, most int, lines bool) string {
	if len(s) <= most && clean(s, lines) {
		return s
	}
	return CutWith(string(shown(s, max(most, 0), lines)), most, Mark)
}

// shown makes a text printable, until it has more than most bytes.
func shown(s string, most int, lines bool) []byte {
	out := make([]byte, 0, min(len(s), most)+utf8.UTFMax)
	for _, r := range s {
		if out = utf8.AppendRune(out, as(r, lines)); len(out) > most {
			break
		}
	}
	return out
}

// clean reports whether shown changes nothing.
func clean(s string, lines bool) bool {
	for i, r := range s {
		if as(r, lines) != r || r == utf8.RuneError && !isError(s[i:]) {
			return false
		}
	}
	return true
}

// as returns what a character is shown as.
func as(r rune, lines bool) rune {
	switch {
	case lines && (r == '\n' || r == '\t'):
		return r
	case strconv.IsPrint(r):
		return r
	case r == '\n' || r == '\t' || r == '\r' || strconv.IsGraphic(r): // the graphic ones that are not printed are spaces
		return ' '
	}
	return utf8.RuneError
}

// isError reports whether a text begins with U+FFFD itself, and not with bytes that are no UTF-8.
func isError(s string) bool {
	_, size := utf8.DecodeRuneInString(s)
	return size > 1
}
