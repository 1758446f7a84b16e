package nodeselector

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/internal/seeded"
)

func TestParseInt(t *testing.T) {
	check := func(t interface{ Errorf(string, ...any) }, s string) {
		want, err := strconv.ParseInt(s, 10, 64)
		if got, ok := parseInt(s); ok != (err == nil) || ok && got != want {
			t.Errorf("%q: got %d %v, want %d %v", s, got, ok, want, err)
		}
	}
	for _, s := range []string{"", "-", "+", "0", "-0", "+7", "007", "1_000", "0x1", "9223372036854775807", "9223372036854775808",
		"-9223372036854775808", "-9223372036854775809", "18446744073709551616", "99999999999999999999", "1-", "١"} {
		check(t, s)
	}
	seeded.Check(t, func(rt *rapid.T) { check(rt, rapid.StringMatching(`[-+]?[0-9]{0,21}[a-z]?`).Draw(rt, "s")) })
}
