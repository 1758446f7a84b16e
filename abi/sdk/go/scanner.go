package berth

import (
	"errors"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// scanner reads JSON, just enough for a manifest. After the first mistake all its methods
// return immediately.
type scanner struct {
	data []byte
	at   int
	bad  bool
}

// end returns an error if there was a mistake, or if data follows.
func (s *scanner) end() error {
	s.space()
	if !s.bad && s.at == len(s.data) {
		return nil
	}
	line := 1
	for _, b := range s.data[:min(s.at, len(s.data))] {
		if b == '\n' {
			line++
		}
	}
	return errors.New("line " + strconv.Itoa(line) + ": unexpected JSON")
}

func (s *scanner) space() {
	for s.at < len(s.data) && (s.data[s.at] == ' ' || s.data[s.at] == '\n' || s.data[s.at] == '\r' || s.data[s.at] == '\t') {
		s.at++
	}
}

// peek returns the next byte that is not white space; 0 at the end.
func (s *scanner) peek() byte {
	s.space()
	if s.bad || s.at == len(s.data) {
		return 0
	}
	return s.data[s.at]
}

// take reads a required byte.
func (s *scanner) take(b byte) bool {
	if s.peek() != b {
		s.bad = true
		return false
	}
	s.at++
	return true
}

// object reads an object and calls f before each value, which f reads.
func (s *scanner) object(f func(key string)) {
	s.items('{', '}', func() {
		key := s.str()
		if s.take(':') {
			f(key)
		}
	})
}

// items reads comma-separated items between brackets.
func (s *scanner) items(from, to byte, f func()) {
	if !s.take(from) {
		return
	}
	if s.peek() == to {
		s.at++
		return
	}
	for f(); s.peek() == ','; f() {
		s.at++
	}
	s.take(to)
}

// strings reads an array of strings.
func (s *scanner) strings() []string {
	var all []string
	s.items('[', ']', func() { all = append(all, s.str()) })
	return all
}

// skip reads any value.
func (s *scanner) skip() {
	switch s.peek() {
	case '{':
		s.object(func(string) { s.skip() })
	case '[':
		s.items('[', ']', s.skip)
	case '"':
		s.str()
	default: // a number, true, false or null
		from := s.at
		for s.at < len(s.data) && (s.data[s.at] >= '0' && s.data[s.at] <= '9' || s.data[s.at] >= 'a' && s.data[s.at] <= 'z' ||
			s.data[s.at] == '-' || s.data[s.at] == '+' || s.data[s.at] == '.' || s.data[s.at] == 'E') {
			s.at++
		}
		s.bad = s.bad || s.at == from
	}
}

// str reads a string.
func (s *scanner) str() string {
	if !s.take('"') {
		return ""
	}
	var out []byte
	for s.at < len(s.data) {
		b := s.data[s.at]
		s.at++
		switch {
		case b == '"':
			return string(out)
		case b == '\\' && s.at < len(s.data):
			out = s.escape(out)
		default:
			out = append(out, b)
		}
	}
	s.bad = true
	return ""
}

// escape reads what follows a backslash.
func (s *scanner) escape(out []byte) []byte {
	b := s.data[s.at]
	s.at++
	switch b {
	case '"', '\\', '/':
		return append(out, b)
	case 'b':
		return append(out, '\b')
	case 'f':
		return append(out, '\f')
	case 'n':
		return append(out, '\n')
	case 'r':
		return append(out, '\r')
	case 't':
		return append(out, '\t')
	case 'u':
		r := s.hex()
		if utf16.IsSurrogate(r) && s.at+1 < len(s.data) && s.data[s.at] == '\\' && s.data[s.at+1] == 'u' {
			s.at += 2
			r = utf16.DecodeRune(r, s.hex())
		}
		return utf8.AppendRune(out, r)
	}
	s.bad = true
	return out
}

func (s *scanner) hex() rune {
	if s.at+4 > len(s.data) {
		s.bad = true
		return 0
	}
	n, err := strconv.ParseUint(string(s.data[s.at:s.at+4]), 16, 16)
	s.at += 4
	s.bad = s.bad || err != nil
	return rune(n)
}
