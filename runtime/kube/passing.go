package kube

import "net/http"

// passing returns a client whose requests go through pass, which passes them on to next.
func passing(c *http.Client, pass func(q *http.Request, next http.RoundTripper) (*http.Response, error)) *http.Client {
	out := *c
	if out.Transport == nil {
		out.Transport = http.DefaultTransport
	}
	out.Transport = &passed{pass, out.Transport}
	return &out
}

type passed struct {
	pass func(q *http.Request, next http.RoundTripper) (*http.Response, error)
	next http.RoundTripper
}

// WrappedRoundTripper lets client-go find the transport (k8s.io/apimachinery/pkg/util/net).
func (p *passed) WrappedRoundTripper() http.RoundTripper { return p.next }

// RoundTrip implements http.RoundTripper.
func (p *passed) RoundTrip(q *http.Request) (*http.Response, error) { return p.pass(q, p.next) }
