package kube

import "net/http"

// eventsInFlight is how many events are on their way at most: client-go starts a
// goroutine for each.
const eventsInFlight = 32

// inFlight lets some requests through at once. Those that wait keep their order.
type inFlight struct {
	next  http.RoundTripper
	slots chan struct{}
}

func newInFlight(n int) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		return &inFlight{next: next, slots: make(chan struct{}, n)}
	}
}

// WrappedRoundTripper lets client-go find the transport (k8s.io/apimachinery/pkg/util/net).
func (f *inFlight) WrappedRoundTripper() http.RoundTripper { return f.next }

// RoundTrip implements http.RoundTripper.
func (f *inFlight) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet { // lists are few, and watches stay
		return f.next.RoundTrip(r)
	}
	select {
	case f.slots <- struct{}{}:
	case <-r.Context().Done():
		if r.Body != nil {
			_ = r.Body.Close() // as a RoundTripper must, whatever it returns
		}
		return nil, r.Context().Err()
	}
	defer func() { <-f.slots }()
	return f.next.RoundTrip(r)
}
