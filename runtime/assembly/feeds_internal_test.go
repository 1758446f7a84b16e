package assembly

import (
	"fmt"
	"testing"
)

// TestUndeclared: a module may read feeds that are declared in its unit; where nothing is known of feeds, it may read any.
func TestUndeclared(t *testing.T) {
	declared := []string{"load:milli", "power:watts"}
	for _, c := range []struct {
		reads, declared []string
		want            string
	}{
		{nil, []string{}, ""},
		{[]string{"load:milli", "power:watts"}, declared, ""},
		{[]string{"anything:x"}, nil, ""},
		{[]string{"load:milli", "heat:kelvin"}, declared, "it reads the feed heat:kelvin, which is not declared: declare it in the file of --feeds"},
		{[]string{"power:milli"}, declared, "it reads the feed power in the unit milli, and the feed is declared in watts: " +
			"declare it in milli under this name, and under another in watts"},
	} {
		got := ""
		if err := undeclared(c.reads, c.declared); err != nil {
			got = fmt.Sprint(err)
		}
		if got != c.want {
			t.Errorf("%v of %v: %q, want %q", c.reads, c.declared, got, c.want)
		}
	}
}
