package module

import (
	"errors"
	"strings"

	"github.com/berth-scheduler/berth/internal/plain"
)

// Sections of what is read, in errors.
const (
	sectionReference = "reference"
	sectionModule    = "module"
	sectionDigest    = "digest"
	sectionSignature = "signature"
	sectionSchema    = "manifest: config"
	sectionConfig    = "config"
)

// Error is one mistake in a module, its manifest, its configuration or in what
// names them.
type Error struct {
	// File is where the mistake is; empty for a command line or arguments.
	File string
	// Section is the part of the file: reference, module, digest, signature, "manifest:
	// config" (the schema) or config; empty where Path or Detail says it.
	Section string
	// Path is the field path, as pools.team-a[1]; empty for the whole.
	Path string
	// Detail says what is wrong, Fix (may be empty) what to do.
	Detail, Fix string
	// Err is the cause, nil if there is none: a *wire.ModuleError,
	// *wire.ManifestError, *wire.CheckError or an error of the file system.
	Err error
}

// The parts of an error's text at most, in bytes: each where the mistake is, and what it is. They come from modules,
// registries and file names.
const (
	maxPlace  = 512
	maxDetail = 2 << 10
)

// Error gives "file: section: path: detail; fix".
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

// wrap makes an *Error of each error that err joins.
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
	var p *problem
	if errors.As(err, &p) {
		return &Error{File: file, Section: section, Path: p.path, Detail: p.detail, Fix: p.fix}
	}
	return &Error{File: file, Section: section, Detail: err.Error(), Err: err}
}

// problem is a mistake at a path, in a file that the caller knows.
type problem struct{ path, detail, fix string }

func (p *problem) Error() string { return p.path + ": " + p.detail }
