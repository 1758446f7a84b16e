package kube

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-scheduler/berth/runtime/internal/clock"
)

// TestRewatch: a watch is asked for again, each second, while the API server does not answer or has just begun, and no longer.
func TestRewatch(t *testing.T) {
	refused := errors.New("connection refused")
	const watch, list = "/api/v1/pods?watch=true", "/api/v1/pods"
	for _, test := range []struct {
		name    string
		path    string
		answers []any // statuses and errors; the last one repeats
		ends    time.Duration
		want    string
		took    time.Duration
	}{
		{"answered", watch, []any{200}, 0, "200", 0},
		{"a short outage", watch, []any{refused, refused, io.EOF, 200}, 0, "200", 3 * time.Second},
		{"an API server that begins", watch, []any{refused, 403, 503, 401, 200}, 0, "200", 4 * time.Second},
		{"no permission after an outage", watch, []any{refused, 403}, 0, "403", 6 * time.Second},
		{"no permission", watch, []any{403}, 0, "403", 0},
		{"too old", watch, []any{refused, 410}, 0, "410", time.Second},
		{"a list", list, []any{refused}, 0, "connection refused", 0},
		{"another certificate", watch, []any{x509.UnknownAuthorityError{}}, 0, "x509", 0},
		{"the lease is lost", watch, []any{fmt.Errorf("dial: %w", ErrLeaseLost)}, 0, ErrLeaseLost.Error(), 0},
		{"a long outage", watch, []any{refused}, time.Hour, "context canceled", time.Hour},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				c := rewatch{clock.Real{}}.client(&http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
					answer := test.answers[min(asked, len(test.answers)-1)]
					asked++
					if err, ok := answer.(error); ok {
						return nil, err
					}
					return &http.Response{StatusCode: answer.(int), Body: http.NoBody}, nil
				})})
				ctx, cancel := context.WithCancel(t.Context())
				if test.ends > 0 {
					time.AfterFunc(test.ends, cancel)
				}
				defer cancel()
				q, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://example.com"+test.path, http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				begin, got := time.Now(), ""
				response, err := c.Do(q)
				if err != nil {
					got = err.Error()
				} else {
					got = fmt.Sprint(response.StatusCode)
					_ = response.Body.Close()
				}
				if took := time.Since(begin); !strings.Contains(got, test.want) || took != test.took {
					t.Errorf("%s after %v, want %s after %v", got, took, test.want, test.took)
				}
			})
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(q *http.Request) (*http.Response, error) { return f(q) }
