package module

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/berth-scheduler/berth/abi/schema"
	"github.com/berth-scheduler/berth/internal/bounded"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/market/oci"
)

// fetchURL gets a module from a web server. Its digest is required.
func (s *Sources) fetchURL(ctx context.Context, ref *Reference, fresh bool) (*fetched, error) {
	data, known := s.kept(ref.Digest)
	if o, ok := s.keptOrigin(ref.Digest); known && ok && !fresh {
		return &fetched{data: data, pinned: true, kept: true, origin: origin{Bundles: o.Bundles}}, nil
	}
	if s.config.Offline {
		return nil, &Unfetched{Source: ref.Source()}
	}
	if !known {
		var err error
		most, fix := ref.mostBytes()
		if data, _, err = s.get(ctx, ref.URL, most, fix); err != nil {
			return nil, err
		}
	}
	bundles, err := s.urlBundle(ctx, ref)
	return &fetched{data: data, pinned: true, origin: origin{Bundles: bundles}}, err
}

// get gets a file of at most limit bytes; fix is what to do about a larger one. status is the
// response's status if it is not 200.
func (s *Sources) get(ctx context.Context, address string, limit int64, fix string) (data []byte, status int, err error) {
	fail := func(detail, fix string, err error) error {
		return &Error{File: address, Section: sectionModule, Detail: plain.Cut(detail, schema.MaxProblem), Fix: fix, Err: err}
	}
	if at, err := url.Parse(address); err == nil {
		ctx = oci.Named(ctx, at.Hostname())
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, 0, fail(err.Error(), "write https://HOST/PATH", err)
	}
	request.Header.Set("Accept", "application/wasm, application/octet-stream;q=0.9")
	response, err := (&http.Client{Transport: s.config.Transport}).Do(request)
	if err != nil {
		var at *url.Error
		if errors.As(err, &at) {
			err = at.Err // without the address, which the error already has
		}
		return nil, 0, fail(err.Error(), "check that the server answers", err)
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	if oci.Busy(response.StatusCode) {
		return nil, response.StatusCode, fail("the server answers "+response.Status, "try again", errBusy)
	}
	if response.StatusCode != http.StatusOK {
		return nil, response.StatusCode, fail("the server answers "+response.Status, "name a module that can be downloaded without credentials", nil)
	}
	if response.ContentLength <= limit {
		// It allocates for the bytes that arrive, not for the announced length.
		data, err = bounded.All(response.Body, limit)
	}
	if err != nil && !errors.As(err, new(*bounded.TooLarge)) {
		return nil, 0, fail(err.Error(), "try again", err)
	}
	if response.ContentLength > limit || err != nil {
		return nil, 0, fail("more than the "+schema.Show(limit)+" bytes allowed", fix, nil)
	}
	return data, 0, nil
}
