package cel

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// token is a word of an expression. Its kind is one of those below, or the text of an operator.
type token struct {
	kind string
	at   int
	text string // of a name or a string
	n    int64
	f    float64
	// tooLarge marks 9223372036854775808, which only a minus makes an int.
	tooLarge bool
}

// The kinds of tokens that are not operators.
const (
	tokenEnd    = "the end"
	tokenName   = "a name"
	tokenInt    = "an int"
	tokenDouble = "a double"
	tokenString = "a string"
)

// operators returns the operators and brackets, longer ones first.
func operators() []string {
	return []string{
		"&&", "||", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":", ".", ",", "(", ")", "[", "]", "{", "}",
	}
}

// lexer splits an expression into tokens.
type lexer struct {
	text string
	at   int
	err  *Error
}

func (l *lexer) refuse(at int, text string) {
	if l.err == nil {
		l.err = &Error{place(l.text, at), text}
	}
	l.at = len(l.text)
}

// next returns the next token; the end after a mistake.
func (l *lexer) next() token {
	l.space()
	if l.at >= len(l.text) {
		return token{kind: tokenEnd, at: len(l.text)}
	}
	start, c := l.at, l.text[l.at]
	switch {
	case digit(c), c == '.' && l.at+1 < len(l.text) && digit(l.text[l.at+1]):
		return l.number()
	case c == '"', c == '\'':
		return l.quoted(start, false)
	case letter(c):
		for l.at < len(l.text) && (letter(l.text[l.at]) || digit(l.text[l.at])) {
			l.at++
		}
		name := l.text[start:l.at]
		if l.at < len(l.text) && (l.text[l.at] == '"' || l.text[l.at] == '\'') {
			switch name {
			case "r", "R":
				return l.quoted(start, true)
			case "b", "B", "br", "bR", "Br", "BR", "rb", "rB", "Rb", "RB":
				l.refuse(start, "the subset has no bytes; write a string")
			}
		}
		return token{kind: tokenName, at: start, text: name}
	}
	for _, o := range operators() {
		if strings.HasPrefix(l.text[l.at:], o) {
			l.at += len(o)
			return token{kind: o, at: start}
		}
	}
	if c == '`' {
		l.refuse(start, "the subset has no names in backticks; write [\"…\"]")
	} else {
		r, _ := utf8.DecodeRuneInString(l.text[start:])
		l.refuse(start, "unexpected "+strconv.QuoteRune(r))
	}
	return token{kind: tokenEnd, at: start}
}

// space skips white space and comments.
func (l *lexer) space() {
	for l.at < len(l.text) {
		switch {
		case strings.IndexByte(" \t\r\n\f", l.text[l.at]) >= 0:
			l.at++
		case strings.HasPrefix(l.text[l.at:], "//"):
			end := strings.IndexByte(l.text[l.at:], '\n')
			if end < 0 {
				end = len(l.text) - l.at
			}
			l.at += end
		default:
			return
		}
	}
}

// number reads an int or a double.
func (l *lexer) number() token {
	start := l.at
	t := token{kind: tokenInt, at: start}
	digits := func() {
		for l.at < len(l.text) && digit(l.text[l.at]) {
			l.at++
		}
	}
	if rest := l.text[start:]; strings.HasPrefix(rest, "0x") {
		for l.at += 2; l.at < len(l.text) && hex(l.text[l.at]); {
			l.at++
		}
	} else {
		digits()
		if l.at+1 < len(l.text) && l.text[l.at] == '.' && digit(l.text[l.at+1]) {
			t.kind = tokenDouble
			l.at++
			digits()
		}
		if end := exponent(l.text[l.at:]); end > 0 {
			t.kind = tokenDouble
			l.at += end
		}
	}
	text := l.text[start:l.at]
	if l.at < len(l.text) && (l.text[l.at] == 'u' || l.text[l.at] == 'U') && t.kind == tokenInt {
		l.refuse(start, "the subset has no uint; write "+text)
	}
	var err error
	if t.kind == tokenDouble {
		if t.f, err = strconv.ParseFloat(text, 64); err != nil {
			l.refuse(start, text+" is beyond the numbers of 64 bits")
		}
		return t
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "0x"), map[bool]int{true: 16, false: 10}[strings.HasPrefix(text, "0x")], 64)
	t.n, t.tooLarge = int64(n), n == 1<<63
	if err != nil || n > 1<<63 {
		l.refuse(start, text+" is beyond the ints of 64 bits")
	}
	return t
}

// exponent returns how long the exponent is with which a text begins; 0 for none.
func exponent(text string) int {
	i := 1
	if text == "" || text[0] != 'e' && text[0] != 'E' {
		return 0
	}
	if i < len(text) && (text[i] == '+' || text[i] == '-') {
		i++
	}
	from := i
	for i < len(text) && digit(text[i]) {
		i++
	}
	if i == from {
		return 0
	}
	return i
}

// quoted reads a string that begins here; start is where its prefix is.
func (l *lexer) quoted(start int, raw bool) token {
	mark := l.text[l.at : l.at+1]
	if strings.HasPrefix(l.text[l.at:], strings.Repeat(mark, 3)) {
		mark = l.text[l.at : l.at+3]
	}
	l.at += len(mark)
	var out []byte
	for {
		rest := l.text[l.at:]
		switch {
		case rest == "", len(mark) == 1 && (rest[0] == '\n' || rest[0] == '\r'):
			l.refuse(start, "the string does not end")
			return token{kind: tokenEnd, at: start}
		case strings.HasPrefix(rest, mark):
			l.at += len(mark)
			return token{kind: tokenString, at: start, text: string(out)}
		case rest[0] == '\\' && !raw:
			size, r := escape(rest)
			if size == 0 {
				l.refuse(l.at, "no such escape")
				return token{kind: tokenEnd, at: start}
			}
			out = utf8.AppendRune(out, r)
			l.at += size
		default:
			out = append(out, rest[0])
			l.at++
		}
	}
}

// escape returns the length and the character of an escape with which a text begins; length 0 for none.
func escape(text string) (size int, r rune) {
	if len(text) < 2 {
		return 0, 0
	}
	const short, long = `abfnrtv\"'?` + "`", "\a\b\f\n\r\t\v\\\"'?`"
	if i := strings.IndexByte(short, text[1]); i >= 0 {
		return 2, rune(long[i])
	}
	from, digits, base := 2, 0, 16
	switch text[1] {
	case 'x', 'X':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	case '0', '1', '2', '3':
		from, digits, base = 1, 3, 8
	default:
		return 0, 0
	}
	if len(text) < from+digits {
		return 0, 0
	}
	n, err := strconv.ParseUint(text[from:from+digits], base, 32)
	if err != nil || !utf8.ValidRune(rune(n)) {
		return 0, 0
	}
	return from + digits, rune(n)
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func hex(c byte) bool { return digit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

func letter(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
