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

// maxHeader is the maximum size of an answer's headers, in bytes.
const maxHeader = 64 << 10

// NewTransport returns a transport for untrusted registries and web servers. Their answers may
// redirect the client, so it does not connect to addresses that only this machine or its cloud
// can reach: never to link-local and metadata addresses, and to this machine only if the user
// named it.
func NewTransport() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxResponseHeaderBytes = maxHeader
	t.ResponseHeaderTimeout = 30 * time.Second
	t.DisableCompression = true // the limits count the bytes that arrive
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

// checkAddress checks the address that a host's name resolved to.
func checkAddress(host, resolved string) error {
	at, err := netip.ParseAddrPort(resolved)
	if err != nil {
		return err
	}
	ip := at.Addr().Unmap().WithZone("")
	switch {
	case ip.IsLinkLocalUnicast(), ip.IsMulticast(), ip.IsUnspecified(), isMetadata(ip):
		return &Error{Ref: host, Detail: fmt.Sprintf("%s is a link-local or metadata address, which no registry has", ip), Fix: "use the registry's public address"}
	case ip.IsLoopback() && !isLocal(host):
		return &Error{Ref: host, Detail: fmt.Sprintf("its name resolves to %s, this machine", ip), Fix: "write localhost if you mean this machine"}
	}
	return nil
}

// isMetadata reports whether the address is a cloud metadata service that is not link-local:
// AWS over IPv6, Alibaba and Oracle.
func isMetadata(ip netip.Addr) bool {
	switch ip.String() {
	case "fd00:ec2::254", "100.100.100.200", "192.0.0.192":
		return true
	}
	return false
}

// isLocal reports whether a host is this machine, by name or address.
func isLocal(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// guarded refuses redirects to internal addresses.
type guarded struct{ inner http.RoundTripper }

type namedKey struct{}

// Named returns a context for requests to a host that the user named. Without it, a request to
// this machine counts as a redirect.
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
		return nil, &Error{Ref: named, Detail: "the server redirects to " + host + ", this machine", Fix: "ask the registry's operator"}
	case r.URL.Scheme != "https" && !isLocal(named):
		return nil, &Error{Ref: named, Detail: "the server redirects to " + r.URL.Host + " without TLS", Fix: "ask the registry's operator"}
	}
	response, err := g.inner.RoundTrip(r)
	var refused *Error
	if errors.As(err, &refused) {
		return nil, refused
	}
	return response, err
}
