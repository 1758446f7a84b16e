package oci

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// maxHeader is the bytes of the headers of an answer at most.
const maxHeader = 64 << 10

// NewTransport returns a transport for registries and web servers of strangers. An
// answer of theirs may send the client elsewhere, so it connects to no address that
// only this machine or its cloud answers, unless the user named it: link-local and
// metadata addresses never, this machine only by its own name.
func NewTransport() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxResponseHeaderBytes = maxHeader
	t.ResponseHeaderTimeout = 30 * time.Second
	t.DisableCompression = true // what arrives is what is counted
	direct := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	t.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		dialer := *direct
		dialer.ControlContext = func(_ context.Context, _, resolved string, _ syscall.RawConn) error {
			return checkAddress(host, resolved)
		}
		return dialer.DialContext(ctx, network, addr)
	}
	return &guarded{inner: t}
}

// checkAddress judges the address that a host's name resolved to.
func checkAddress(host, resolved string) error {
	at, err := netip.ParseAddrPort(resolved)
	if err != nil {
		return err
	}
	ip := at.Addr().Unmap().WithZone("")
	switch {
	case ip.IsLinkLocalUnicast(), ip.IsMulticast(), ip.IsUnspecified(), isMetadata(ip):
		return &Error{Ref: host, Detail: fmt.Sprintf("%s is a link-local or metadata address: no registry is there", ip), Fix: "name the registry by its own address"}
	case ip.IsLoopback() && !isLocal(host):
		return &Error{Ref: host, Detail: fmt.Sprintf("its name leads to %s, this machine", ip), Fix: "write localhost if that is meant"}
	}
	return nil
}

// isMetadata reports the addresses of clouds' metadata services that are not
// link-local: AWS by IPv6, Alibaba and Oracle.
func isMetadata(ip netip.Addr) bool {
	switch ip.String() {
	case "fd00:ec2::254", "100.100.100.200", "192.0.0.192":
		return true
	}
	return false
}

// isLocal reports whether a host is this machine by name or address.
func isLocal(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// guarded refuses what a server may not send a client to.
type guarded struct{ inner http.RoundTripper }

type namedKey struct{}

// Named returns a context for requests to a host that the user named. Without it a
// request to this machine counts as one that a server led to.
func Named(ctx context.Context, host string) context.Context {
	return context.WithValue(ctx, namedKey{}, host)
}

// RoundTrip implements http.RoundTripper.
func (g *guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	named, _ := r.Context().Value(namedKey{}).(string)
	host := r.URL.Hostname()
	switch {
	case host == named:
	case isLocal(host) && !isLocal(named):
		return nil, &Error{Ref: named, Detail: "the server leads to " + host + ", this machine", Fix: "ask who runs the registry"}
	case r.URL.Scheme != "https" && !isLocal(named):
		return nil, &Error{Ref: named, Detail: "the server leads to " + r.URL.Host + " without TLS", Fix: "ask who runs the registry"}
	}
	response, err := g.inner.RoundTrip(r)
	var refused *Error
	if errors.As(err, &refused) {
		return nil, refused
	}
	return response, err
}
