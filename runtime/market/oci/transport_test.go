package oci

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	special "github.com/berth-scheduler/berth/runtime/internal/addresses"
)

// tripper is the network: it answers with an error.
type tripper struct{ asked []string }

func (n *tripper) RoundTrip(r *http.Request) (*http.Response, error) {
	n.asked = append(n.asked, r.URL.Host)
	return nil, fmt.Errorf("dial tcp %s: connection refused, or whatever tells what is there", r.URL.Host)
}

// TestSentOn: a server that the user named cannot send the client on to private or special addresses, by name or number, also through
// a proxy, which resolves names itself. If the named server has such an address, it may. All failures read alike.
func TestSentOn(t *testing.T) {
	addresses := map[string]string{
		"registry.example": "93.184.216.34", "blobs.example": "2606:2800:220:1::1", "registry.corp": "10.1.2.3", "blobs.corp": "192.168.7.7",
		"both.example": "93.184.216.34 10.0.0.1",
	}
	lookup := func(_ context.Context, host string) (out []netip.Addr, err error) {
		for text := range strings.FieldsSeq(addresses[host]) {
			out = append(out, netip.MustParseAddr(text))
		}
		if out == nil {
			err = errors.New("no such host")
		}
		return out, err
	}
	ask := func(named, target string) (bool, error) {
		network := &tripper{}
		r, err := http.NewRequestWithContext(Named(t.Context(), named), http.MethodGet, target, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = (&guarded{ranges: special.NewRanges(), inner: network, lookup: lookup}).RoundTrip(r)
		return len(network.asked) > 0, err
	}
	inside := []string{
		"10.0.0.1", "172.16.9.9", "192.168.0.1", "[fd00::1]", "[fd00:ec2::254]", "[fe80::1]", "169.254.169.254", "168.63.129.16", "100.64.0.1",
		"100.100.100.200", "[64:ff9b::a00:1]", "[64:ff9b::5db8:d822]", "[::ffff:10.0.0.1]", "127.0.0.1", "[::1]", "localhost",
		"0.0.0.0", "198.18.0.1",
		"192.0.0.192", "240.0.0.1", "[2002:a00:1::]", "registry.corp", "blobs.corp", "both.example",
	}
	for _, host := range inside {
		asked, err := ask("registry.example", "https://"+host+":8443/x")
		want := "registry.example: the server sends the client on to " + host + ":8443, which cannot be asked"
		if asked || err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: asked %v, %v", host, asked, err)
		}
	}
	closed, err := ask("registry.example", "https://blobs.example/x")
	const want = "the server sends the client on to blobs.example, which cannot be asked"
	if !closed || err == nil || !strings.Contains(err.Error(), want) ||
		strings.Contains(err.Error(), "refused") {
		t.Errorf("asked %v, %v", closed, err)
	}
	for _, c := range [][2]string{
		{"registry.corp", "https://blobs.corp/x"}, {"registry.corp", "https://10.9.9.9/x"}, {"10.1.2.3", "https://blobs.corp/x"},
		{"registry.corp", "https://blobs.example/x"},
		{"registry.example", "https://known-to-the-proxy.example/x"}, {"localhost", "http://127.0.0.1:5000/x"},
		{"registry.example", "https://registry.example/x"},
		{"registry.corp", "http://registry.corp/x"},
	} {
		if asked, err := ask(c[0], c[1]); !asked || err == nil {
			t.Errorf("%s does not send on to %s: %v", c[0], c[1], err)
		}
	}
	for _, c := range [][2]string{
		{"registry.corp", "https://127.0.0.1/x"}, {"registry.example", "http://blobs.example/x"}, {"", "https://10.0.0.1/x"},
	} {
		if asked, err := ask(c[0], c[1]); asked || err == nil || !strings.Contains(err.Error(), "which cannot be asked") {
			t.Errorf("%q sends on to %s: %v", c[0], c[1], err)
		}
	}
}

// TestCheckAddress: what a name resolves to when it is connected is checked again, because it may be another address by then.
func TestCheckAddress(t *testing.T) {
	for resolved, private := range map[string]bool{
		"10.0.0.1:443": true, "[fd00::1]:443": true, "[64:ff9b::a00:1]:443": true, "93.184.216.34:443": false, "[2606:2800:220:1::1]:443": false,
	} {
		if err := check(special.NewRanges(), "registry.example", resolved, true); err != nil {
			t.Errorf("%s is refused to who named it: %v", resolved, err)
		}
		if err := check(special.NewRanges(), "registry.example", resolved, false); (err != nil) != private {
			t.Errorf("%s: %v", resolved, err)
		}
	}
	for _, never := range []string{
		"169.254.169.254:80", "[64:ff9b::a9fe:a9fe]:80", "[::ffff:169.254.169.254]:80", "168.63.129.16:80", "[64:ff9b::a83f:8110]:80",
		"[fd00:ec2::254]:80",
		"127.0.0.1:80", "[64:ff9b::7f00:1]:80", "0.0.0.0:80",
	} {
		if err := check(special.NewRanges(), "registry.example", never, true); err == nil {
			t.Errorf("%s is connected to", never)
		}
	}
}
