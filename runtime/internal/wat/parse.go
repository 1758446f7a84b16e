package wat

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// expr is an S-expression: a list, a string, or another atom.
type expr struct {
	line   int
	isList bool
	isText bool
	atom   string
	text   []byte
	list   []*expr
}

// is reports whether the expression is a list that begins with a word.
func (e *expr) is(word string) bool {
	return e.isList && len(e.list) > 0 && e.list[0].isAtom() && e.list[0].atom == word
}

func (e *expr) isAtom() bool { return !e.isList && !e.isText }

// isName reports whether the expression is a $name.
func (e *expr) isName() bool { return e.isAtom() && strings.HasPrefix(e.atom, "$") }

type lexer struct {
	source string
	pos    int
	line   int
}

func (l *lexer) fail(text string) { panic(&mistake{l.line, text}) }

// space skips blanks and comments.
func (l *lexer) space() {
	for l.pos < len(l.source) {
		switch rest := l.source[l.pos:]; {
		case rest[0] == '\n':
			l.line++
			l.pos++
		case rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r':
			l.pos++
		case strings.HasPrefix(rest, ";;"):
			if end := strings.IndexByte(rest, '\n'); end >= 0 {
				l.pos += end
			} else {
				l.pos = len(l.source)
			}
		case strings.HasPrefix(rest, "(;"):
			end := strings.Index(rest, ";)")
			if end < 0 {
				l.fail("a comment does not end")
			}
			l.line += strings.Count(rest[:end], "\n")
			l.pos += end + 2
		default:
			return
		}
	}
}

func (l *lexer) expr() *expr {
	l.space()
	if l.pos >= len(l.source) {
		l.fail("the text ends too early")
	}
	e := &expr{line: l.line}
	switch l.source[l.pos] {
	case '(':
		l.pos++
		e.isList = true
		for l.space(); l.pos < len(l.source) && l.source[l.pos] != ')'; l.space() {
			e.list = append(e.list, l.expr())
		}
		if l.pos >= len(l.source) {
			panic(&mistake{e.line, "a list does not end"})
		}
		l.pos++
	case ')':
		l.fail("one ) too many")
	case '"':
		e.isText = true
		e.text = l.str()
	default:
		end := strings.IndexAny(l.source[l.pos:], " \t\r\n()\";")
		if end < 0 {
			end = len(l.source) - l.pos
		}
		if end == 0 {
			l.fail("a lone ;")
		}
		e.atom = l.source[l.pos : l.pos+end]
		l.pos += end
	}
	return e
}

func (l *lexer) str() []byte {
	l.pos++
	var out []byte
	for l.pos < len(l.source) {
		c := l.source[l.pos]
		l.pos++
		switch c {
		case '"':
			return out
		case '\n':
			l.fail("a string does not end")
		case '\\':
			out = l.escape(out)
		default:
			out = append(out, c)
		}
	}
	l.fail("a string does not end")
	return nil
}

func (l *lexer) escape(out []byte) []byte {
	rest := l.source[l.pos:]
	if rest == "" {
		l.fail("a string does not end")
	}
	if i := strings.IndexByte(`ntr"'\`, rest[0]); i >= 0 {
		l.pos++
		return append(out, "\n\t\r\"'\\"[i])
	}
	if strings.HasPrefix(rest, "u{") {
		digits, _, ok := strings.Cut(rest[2:], "}")
		v, err := strconv.ParseUint(digits, 16, 32)
		if !ok || err != nil || !utf8.ValidRune(rune(v)) {
			l.fail("a wrong escape")
		}
		l.pos += len(digits) + 3
		return utf8.AppendRune(out, rune(v))
	}
	if len(rest) < 2 {
		l.fail("a wrong escape")
	}
	v, err := strconv.ParseUint(rest[:2], 16, 8)
	if err != nil {
		l.fail("a wrong escape")
	}
	l.pos += 2
	return append(out, byte(v))
}

// integer parses a number of the text format, signed or not, of at most bits bits.
func integer(e *expr, bits int) int64 {
	s := strings.ReplaceAll(e.atom, "_", "")
	digits, negative := strings.CutPrefix(strings.TrimPrefix(s, "+"), "-")
	v, err := strconv.ParseUint(digits, 0, bits)
	if err != nil || !e.isAtom() || negative && v > 1<<(bits-1) {
		fail(e, "expected a number of %d bits, found %s", bits, e)
	}
	if negative {
		return -int64(v)
	}
	if bits == 32 {
		return int64(int32(v)) // so that it has the shortest form
	}
	return int64(v)
}

// unsigned parses a number of 32 bits.
func unsigned(e *expr) uint64 { return uint64(uint32(integer(e, 32))) }

// String shows the expression in messages.
func (e *expr) String() string {
	switch {
	case e.isText:
		return strconv.Quote(string(e.text))
	case e.isList && len(e.list) > 0:
		return "(" + e.list[0].String() + " …)"
	case e.isList:
		return "()"
	}
	return e.atom
}
