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

	"github.com/berth-scheduler/berth/runtime/internal/addresses"
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
	special := addresses.NewRanges()
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
			return check(special, host, resolved, private)
		}
		return dialer.DialContext(ctx, network, addr)
	}
	return &guarded{inner: t, ranges: special, lookup: func(ctx context.Context, host string) ([]netip.Addr, error) {
		return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	}}
}

// check checks the address that a host's name resolved to. private allows private and special addresses.
func check(r *addresses.Ranges, host, resolved string, private bool) error {
	at, err := netip.ParseAddrPort(resolved)
	if err != nil {
		return err
	}
	ip := r.Plain(at.Addr())
	switch {
	case r.Never(ip):
		return &Error{Ref: host, Detail: fmt.Sprintf("%s is a link-local or metadata address, which no registry has", ip), Fix: "use the registry's public address"}
	case ip.IsLoopback() && !IsLocal(host):
		return &Error{Ref: host, Detail: fmt.Sprintf("its name resolves to %s, this machine", ip), Fix: "write localhost if you mean this machine"}
	case !private && r.Internal(at.Addr()) && !IsLocal(host):
		return &Error{Ref: host, Detail: fmt.Sprintf("%s is a private or special address", ip)}
	}
	return nil
}

// IsLocal reports whether a host is this machine, by name or address.
func IsLocal(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// guarded refuses to be sent on to internal addresses.
type guarded struct {
	inner  http.RoundTripper
	ranges *addresses.Ranges
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
		return g.ranges.Internal(ip)
	}
	found, err := g.lookup(ctx, host)
	return err == nil && slices.ContainsFunc(found, g.ranges.Internal)
}
