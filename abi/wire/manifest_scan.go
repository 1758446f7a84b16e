package wire

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// str reads a string; the reader is at its opening quote.
func (r *jsonReader) str() (string, bool) {
	r.pos++
	var b strings.Builder
	for r.pos < len(r.data) {
		c := r.data[r.pos]
		r.pos++
		switch {
		case c == '"':
			return b.String(), true
		case c < 0x20:
			r.pos--
			r.fail("a control character in a string: write it as \\n or \\u00XX")
			return "", false
		case c == '\\':
			if !r.escape(&b) {
				r.fail("an unknown escape in a string")
				return "", false
			}
		default:
			b.WriteByte(c)
		}
	}
	r.fail("the text ends in the middle of a string")
	return "", false
}

// escape reads what follows a backslash.
func (r *jsonReader) escape(b *strings.Builder) bool {
	if r.pos >= len(r.data) {
		return false
	}
	c := r.data[r.pos]
	r.pos++
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
		b.WriteByte("\"\\/\b\f\n\r\t"[i])
		return true
	}
	first, ok := r.hex4(c)
	if !ok {
		return false
	}
	if !utf16.IsSurrogate(first) {
		b.WriteRune(first)
		return true
	}
	if !strings.HasPrefix(r.data[r.pos:], `\u`) {
		return false
	}
	r.pos += 2
	second, ok := r.hex4('u')
	both := utf16.DecodeRune(first, second)
	b.WriteRune(both)
	return ok && both != utf8.RuneError
}

// hex4 reads the digits of \uXXXX; c is the character after the backslash.
func (r *jsonReader) hex4(c byte) (rune, bool) {
	if c != 'u' || len(r.data)-r.pos < 4 {
		return 0, false
	}
	digits := r.data[r.pos : r.pos+4]
	v, err := strconv.ParseUint(digits, 16, 16)
	if err != nil {
		return 0, false
	}
	r.pos += 4
	return rune(v), true
}

// numberLength returns the length of the JSON number that s begins with.
func numberLength(s string) int {
	i := 0
	digits := func() bool {
		from := i
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		return i > from
	}
	if strings.HasPrefix(s, "-") {
		i++
	}
	if i < len(s) && s[i] == '0' {
		i++
	} else if !digits() {
		return 0
	}
	if i < len(s) && s[i] == '.' {
		if i++; !digits() {
			return 0
		}
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if !digits() {
			return 0
		}
	}
	return i
}

// join and index build field paths: points.filter, reads.node[2].
func join(path, name string) string {
	if strings.ContainsAny(name, ".[]\" \n\r\t") || name == "" || strings.ContainsFunc(name, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return path + "[" + quoted(name) + "]"
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

func index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }
