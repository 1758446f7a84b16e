package plain

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// List joins as many items as fit into most bytes, and says how many more there are: "a, b, and
// 3 more reasons". noun is the plural. Items are not changed, but a single one that does not
// fit is cut.
func List(items []string, separator string, most int, noun string) string {
	size := 0
	for i, item := range items {
		if i > 0 {
			size += len(separator)
		}
		if size += len(item); size > most {
			return cutList(items, separator, most, noun)
		}
	}
	return strings.Join(items, separator)
}

func cutList(items []string, separator string, most int, noun string) string {
	more := func(n int) string {
		switch n {
		case 0:
			return ""
		case 1:
			return separator + "and 1 more " + strings.TrimSuffix(noun, "s")
		}
		return separator + "and " + strconv.Itoa(n) + " more " + noun
	}
	room := most - len(more(len(items)))
	var b strings.Builder
	n := 0
	for ; n < len(items); n++ {
		item := items[n]
		if n > 0 {
			item = separator + item
		}
		if b.Len()+len(item) > room {
			break
		}
		b.WriteString(item)
	}
	if n == 0 {
		b.WriteString(Cut(items[0], max(room, 0)))
		n = 1
	}
	b.WriteString(more(len(items) - n))
	return b.String()
}

// Error returns an error whose text is Lines of err's text and that wraps err; nil for nil.
func Error(err error, most int) error {
	if err == nil {
		return nil
	}
	return &cut{text: Lines(err.Error(), most), err: err}
}

type cut struct {
	text string
	err  error
}

func (c *cut) Error() string { return c.text }

func (c *cut) Unwrap() error { return c.err }

// JSON escapes unprintable characters in JSON: those that JSON allows unescaped, such as the
// ones that change the direction of writing. Bytes that are not UTF-8 become U+FFFD.
func JSON(data []byte) []byte {
	out := make([]byte, 0, len(data))
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		switch {
		case r < utf8.RuneSelf && r != 0x7f, r >= utf8.RuneSelf && strconv.IsGraphic(r) && r != utf8.RuneError:
			out = append(out, data[:size]...)
		case r == utf8.RuneError:
			out = append(out, "\ufffd"...)
		case r > 0xffff:
			high, low := 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff
			out = escape(escape(out, high), low)
		default:
			out = escape(out, r)
		}
		data = data[size:]
	}
	return out
}

func escape(out []byte, unit rune) []byte {
	const digits = "0123456789abcdef"
	return append(out, '\\', 'u', digits[unit>>12&15], digits[unit>>8&15], digits[unit>>4&15], digits[unit&15])
}
