package devices

import (
	"strings"
	"testing"
)

// TestSets: invalid numbers are skipped, and what is written reads the same.
func TestSets(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "0": "0", "0,1": "0,1", "1,0,1": "0,1", "0-3,6-7": "0,1,2,3,6,7", "5-5": "5", "3-1": "", "254-999": "254,255", "256": "",
		"x": "", "1,x,2": "1,2", "-1": "", "1-": "", "1-2-3": "", " 1": "", "1, 2": "1", "99999999999999999999": "", ",,4,": "4",
	} {
		s := parse(text)
		if got := s.text(); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
		if again := parse(s.text()); again != s {
			t.Errorf("%q is read again as %q", s.text(), again.text())
		}
	}
	for text, want := range map[string]int{"": 0, "0": 0, "8": 8, "300": Most, "0-3": 4, "6-6": 1, "many": 0, "-4": 0} {
		s := onNode(text)
		if got := s.len(); got != want {
			t.Errorf("a node with %q has %d devices, want %d", text, got, want)
		}
	}
}

// TestPick: the shortest run that is long enough, otherwise the lowest numbers.
func TestPick(t *testing.T) {
	for _, c := range []struct {
		free string
		n    int
		want string // empty if there are too few
	}{
		{"0-7", 2, "0,1"},
		{"0-3,5-6", 2, "5,6"},
		{"0-3,5-6", 3, "0,1,2"},
		{"1,3,5", 2, "1,3"},
		{"0-1,3-4,6", 2, "0,1"},
		{"254-255", 2, "254,255"},
		{"0-1", 3, ""},
		{"", 1, ""},
		{"0-255", 256, strings.TrimPrefix(every(), ",")},
	} {
		free := parse(c.free)
		chosen, ok := free.pick(c.n)
		if got := chosen.text(); ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%d of %s: %q %v, want %q", c.n, c.free, got, ok, c.want)
		}
	}
}

func every() string {
	all := onNode("256")
	return all.text()
}
