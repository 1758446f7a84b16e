package kube

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/berth-scheduler/berth/runtime/internal/clock"
)

// After an outage, a watch that is not answered is asked for again each rewatchEvery. client-go's informers do so with pauses that double
// from 0.8 s to a minute and are forgotten only two minutes after the last one (tools/cache, Reflector), so that the scheduler
// would not see pods for that long after the API server is back.
const (
	rewatchEvery = time.Second
	// rewatchRefused is how often a refusal counts as part of the outage: an API server that has just begun does not know the roles yet.
	rewatchRefused = 5
)

// rewatch repeats watches during an outage.
type rewatch struct{ clock clock.Clock }

// client returns a client whose watches wait for the end of an outage, or of their context.
func (r rewatch) client(c *http.Client) *http.Client { return passing(c, r.pass) }

func (r rewatch) pass(q *http.Request, next http.RoundTripper) (*http.Response, error) {
	if q.Method != http.MethodGet || q.URL.Query().Get("watch") == "" {
		return next.RoundTrip(q)
	}
	for out, refused := false, 0; ; {
		response, err := next.RoundTrip(q)
		switch {
		case err != nil && q.Context().Err() == nil && outageOf(&url.Error{Op: q.Method, URL: q.URL.Path, Err: err}) == noAnswer:
			out, refused = true, 0
		case err == nil && out && refused < rewatchRefused && isStarting(response.StatusCode):
			refused++
			_ = response.Body.Close() // what it says is not needed
		default:
			return response, err
		}
		reached, stop := r.clock.Until(r.clock.Now().Add(rewatchEvery))
		select {
		case <-reached:
		case <-q.Context().Done():
			stop()
			return nil, context.Cause(q.Context())
		}
	}
}

// isStarting reports whether an API server that has just begun may answer so.
func isStarting(status int) bool {
	return status == http.StatusForbidden || status == http.StatusUnauthorized || status == http.StatusServiceUnavailable
}
