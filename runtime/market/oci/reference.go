// Package oci stores plugins as OCI images: WebAssembly modules in the CNCF's layout, in
// registries, OCI layout folders and tarballs of these. It checks all digests and sizes, and
// does not run modules.
package oci

import (
	"errors"
	"fmt"
	"strings"

	"github.com/opencontainers/go-digest"
	"oras.land/oras-go/v2/registry"
)

// The prefixes of references to folders and tarballs, as in skopeo.
const (
	schemeRegistry = "oci://"
	schemeDir      = "oci:"
	schemeArchive  = "oci-archive:"
)

// DefaultTag is the tag of a reference without one, as in docker.
const DefaultTag = "latest"

// Reference names an image in a registry, a folder or a tarball. Exactly one of Registry, Dir
// and Archive is set.
type Reference struct {
	// Registry is HOST[:PORT]. Repository is the name in it.
	Registry, Repository string
	// Dir is an OCI layout folder. Archive is a tarball of one.
	Dir, Archive string
	// Tag or Digest of the image's manifest: at most one is set; without either the tag is
	// DefaultTag.
	Tag    string
	Digest digest.Digest
}

// ParseReference parses
//
//	[oci://]REGISTRY/REPOSITORY[:TAG][@sha256:…]
//	oci:DIR[:TAG][@sha256:…]
//	oci-archive:FILE[:TAG][@sha256:…]
func ParseReference(text string) (Reference, error) {
	place, isArchive := strings.CutPrefix(text, schemeArchive)
	isDir := false
	if !isArchive && !strings.HasPrefix(text, schemeRegistry) {
		place, isDir = strings.CutPrefix(text, schemeDir)
	}
	if !isArchive && !isDir {
		return parseRegistry(strings.TrimPrefix(text, schemeRegistry))
	}
	r := Reference{}
	path, dgst, pinned := cutLast(place, "@sha256:")
	if pinned {
		r.Digest = digest.Digest("sha256:" + dgst)
		if err := r.Digest.Validate(); err != nil {
			return Reference{}, fmt.Errorf("%s: %w: write sha256: and 64 hexadecimal digits", text, err)
		}
	}
	// A colon before the last separator is part of the path.
	if at := strings.LastIndexByte(path, ':'); at > strings.LastIndexAny(path, `/\`) {
		tag := path[at+1:]
		if err := (registry.Reference{Registry: "x", Repository: "x", Reference: tag}).ValidateReferenceAsTag(); err != nil {
			return Reference{}, fmt.Errorf("%s: %q is not a tag: use letters, digits, dots, dashes and underscores", text, tag)
		}
		path = path[:at]
		if !pinned {
			r.Tag = tag
		}
	}
	if strings.Contains(path, "@sha256") || strings.Contains(path[strings.LastIndexAny(path, `/\`)+1:], ":") {
		return Reference{}, fmt.Errorf("%s: the path looks like a tag or a digest: rename the file", text)
	}
	if path == "" {
		return Reference{}, fmt.Errorf("%s: it names no file: write oci:DIR:TAG or oci-archive:FILE:TAG", text)
	}
	if isDir {
		r.Dir = path
	} else {
		r.Archive = path
	}
	return r, nil
}

func parseRegistry(text string) (Reference, error) {
	ref, err := registry.ParseReference(text)
	if err != nil {
		return Reference{}, &Error{Ref: text, Detail: err.Error(), Fix: "write REGISTRY/REPOSITORY:TAG or REGISTRY/REPOSITORY@sha256:…", Err: err}
	}
	r := Reference{Registry: ref.Registry, Repository: ref.Repository, Tag: ref.Reference}
	if ref.ValidateReferenceAsDigest() == nil {
		r.Tag, r.Digest = "", digest.Digest(ref.Reference)
		if r.Digest.Algorithm() != digest.SHA256 {
			return Reference{}, &Error{Ref: text, Detail: "the digest is not SHA-256", Fix: "write REGISTRY/REPOSITORY@sha256:…", Err: errors.ErrUnsupported}
		}
	}
	return r, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// Name returns the reference's tag or digest, or DefaultTag.
func (r Reference) Name() string {
	switch {
	case r.Digest != "":
		return r.Digest.String()
	case r.Tag != "":
		return r.Tag
	}
	return DefaultTag
}

// Place returns the reference without tag and digest: REGISTRY/REPOSITORY, oci:DIR or
// oci-archive:FILE.
func (r Reference) Place() string {
	switch {
	case r.Dir != "":
		return schemeDir + r.Dir
	case r.Archive != "":
		return schemeArchive + r.Archive
	}
	return r.Registry + "/" + r.Repository
}

// String returns the reference in the form of ParseReference.
func (r Reference) String() string {
	if r.Digest != "" {
		return r.Place() + "@" + r.Digest.String()
	}
	return r.Place() + ":" + r.Name()
}

// At returns the same place with another digest.
func (r Reference) At(d digest.Digest) Reference {
	r.Tag, r.Digest = "", d
	return r
}
