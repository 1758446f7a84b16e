package cluster

import (
	"context"
	"net"
	"net/http"
)

// SocketClient returns a client of what a scheduler serves at its debug socket. The host
// in URLs may be any.
func SocketClient(socket string) *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
}
