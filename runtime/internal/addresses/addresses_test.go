package addresses_test

import (
	"net/netip"
	"testing"

	"github.com/berth-scheduler/berth/runtime/internal/addresses"
)

// TestRanges: an address that nobody means is found also behind IPv6, and one that only a user may mean is internal.
func TestRanges(t *testing.T) {
	r := addresses.NewRanges()
	for text, want := range map[string][2]bool{ // never, internal
		"169.254.169.254": {true, true}, "::ffff:169.254.169.254": {true, true}, "64:ff9b::a9fe:a9fe": {true, true}, "fe80::1": {true, true},
		"100.100.100.200": {true, true}, "fd00:ec2::254": {true, true}, "0.0.0.0": {true, true}, "224.0.0.1": {true, true},
		"127.0.0.1": {false, true}, "10.1.2.3": {false, true}, "100.64.0.1": {false, true}, "2002::1": {false, true},
		"8.8.8.8": {false, false}, "2606:4700::1": {false, false},
	} {
		ip := netip.MustParseAddr(text)
		if got := [2]bool{r.Never(ip), r.Internal(ip)}; got != want {
			t.Errorf("%s: never %t, internal %t, want %v", text, got[0], got[1], want)
		}
	}
}
