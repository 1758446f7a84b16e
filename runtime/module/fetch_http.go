package module

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/berth-scheduler/berth/internal/plain"
)

// fetchURL gets a module from a web server.
func (s *Sources) fetchURL(ctx context.Context, address string) ([]byte, error) {
	fail := func(detail, fix string, err error) ([]byte, error) {
		return nil, &Error{File: address, Section: sectionModule, Detail: plain.Cut(detail, maxProblem), Fix: fix, Err: err}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fail(err.Error(), "write https://HOST/PATH", err)
	}
	request.Header.Set("Accept", "application/wasm, application/octet-stream;q=0.9")
	response, err := (&http.Client{Transport: s.config.Transport}).Do(request)
	if err != nil {
		var at *url.Error
		if errors.As(err, &at) {
			err = at.Err // without the address, which is told already
		}
		return fail(err.Error(), "see whether the server answers", err)
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	if response.StatusCode != http.StatusOK {
		return fail("the server answers "+response.Status, "name a module that anyone can get", nil)
	}
	data, err := readModule(response.Body)
	if err != nil {
		return fail(err.Error(), "try again", err)
	}
	return data, nil
}
