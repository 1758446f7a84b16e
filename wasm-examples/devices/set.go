package devices

import (
	"math/bits"
	"strconv"
	"strings"
)

// Most is the maximum number of devices of a node; their numbers are lower.
const Most = 256

// set is a set of devices, one bit each.
type set [Most / 64]uint64

func (s *set) add(n int)      { s[n/64] |= 1 << (n % 64) }
func (s *set) has(n int) bool { return s[n/64]>>(n%64)&1 != 0 }

func (s *set) len() int {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// addAll adds the devices of another set; without removes them.
func (s *set) addAll(other *set) {
	for i := range s {
		s[i] |= other[i]
	}
}

func (s *set) without(other *set) {
	for i := range s {
		s[i] &^= other[i]
	}
}

// parse reads numbers and ranges, such as `0-3,8`. It skips invalid ones, and numbers that are
// Most or more.
func parse(text string) set {
	var s set
	for len(text) > 0 {
		part, rest, _ := strings.Cut(text, ",")
		text = rest
		from, to, ranged := strings.Cut(part, "-")
		first, ok := number(from)
		last, alsoOK := number(to)
		if !ranged {
			last, alsoOK = first, true
		}
		for n := first; ok && alsoOK && n <= min(last, Most-1); n++ {
			s.add(n)
		}
	}
	return s
}

// onNode reads the devices of a node: a single number is a count, from 0 on; otherwise it is
// numbers and ranges.
func onNode(text string) set {
	n, ok := number(text)
	if !ok {
		return parse(text)
	}
	var s set
	for i := range min(n, Most) {
		s.add(i)
	}
	return s
}

// number reads a decimal number without a sign.
func number(text string) (int, bool) {
	n := 0
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return 0, false
		}
		n = min(10*n+int(text[i]-'0'), 1<<30)
	}
	return n, text != ""
}

// text writes the numbers, separated by commas.
func (s *set) text() string {
	var out []byte
	for n := range Most {
		if s.has(n) {
			if len(out) > 0 {
				out = append(out, ',')
			}
			out = strconv.AppendInt(out, int64(n), 10)
		}
	}
	return string(out)
}

// pick chooses n devices: the shortest run of adjacent ones that is long enough, the first of
// equals; otherwise the lowest numbers. ok is false if there are too few.
func (s *set) pick(n int) (chosen set, ok bool) {
	best, bestLength := -1, Most+1
	for from := 0; from < Most; {
		if !s.has(from) {
			from++
			continue
		}
		to := from
		for to < Most && s.has(to) {
			to++
		}
		if length := to - from; length >= n && length < bestLength {
			best, bestLength = from, length
		}
		from = to
	}
	for i := max(best, 0); i < Most && n > 0; i++ {
		if s.has(i) {
			chosen.add(i)
			n--
		}
	}
	return chosen, n == 0
}
