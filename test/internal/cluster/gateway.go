package cluster

import (
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"k8s.io/client-go/rest"
)

// GatewayConfig configures what a Gateway does besides forwarding requests. The functions are
// called from several goroutines.
type GatewayConfig struct {
	// Answer (optional) answers a request instead of the API server, and returns true; or
	// returns false, possibly after a while, and the request is forwarded.
	Answer func(w http.ResponseWriter, r *http.Request) bool
	// Passed (optional) is called with the answers of the API server before the client gets
	// them. It may change them.
	Passed func(*http.Response)
}

// Gateway is a reverse proxy for the API server, for tests in which the requests matter and not
// just the bytes, as in a Proxy: it has the API server's own certificate.
type Gateway struct {
	url    string
	server *http.Server
	done   chan error
}

// NewGateway listens on a free port for requests to the API server.
func (c *Cluster) NewGateway(config GatewayConfig) (*Gateway, error) {
	certificate, err := tls.LoadX509KeyPair(c.certificate(), c.privateKey())
	if err != nil {
		return nil, err
	}
	// Without a token: clients send theirs.
	transport, err := rest.TransportFor(&rest.Config{Host: c.URL(), TLSClientConfig: rest.TLSClientConfig{CAFile: c.certificate()}})
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(c.URL())
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", hostPort(0))
	if err != nil {
		return nil, err
	}
	quiet := log.New(io.Discard, "", 0) // clients that are killed, and an unreachable API server
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, Transport: transport, ErrorLog: quiet,
		FlushInterval: -1, // a watch forwards events at once
		ModifyResponse: func(r *http.Response) error {
			if config.Passed != nil {
				config.Passed(r)
			}
			return nil
		},
	}
	g := &Gateway{url: "https://" + listener.Addr().String(), done: make(chan error, 1), server: &http.Server{
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		ErrorLog:  quiet, ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if config.Answer == nil || !config.Answer(w, r) {
				proxy.ServeHTTP(w, r)
			}
		}),
	}}
	go func() { g.done <- g.server.ServeTLS(listener, "", "") }()
	return g, nil
}

// URL is what a client connects to.
func (g *Gateway) URL() string { return g.url }

// Close stops the gateway and closes all its connections.
func (g *Gateway) Close() error {
	err := g.server.Close()
	if served := <-g.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
