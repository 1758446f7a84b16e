// Package json reads JSON into a tree. It is small: encoding/json and the reflection that it needs
// make a module 1.2 MB larger.
package json

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Kinds of values.
const (
	Null   = 'n'
	Bool   = 't'
	Number = '0'
	String = '"'
	List   = '['
	Object = '{'
)

// Value is a value of JSON.
type Value struct {
	Kind byte
	// Text is a string without escapes, a number as it is written, or a word.
	Text string
	// Key is the key of a value of an object.
	Key string
	// Items are the elements of a list or the values of an object, in order.
	Items []Value
}

// Get returns the value of a key of an object, the last one of equal keys; nil if there is none.
func (v *Value) Get(key string) *Value {
	for i := len(v.Items) - 1; i >= 0 && v.Kind == Object; i-- {
		if v.Items[i].Key == key {
			return &v.Items[i]
		}
	}
	return nil
}

// Error says on which line a text stops being JSON.
type Error struct{ Line int }

// Error returns "line 2: this is not JSON".
func (e *Error) Error() string { return "line " + strconv.Itoa(e.Line) + ": this is not JSON" }

// Parse reads a text of one value.
//
// # Errors
//
// An *Error if it is not JSON (RFC 8259), or nested too deeply.
func Parse(data []byte) (Value, error) {
	p := parser{data: data}
	v, ok := p.value(0)
	if p.space(); ok && p.at == len(data) {
		return v, nil
	}
	line := 1
	for _, b := range data[:min(p.at, len(data))] {
		if b == '\n' {
			line++
		}
	}
	return Value{}, &Error{Line: line}
}

// maxDepth is how deep values may be nested.
const maxDepth = 1000

type parser struct {
	data []byte
	at   int
}

// peek returns the next byte; 0, which is nowhere in JSON, at the end.
func (p *parser) peek() byte {
	if p.at < len(p.data) {
		return p.data[p.at]
	}
	return 0
}

func (p *parser) space() {
	for b := p.peek(); b == ' ' || b == '\n' || b == '\r' || b == '\t'; b = p.peek() {
		p.at++
	}
}

// take reads a byte if it is the next one, perhaps after white space.
func (p *parser) take(b byte) bool {
	p.space()
	if p.peek() != b {
		return false
	}
	p.at++
	return true
}

func (p *parser) value(depth int) (v Value, ok bool) {
	if depth > maxDepth {
		return v, false
	}
	p.space()
	switch p.peek() {
	case Object:
		return p.items(Object, '}', depth)
	case List:
		return p.items(List, ']', depth)
	case String:
		v.Kind = String
		v.Text, ok = p.str()
		return v, ok
	case 't':
		return p.word(Bool, "true")
	case 'f':
		return p.word(Bool, "false")
	case 'n':
		return p.word(Null, "null")
	}
	return p.number()
}

func (p *parser) word(kind byte, word string) (Value, bool) {
	for i := range word {
		if p.peek() != word[i] {
			return Value{}, false
		}
		p.at++
	}
	return Value{Kind: kind, Text: word}, true
}

// items reads an object or a list.
func (p *parser) items(kind, end byte, depth int) (Value, bool) {
	v := Value{Kind: kind}
	p.at++
	if p.take(end) {
		return v, true
	}
	for {
		key := ""
		if kind == Object {
			var ok bool
			p.space()
			if key, ok = p.str(); !ok || !p.take(':') {
				return v, false
			}
		}
		item, ok := p.value(depth + 1)
		if !ok {
			return v, false
		}
		item.Key = key
		v.Items = append(v.Items, item)
		if !p.take(',') {
			return v, p.take(end)
		}
	}
}

func (p *parser) number() (Value, bool) {
	from := p.at
	if p.peek() == '-' {
		p.at++
	}
	zero := p.peek() == '0'
	if n := p.digits(); n == 0 || zero && n > 1 {
		return Value{}, false
	}
	if p.peek() == '.' {
		p.at++
		if p.digits() == 0 {
			return Value{}, false
		}
	}
	if b := p.peek(); b == 'e' || b == 'E' {
		p.at++
		if b = p.peek(); b == '+' || b == '-' {
			p.at++
		}
		if p.digits() == 0 {
			return Value{}, false
		}
	}
	return Value{Kind: Number, Text: string(p.data[from:p.at])}, true
}

func (p *parser) digits() int {
	from := p.at
	for b := p.peek(); b >= '0' && b <= '9'; b = p.peek() {
		p.at++
	}
	return p.at - from
}

// str reads a string. Bytes that are not UTF-8 become U+FFFD.
func (p *parser) str() (string, bool) {
	if p.peek() != '"' {
		return "", false
	}
	p.at++
	var out []byte
	for p.at < len(p.data) {
		b := p.data[p.at]
		switch {
		case b == '"':
			p.at++
			return string(out), true
		case b < ' ':
			return "", false
		case b == '\\':
			p.at++
			r, ok := p.escape()
			if !ok {
				return "", false
			}
			out = utf8.AppendRune(out, r)
		default:
			r, n := utf8.DecodeRune(p.data[p.at:])
			out = utf8.AppendRune(out, r)
			p.at += n
		}
	}
	return "", false
}

// escape reads what follows a backslash.
func (p *parser) escape() (rune, bool) {
	b := p.peek()
	p.at++
	switch b {
	case '"', '\\', '/':
		return rune(b), true
	case 'b':
		return '\b', true
	case 'f':
		return '\f', true
	case 'n':
		return '\n', true
	case 'r':
		return '\r', true
	case 't':
		return '\t', true
	case 'u':
		r, ok := p.hex()
		if !ok || !utf16.IsSurrogate(r) || p.peek() != '\\' || p.at+1 >= len(p.data) || p.data[p.at+1] != 'u' {
			return r, ok // a surrogate alone becomes U+FFFD
		}
		at := p.at
		p.at += 2
		low, ok := p.hex()
		if whole := utf16.DecodeRune(r, low); whole != utf8.RuneError {
			return whole, ok
		}
		p.at = at // the second is a character of its own
		return r, ok
	}
	p.at--
	return 0, false
}

func (p *parser) hex() (rune, bool) {
	if p.at+4 > len(p.data) {
		p.at = len(p.data)
		return 0, false
	}
	n, err := strconv.ParseUint(string(p.data[p.at:p.at+4]), 16, 16)
	if err != nil {
		return 0, false
	}
	p.at += 4
	return rune(n), true
}
