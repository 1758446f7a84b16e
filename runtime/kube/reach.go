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

// Reach knows whether the API server answers, and whether it accepts the scheduler's
// credentials, from how the requests of Clients end. A Cluster logs what changes, once.
type Reach struct {
	changed chan struct{} // has an element when told does not hold any more

	mu sync.Mutex
	// failing is the outage that began with the first request that failed, after which none
	// was answered; lasts says that another one failed later.
	failing outage
	lasts   bool
	// credentials and authority say where those of this connection are from.
	credentials, authority string
}

// outage is a time in which no request succeeds.
type outage struct {
	kind  string // what fails; empty for nothing
	since time.Time
	err   error
	// remedy is what to do about it; empty where it goes by.
	remedy string
}

// outagePatience is how long no request must have succeeded for it to be told of: one that
// fails says little.
const outagePatience = 500 * time.Millisecond

// The kinds of outage, as they are logged.
const (
	noAnswer      = "the API server does not answer: all writes are queued until it does"
	noCredentials = "the API server does not accept the scheduler's credentials (401 Unauthorized)"
	noTrust       = "the certificate of the API server is not trusted (x509)"
)

// NewReach returns one for Connection.Reach.
func NewReach() *Reach { return &Reach{changed: make(chan struct{}, 1)} }

// Says reports whether an error is that no request succeeds at present, which a Cluster
// logs: nobody else needs to.
func (r *Reach) Says(err error) bool {
	if r == nil || err == nil || outageOf(err) == "" {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failing.kind != ""
}

// outageOf is the kind of outage that an error is a sign of; empty if it is an answer, or no
// request was sent.
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

// ended takes note of how a request has ended.
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
		if r.lasts { // it has turned into another one
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

// outage returns the outage that lasts; without a kind if there is none.
func (r *Reach) outage() outage {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.lasts {
		return outage{}
	}
	return r.failing
}

// remedy says what to do about an outage.
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
	return "the address of the API server has to be one that its certificate names, the certificate must not have expired, and the clock must be right"
}

// client returns a client whose requests are watched.
func (r *Reach) client(c *http.Client) *http.Client {
	watched := *c
	if watched.Transport == nil {
		watched.Transport = http.DefaultTransport
	}
	watched.Transport = &reaching{r, watched.Transport}
	return &watched
}

// reaching tells a Reach how requests end. It stands before whatever finds credentials,
// which may fail as well.
type reaching struct {
	reach *Reach
	next  http.RoundTripper
}

// WrappedRoundTripper lets client-go find the transport (k8s.io/apimachinery/pkg/util/net).
func (t *reaching) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t *reaching) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(request)
	seen := err
	switch {
	case err != nil && request.Context().Err() == nil:
		seen = &url.Error{Op: request.Method, URL: request.URL.Redacted(), Err: err}
	case err != nil: // a deadline that was too short is no answer; nobody waits otherwise
		seen = context.Cause(request.Context())
	case response.StatusCode == http.StatusUnauthorized:
		seen = apierrors.NewUnauthorized(http.StatusText(http.StatusUnauthorized))
	}
	t.reach.ended(seen, clock.Real{}.Now())
	return response, err
}

// tellReach logs when requests begin to fail and when they succeed again, until the context
// ends.
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
			c.log.Error(now.kind+"; it is tried again", "since", now.since, "error", now.err, "remedy", now.remedy, queued)
		}
		told = now
	}
}
