package cluster

import (
	"context"
	"net"
	"net/http"
)

// SocketClient returns an HTTP client for a scheduler's debug socket. The host in URLs is
// ignored.
func SocketClient(socket string) *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
}
