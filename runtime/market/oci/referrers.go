package oci

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry"

	"github.com/berth-scheduler/berth/internal/plain"
)

// referrersAPI sees the answers of a registry's referrers API.
type referrersAPI struct {
	inner http.RoundTripper
	// The last list had null for its manifests, or no manifests at all.
	null, missing atomic.Bool
}

// errNullList is a note about a list.
var errNullList = errors.New("the registry's list of what refers to it has no manifests, not even an empty list")

// RoundTrip implements http.RoundTripper. Registries without the API should answer 404, but some
// refuse the request otherwise; to the library, which then reads the tag, that is the same.
func (a *referrersAPI) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := a.inner.RoundTrip(r)
	if err != nil || !isReferrers(r) {
		return response, err
	}
	switch response.StatusCode {
	case http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusNotImplemented:
		err = response.Body.Close()
		response.StatusCode, response.Status = http.StatusNotFound, http.StatusText(http.StatusNotFound)
		response.Body, response.ContentLength = http.NoBody, 0
	case http.StatusOK:
		var text []byte
		if text, err = io.ReadAll(io.LimitReader(response.Body, maxList+1)); err != nil { // the library names what is too large
			break
		}
		var list struct{ Manifests json.RawMessage }
		read := json.Unmarshal(text, &list) == nil
		a.null.Store(read && string(list.Manifests) == "null")
		a.missing.Store(read && list.Manifests == nil)
		response.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(text), response.Body), response.Body}
	}
	return response, err
}

func isReferrers(r *http.Request) bool {
	dir, last := path.Split(r.URL.Path)
	return r.Method == http.MethodGet && path.Base(dir) == "referrers" && digest.Digest(last).Validate() == nil
}

// list returns everything that refers to an image. Its notes say what is odd about how the registry
// keeps that, in the order in which it was found.
func (s *Store) list(ctx context.Context, subject ocispec.Descriptor) (all []ocispec.Descriptor, notes []error, err error) {
	add := func(page []ocispec.Descriptor) error {
		all = append(all, page...)
		return nil
	}
	lister, ok := s.source.(registry.ReferrerLister)
	if !ok {
		all, err = registry.Referrers(ctx, s.source, subject, "")
		return all, nil, s.ref.At(subject.Digest).fail("what refers to it", err)
	}
	if err := lister.Referrers(ctx, subject, "", add); err != nil {
		return nil, nil, s.ref.At(subject.Digest).fail("what refers to it", err)
	}
	if len(all) > 0 {
		return all, nil, nil
	}
	if s.api != nil && s.api.null.Load() {
		notes = append(notes, errNullList)
	}
	if s.api != nil && s.api.missing.Load() {
		notes = append(notes, errors.New("the registry's list of what refers to it has no manifests at all"))
	}
	all, note, err := s.listTag(ctx, subject)
	if note != nil {
		notes = append(notes, note)
	}
	return all, notes, err
}

// listTag reads the list under the tag of an image's digest, where clients keep it if the registry has
// no referrers API. A registry that got the API later may answer with an empty list instead.
func (s *Store) listTag(ctx context.Context, subject ocispec.Descriptor) (all []ocispec.Descriptor, note, err error) {
	tag := strings.Replace(subject.Digest.String(), ":", "-", 1)
	described, text, err := s.fetchManifest(ctx, tag)
	var index ocispec.Index
	switch {
	case ctx.Err() != nil:
		return nil, nil, s.ref.named(tag).fail("", ctx.Err())
	case err != nil:
		return nil, nil, nil // the usual case: there is no such tag
	case described.Digest == subject.Digest:
		return nil, fmt.Errorf("the registry resolves the tag %s, where what refers to it may be listed, to the image itself", tag), nil
	case described.MediaType != ocispec.MediaTypeImageIndex:
		return nil, fmt.Errorf("the tag %s, where what refers to it may be listed, is of type %s", tag, plain.Quote(described.MediaType, 64)), nil
	case decode(ctx, text, &index) != nil:
		return nil, fmt.Errorf("the tag %s, where what refers to it may be listed, is no list", tag), nil
	case len(index.Manifests) == 0:
		return nil, nil, nil
	}
	return index.Manifests, fmt.Errorf("the registry's referrers API lists nothing, so the list of the tag %s counts", tag), nil
}

// foreign says of which types of others the artifacts are that refer to an image; nil if there are none.
func foreign(all []ocispec.Descriptor) error {
	count := make(map[string]int)
	for _, d := range all {
		if !isVague(d.ArtifactType) && !slices.Contains(attachedTypes(), d.ArtifactType) {
			count[d.ArtifactType]++
		}
	}
	if len(count) == 0 {
		return nil
	}
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(count)) {
		texts = append(texts, fmt.Sprintf("%d of %s", count[name], plain.Quote(name, 96)))
	}
	return fmt.Errorf("of other types, which Berth does not read, the registry lists %s", plain.List(texts, ", ", 512, "types"))
}
