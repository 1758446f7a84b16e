package module

import (
	"errors"
	"strings"

	"github.com/berth-scheduler/berth/abi/schema"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/market/oci"
)

// Values of Error.Section.
const (
	sectionReference = "reference"
	sectionModule    = "module"
	sectionDigest    = "digest"
	sectionSignature = "signature"
	sectionSchema    = "manifest: config"
	sectionConfig    = "config"
)

// Error is one mistake in a module, in its manifest or configuration, or in the reference to
// it.
type Error struct {
	// File is the file with the mistake; empty for command lines and arguments.
	File string
	// Section is the part of the file: reference, module, digest, signature, "manifest: config"
	// (the schema) or config. It is empty where Path or Detail already says it.
	Section string
	// Path is the field path, as pools.team-a[1]; empty for the whole.
	Path string
	// Detail says what is wrong. Fix says what to do; it may be empty.
	Detail, Fix string
	// Err is the cause or nil: a *wire.ModuleError, *wire.ManifestError, *wire.CheckError or a
	// file system error.
	Err error
}

// Passes reports whether an error of Sources.Load may pass by itself: the server did not answer, or could
// not. Otherwise the module, or what was asked of it, is at fault.
func Passes(err error) bool { return errors.Is(err, errBusy) || oci.Passes(err) }

// Unfetched is a module that would have to be fetched, which SourcesConfig.Offline rules out.
type Unfetched struct {
	Source string
	Tag    bool // somebody may have moved it, so that what was fetched before does not count
}

// Error says what is missing.
func (e *Unfetched) Error() string {
	if e.Tag {
		return e.Source + ": its tag has to be looked up"
	}
	return e.Source + ": it is not in the cache"
}

// errBusy is the cause if a web server cannot answer now.
var errBusy = errors.New("the server is busy")

// Limits on the parts of an error's text, in bytes. The texts come from modules, registries and
// file names.
const (
	maxPlace  = 512
	maxDetail = 2 << 10
)

// Error returns "file: section: path: detail; fix".
func (e *Error) Error() string {
	var b strings.Builder
	for _, part := range []string{e.File, e.Section, e.Path} {
		if part != "" {
			b.WriteString(plain.Line(part, maxPlace) + ": ")
		}
	}
	b.WriteString(plain.Line(e.Detail, maxDetail))
	if e.Fix != "" {
		b.WriteString("; " + plain.Line(e.Fix, maxPlace))
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// wrap converts each error that err joins to an *Error.
func wrap(file, section string, err error) error {
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return wrapOne(file, section, err)
	}
	parts := joined.Unwrap()
	out := make([]error, len(parts))
	for i, part := range parts {
		out[i] = wrapOne(file, section, part)
	}
	return errors.Join(out...)
}

func wrapOne(file, section string, err error) error {
	var p *schema.Problem
	if errors.As(err, &p) {
		return &Error{File: file, Section: section, Path: p.Path, Detail: p.Detail, Fix: p.Fix}
	}
	return &Error{File: file, Section: section, Detail: err.Error(), Err: err}
}
