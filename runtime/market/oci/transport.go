package oci

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// maxHeader is the maximum size of an answer's headers, in bytes.
const maxHeader = 64 << 10

// firstByte is how long a server may take until its answer begins: while one does not answer, others wait for the worker that asks.
const firstByte = 10 * time.Second

// NewTransport returns a transport for untrusted registries and web servers. Their answers may
// send the client on, by a redirect or to a realm for tokens. So it connects to private and special addresses only if the host
// that the user named has one, to this machine only if the user named it, and never to link-local and metadata addresses.
func NewTransport() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxResponseHeaderBytes = maxHeader
	t.ResponseHeaderTimeout = firstByte
	t.DisableCompression = true // the limits count the bytes that arrive
	special := newRanges()
	direct := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	t.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		private := true
		if sentOn, _ := ctx.Value(sentOnKey{}).(string); sentOn == host { // not a proxy
			private = false
		}
		dialer := *direct
		dialer.ControlContext = func(_ context.Context, _, resolved string, _ syscall.RawConn) error {
			return special.check(host, resolved, private)
		}
		return dialer.DialContext(ctx, network, addr)
	}
	return &guarded{inner: t, ranges: special, lookup: func(ctx context.Context, host string) ([]netip.Addr, error) {
		return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	}}
}

// ranges are addresses that need care.
type ranges struct {
	nat64   netip.Prefix   // where IPv6 translates IPv4 addresses (RFC 6052)
	special []netip.Prefix // beside those that package netip knows (RFC 6890)
}

func newRanges() *ranges {
	r := &ranges{nat64: netip.MustParsePrefix("64:ff9b::/96")}
	for _, special := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "198.18.0.0/15", "240.0.0.0/4", // this network, carriers, protocols, benchmarks, future
		"64:ff9b:1::/48", "2001::/23", "2002::/16", "fec0::/10", // translation, protocols, 6to4, site-local
	} {
		r.special = append(r.special, netip.MustParsePrefix(special))
	}
	return r
}

// check checks the address that a host's name resolved to. private allows private and special addresses.
func (r *ranges) check(host, resolved string, private bool) error {
	at, err := netip.ParseAddrPort(resolved)
	if err != nil {
		return err
	}
	ip := r.plain(at.Addr())
	switch {
	case ip.IsLinkLocalUnicast(), ip.IsMulticast(), ip.IsUnspecified(), isMetadata(ip):
		return &Error{Ref: host, Detail: fmt.Sprintf("%s is a link-local or metadata address, which no registry has", ip), Fix: "use the registry's public address"}
	case ip.IsLoopback() && !IsLocal(host):
		return &Error{Ref: host, Detail: fmt.Sprintf("its name resolves to %s, this machine", ip), Fix: "write localhost if you mean this machine"}
	case !private && r.internal(at.Addr()) && !IsLocal(host):
		return &Error{Ref: host, Detail: fmt.Sprintf("%s is a private or special address", ip)}
	}
	return nil
}

// plain returns an IPv4 address also where IPv6 maps or translates it.
func (r *ranges) plain(ip netip.Addr) netip.Addr {
	ip = ip.Unmap().WithZone("")
	if r.nat64.Contains(ip) {
		b := ip.As16()
		return netip.AddrFrom4([4]byte(b[12:]))
	}
	return ip
}

// internal reports whether an address is private, special or this machine's.
func (r *ranges) internal(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	return ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsMulticast() || ip.IsUnspecified() ||
		isMetadata(ip) || r.nat64.Contains(ip) ||
		slices.ContainsFunc(r.special, func(special netip.Prefix) bool { return special.Contains(ip) })
}

// isMetadata reports whether the address is a cloud metadata service that is not link-local:
// AWS over IPv6, Alibaba, Oracle and Azure.
func isMetadata(ip netip.Addr) bool {
	switch ip.String() {
	case "fd00:ec2::254", "100.100.100.200", "192.0.0.192", "168.63.129.16":
		return true
	}
	return false
}

// IsLocal reports whether a host is this machine, by name or address.
func IsLocal(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// guarded refuses to be sent on to internal addresses.
type guarded struct {
	inner  http.RoundTripper
	ranges *ranges
	lookup func(ctx context.Context, host string) ([]netip.Addr, error)
}

type (
	namedKey  struct{}
	sentOnKey struct{} // the host of a request that a server sent on, if it may not be internal
)

// Named returns a context for requests to a host that the user named. Without it, a request to
// this machine counts as a redirect.
func Named(ctx context.Context, host string) context.Context {
	return context.WithValue(ctx, namedKey{}, host)
}

// RoundTrip implements http.RoundTripper. Whatever fails at a host that a server sent it on to gives one error, because tenants
// read it, and could otherwise look around in the network.
func (g *guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	named, _ := r.Context().Value(namedKey{}).(string)
	host := r.URL.Hostname()
	if host == named {
		response, err := g.inner.RoundTrip(r)
		var refused *Error
		if errors.As(err, &refused) {
			return nil, refused
		}
		return response, err
	}
	if IsLocal(named) {
		return g.inner.RoundTrip(r)
	}
	failed := &Error{
		Ref: named, Detail: "the server sends the client on to " + r.URL.Host + ", which cannot be asked",
		Fix: "ask the registry's operator: private addresses, this machine, and servers without TLS are never asked",
	}
	if IsLocal(host) || r.URL.Scheme != "https" {
		return nil, failed
	}
	ctx := r.Context()
	if !g.internal(ctx, named) {
		if g.internal(ctx, host) {
			return nil, failed
		}
		ctx = context.WithValue(ctx, sentOnKey{}, host)
	}
	response, err := g.inner.RoundTrip(r.WithContext(ctx))
	if err != nil && ctx.Err() == nil {
		return nil, failed
	}
	return response, err
}

// internal reports whether one of a host's addresses is internal. Of a name that only a proxy knows nobody can tell.
func (g *guarded) internal(ctx context.Context, host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return g.ranges.internal(ip)
	}
	found, err := g.lookup(ctx, host)
	return err == nil && slices.ContainsFunc(found, g.ranges.internal)
}
