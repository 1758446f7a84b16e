package kube

import (
	"context"
	"net"
	"net/http"
	"time"
)

// fenced rejects writes that the lease does not cover. It comes after the rate limit, where
// a request may have waited for long.
type fenced struct {
	covers func() error // why nothing may be written
	next   http.RoundTripper
}

// wrap fences writes to the cluster, which only the leader may make.
func (t *tenure) wrap(next http.RoundTripper) http.RoundTripper {
	return &fenced{covers: t.check, next: next}
}

// wrapEvents fences events. One of them reports that the lease is released.
func (t *tenure) wrapEvents(next http.RoundTripper) http.RoundTripper {
	return &fenced{covers: t.lost, next: next}
}

// WrappedRoundTripper lets client-go find the transport (k8s.io/apimachinery/pkg/util/net).
func (f *fenced) WrappedRoundTripper() http.RoundTripper { return f.next }

// RoundTrip implements http.RoundTripper.
func (f *fenced) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		if err := f.covers(); err != nil {
			if r.Body != nil {
				_ = r.Body.Close() // as a RoundTripper must, whatever it returns
			}
			return nil, err
		}
	}
	return f.next.RoundTrip(r)
}

// dial connects to the API server. After the lease is lost, bytes that are still in the
// transport are not written to the connection, and bytes that the kernel has not sent are
// dropped. They could otherwise be sent late, after an interruption of the network.
func (t *tenure) dial(ctx context.Context, network, address string) (net.Conn, error) {
	const patience = 30 * time.Second // and the interval, both as client-go has them
	c, err := (&net.Dialer{Timeout: patience, KeepAlive: patience}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	f := &fencedConn{Conn: c, tenure: t}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conns == nil {
		t.conns = make(map[*fencedConn]bool)
	}
	t.conns[f] = true
	return f, nil
}

// fencedConn is a connection for requests that the lease must cover.
type fencedConn struct {
	net.Conn
	tenure *tenure
}

// Write implements net.Conn.
func (c *fencedConn) Write(b []byte) (int, error) {
	if err := c.tenure.lost(); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// Read implements net.Conn. After an abort its error blames the lease, not the API server.
func (c *fencedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		if lost := c.tenure.lost(); lost != nil {
			err = lost
		}
	}
	return n, err
}

// Close implements net.Conn.
func (c *fencedConn) Close() error {
	c.tenure.mu.Lock()
	delete(c.tenure.conns, c)
	c.tenure.mu.Unlock()
	return c.Conn.Close()
}

// abort closes the connection and drops unsent bytes.
func (c *fencedConn) abort() {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}
