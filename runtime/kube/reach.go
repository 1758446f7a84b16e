package kube

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/berth-scheduler/berth/runtime/internal/clock"
)

// Reach tracks whether the API server answers and accepts the scheduler's credentials, from
// the results of the Clients' requests. A Cluster logs each change once.
type Reach struct {
	changed chan struct{} // has an element when told is out of date

	mu sync.Mutex
	// failing is the outage since the first failed request after which none was answered.
	// lasts means that a later request failed, too.
	failing outage
	lasts   bool
	// credentials and authority say where those of this connection come from.
	credentials, authority string
}

// outage is a time in which no request succeeds.
type outage struct {
	kind  string // empty for no outage
	since time.Time
	err   error
	// remedy says what to do; empty if waiting is enough.
	remedy string
}

// outagePatience is how long no request may succeed before an outage is reported, because
// single failures are common.
const outagePatience = 500 * time.Millisecond

// outageConsequence is what noAnswer means for writes.
const outageConsequence = ": all writes are queued until it does"

// The kinds of outage, as logged.
const (
	noAnswer      = "the API server does not answer" + outageConsequence
	noCredentials = "the API server does not accept the scheduler's credentials (401 Unauthorized)"
	noTrust       = "the certificate of the API server is not trusted (x509)"
)

// NewReach returns a Reach for Connection.Reach.
func NewReach() *Reach { return &Reach{changed: make(chan struct{}, 1)} }

// Says reports whether an error is part of the present outage. The Cluster logs the outage,
// so callers need not log the error.
func (r *Reach) Says(err error) bool {
	if r == nil || err == nil || outageOf(err) == "" {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failing.kind != ""
}

// outageOf returns the kind of outage that an error indicates, or "" if the error is an
// answer or no request was sent.
func outageOf(err error) string {
	var (
		request   *url.Error
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
	)
	switch {
	case errors.Is(err, ErrLeaseLost), errors.Is(err, context.Canceled):
		return ""
	case errors.As(err, &authority), errors.As(err, &host), errors.As(err, &invalid):
		return noTrust
	case apierrors.IsUnauthorized(err):
		return noCredentials
	case errors.As(err, &request), errors.Is(err, context.DeadlineExceeded):
		return noAnswer
	}
	return ""
}

// ended records the result of a request.
func (r *Reach) ended(err error, now time.Time) {
	kind := ""
	if err != nil {
		if kind = outageOf(err); kind == "" {
			return
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case kind == "":
		if r.lasts {
			r.signal()
		}
		r.failing, r.lasts = outage{}, false
	case r.failing.kind != kind:
		if r.lasts { // the kind of outage has changed
			r.signal()
		}
		since := r.failing.since
		if since.IsZero() {
			since = now
		}
		r.failing = outage{kind: kind, since: since, err: err, remedy: r.remedy(kind, err)}
	case !r.lasts && now.Sub(r.failing.since) >= outagePatience:
		r.lasts = true
		r.signal()
	}
}

func (r *Reach) signal() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// outage returns the present outage, which has no kind if there is none.
func (r *Reach) outage() outage {
	if r == nil {
		return outage{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.lasts {
		return outage{}
	}
	return r.failing
}

// remedy returns what to do about an outage.
func (r *Reach) remedy(kind string, err error) string {
	var authority x509.UnknownAuthorityError
	switch {
	case kind == noCredentials:
		return r.credentials
	case kind != noTrust:
		return ""
	case errors.As(err, &authority):
		return r.authority
	}
	return "check that the certificate contains the API server's address and has not expired, and that this machine's clock is right"
}

// client returns a client whose requests Reach tracks. It wraps the transport that adds
// credentials, because that may fail as well.
func (r *Reach) client(c *http.Client) *http.Client { return passing(c, r.pass) }

func (r *Reach) pass(request *http.Request, next http.RoundTripper) (*http.Response, error) {
	response, err := next.RoundTrip(request)
	seen := err
	switch {
	case err != nil && request.Context().Err() == nil:
		seen = &url.Error{Op: request.Method, URL: request.URL.Redacted(), Err: err}
	case err != nil: // a missed deadline is not an answer
		seen = context.Cause(request.Context())
	case response.StatusCode == http.StatusUnauthorized:
		seen = apierrors.NewUnauthorized(http.StatusText(http.StatusUnauthorized))
	}
	r.ended(seen, clock.Real{}.Now())
	return response, err
}

// tellReach logs the start and end of outages until the context ends.
func (c *Cluster) tellReach(ctx context.Context, r *Reach) {
	var told outage
	for {
		select {
		case <-r.changed:
		case <-ctx.Done():
			return
		}
		now := r.outage()
		if now.kind == told.kind && now.since.Equal(told.since) {
			continue
		}
		queued := slog.Group("queued", "bindings", c.bindings.Load(), "status", c.status.pending(), "events", c.events.sink.pending())
		switch {
		case now.kind == "":
			c.log.Info("the API server answers again", "after", clock.Real{}.Now().Sub(told.since).Round(time.Millisecond), queued)
		case now.remedy == "":
			c.log.Error(now.kind, "since", now.since, "error", now.err, queued)
		default:
			c.log.Error(now.kind+"; retrying", "since", now.since, "error", now.err, "remedy", now.remedy, queued)
		}
		told = now
	}
}
