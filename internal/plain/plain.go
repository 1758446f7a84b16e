// Package plain makes untrusted texts safe to show. Texts from a module, a guest, a registry or
// an extender can contain escapes that move a terminal's cursor, characters that change the
// direction of writing, line breaks that look like the next record of a log, bytes that are not
// UTF-8, and megabytes of all that. The functions of this package take time and memory in
// proportion to what they return, however long the text is.
package plain

import (
	"strconv"
	"unicode/utf8"
)

// Mark shows where a text was cut.
const Mark = "…"

// Line returns a text as one line of at most most bytes. Line breaks, tabs and other white
// space become spaces; other unprintable characters, and bytes that are not UTF-8, become
// U+FFFD. A longer text is cut between runes and ends with Mark. Only quotes and backslashes in
// the result may need escapes.
func Line[T ~string | ~[]byte](text T, most int) string { return head(window(text, most), most, false) }

// Lines is Line for a text of several lines: it keeps line breaks and tabs.
func Lines[T ~string | ~[]byte](text T, most int) string {
	return head(window(text, most), most, true)
}

// Tail is Lines for a text whose end matters most: a longer text is cut at the front.
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

// Quote returns a text in double quotes, with Go's escapes for unprintable characters. It uses
// at most most bytes of the text; the result has at most four times as many bytes, plus the
// quotes.
func Quote[T ~string | ~[]byte](text T, most int) string {
	if len(text) <= most {
		return strconv.Quote(string(text))
	}
	return strconv.Quote(Cut(string(text[:most+1]), most))
}

// Cut cuts a text of more than most bytes between runes, with Mark at its end, and changes
// nothing else: for texts that machines read.
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

// span returns how many bytes of a text are needed to fill most bytes: an unprintable character
// has up to four bytes, and becomes one of three.
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

// as returns the replacement of a character.
func as(r rune, lines bool) rune {
	switch {
	case lines && (r == '\n' || r == '\t'):
		return r
	case strconv.IsPrint(r):
		return r
	case r == '\n' || r == '\t' || r == '\r' || strconv.IsGraphic(r): // unprintable graphic characters are spaces
		return ' '
	}
	return utf8.RuneError
}

// isError reports whether a text begins with a real U+FFFD, not with bytes that are not UTF-8.
func isError(s string) bool {
	_, size := utf8.DecodeRuneInString(s)
	return size > 1
}
