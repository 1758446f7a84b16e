package oci

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/berth-scheduler/berth/internal/plain"
)

// Error describes a problem with an image or its registry.
type Error struct {
	// Ref is the image's reference, or the target of a redirect.
	Ref string
	// Detail says what is wrong. Fix says what to do; it may be empty.
	Detail, Fix string
	// Err is the cause; may be nil.
	Err error
}

// Passes reports whether an error may pass by itself: the registry did not answer, or could not.
func Passes(err error) bool {
	var network net.Error
	var answered *errcode.ErrorResponse
	return errors.As(err, &network) || errors.As(err, &answered) && Busy(answered.StatusCode)
}

// Busy reports whether the status of a response means that the server cannot answer now.
func Busy(status int) bool {
	return status >= http.StatusInternalServerError || status == http.StatusTooManyRequests
}

// Limits on the parts of an error's text, in bytes, because they come from registries.
const (
	maxRef    = 512
	maxDetail = 1 << 10
)

// Error returns "reference: detail; fix".
func (e *Error) Error() string {
	text := plain.Line(e.Detail, maxDetail)
	if e.Ref != "" {
		text = plain.Line(e.Ref, maxRef) + ": " + text
	}
	if e.Fix != "" {
		text += "; " + e.Fix
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// fail converts an error of a registry or a folder.
func (r Reference) fail(what string, err error) error {
	if err == nil {
		return nil
	}
	var known *Error
	if errors.As(err, &known) {
		if known.Ref == "" {
			known.Ref = r.String()
			if what != "" {
				known.Detail = what + ": " + known.Detail
			}
		}
		return known
	}
	e := &Error{Ref: r.String(), Detail: err.Error(), Fix: "check that the registry answers, and log in with docker login if it asks for it", Err: err}
	var answered *errcode.ErrorResponse
	switch {
	case errors.Is(err, errdef.ErrNotFound):
		e.Detail, e.Fix = "image not found", r.tagsFix()
	case errors.Is(err, auth.ErrBasicCredentialNotFound):
		e.Detail, e.Fix = "the registry asks for credentials, and there are none", "log in with docker login "+r.Registry
	case errors.As(err, &answered) && (answered.StatusCode == http.StatusUnauthorized || answered.StatusCode == http.StatusForbidden):
		e.Fix = "log in with docker login " + r.Registry
	case errors.Is(err, content.ErrMismatchedDigest):
		e.Detail, e.Fix = "bytes of it do not have their digest", "ask who runs the registry"
	case errors.Is(err, context.DeadlineExceeded):
		e.Detail, e.Fix = "no answer in time", "check that the registry answers"
	case r.Registry == "":
		e.Fix = ""
	}
	if what != "" {
		e.Detail = what + ": " + e.Detail
	}
	return e
}

// tagsFix says how to find the tags that there are.
func (r Reference) tagsFix() string {
	switch {
	case r.Archive != "":
		return "its tags are in what tar -xOf " + r.Archive + " index.json prints"
	case r.Dir != "":
		return "its tags are in " + filepath.Join(r.Dir, ocispec.ImageIndexFile)
	}
	return "list the tags with oras repo tags " + r.Place()
}

func (r Reference) problem(fix, format string, args ...any) error {
	return &Error{Ref: r.String(), Detail: fmt.Sprintf(format, args...), Fix: fix}
}

// named returns the same place with another tag or digest.
func (r Reference) named(name string) Reference {
	if d := digest.Digest(name); d.Validate() == nil {
		return r.At(d)
	}
	r.Tag, r.Digest = name, ""
	return r
}

func tooLarge(size, limit int64) error {
	return &Error{Detail: fmt.Sprintf("it has %d bytes, at most %d are allowed", size, limit)}
}
