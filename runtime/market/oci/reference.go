// Package oci carries plugins in OCI images: the CNCF's layout of WebAssembly
// modules, in registries, in OCI layout folders and in tarballs of them. It checks
// every digest and size that it is told, and runs nothing.
package oci

import (
	"errors"
	"fmt"
	"strings"

	"github.com/opencontainers/go-digest"
	"oras.land/oras-go/v2/registry"
)

// The prefixes of references to places other than registries; skopeo has the same.
const (
	schemeRegistry = "oci://"
	schemeDir      = "oci:"
	schemeArchive  = "oci-archive:"
)

// DefaultTag is meant where no tag is given, as docker has it.
const DefaultTag = "latest"

// Reference names an image: in a registry, a folder or a tarball. One of Registry,
// Dir and Archive is set.
type Reference struct {
	// Registry is HOST[:PORT], Repository the name there.
	Registry, Repository string
	// Dir is an OCI layout folder, Archive a tarball of one.
	Dir, Archive string
	// Tag or Digest of the image's manifest: one of the two, or neither for DefaultTag.
	Tag    string
	Digest digest.Digest
}

// ParseReference reads
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
	// A colon before the last separator belongs to the path.
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
		return Reference{}, fmt.Errorf("%s: the path reads like a tag or a digest: name the file otherwise", text)
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

// Name is the reference's tag or digest, or DefaultTag.
func (r Reference) Name() string {
	switch {
	case r.Digest != "":
		return r.Digest.String()
	case r.Tag != "":
		return r.Tag
	}
	return DefaultTag
}

// Place is where the image is, without tag and digest: REGISTRY/REPOSITORY, oci:DIR
// or oci-archive:FILE.
func (r Reference) Place() string {
	switch {
	case r.Dir != "":
		return schemeDir + r.Dir
	case r.Archive != "":
		return schemeArchive + r.Archive
	}
	return r.Registry + "/" + r.Repository
}

// String is the reference as ParseReference reads it.
func (r Reference) String() string {
	if r.Digest != "" {
		return r.Place() + "@" + r.Digest.String()
	}
	return r.Place() + ":" + r.Name()
}

// At is the same place with another digest.
func (r Reference) At(d digest.Digest) Reference {
	r.Tag, r.Digest = "", d
	return r
}
