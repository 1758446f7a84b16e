package oci

import (
	"context"
	"errors"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
)

// Copy copies an image or an index with all that is attached to it, signatures included,
// and tags it: with the tag of to, or else that of from. Nothing is changed on the way,
// so what was signed stays signed.
func (c *Client) Copy(ctx context.Context, from, to Reference) (ocispec.Descriptor, error) {
	none := ocispec.Descriptor{}
	source, err := c.Open(ctx, from)
	if err != nil {
		return none, err
	}
	defer source.Close() //nolint:errcheck // it was only read
	subject, err := source.subject(ctx, from.Name())
	if err != nil {
		return none, err
	}
	attached, err := source.attached(ctx, subject)
	if err != nil {
		return none, err
	}
	target, err := c.Create(ctx, to)
	if err != nil {
		return none, err
	}
	if to.Tag == "" {
		to.Tag = from.Tag
	}
	if to.Tag != "" {
		target.ref = target.ref.named(to.Tag)
	}
	err = copyAll(ctx, source, target, subject, attached)
	if err == nil && to.Tag != "" {
		err = to.fail("tag", target.target.Tag(ctx, subject, to.Tag))
	}
	return subject, errors.Join(err, target.Close())
}

// subject finds what is to be copied: an index, or an image whose layers are not too
// large.
func (s *Store) subject(ctx context.Context, name string) (ocispec.Descriptor, error) {
	ref := s.ref.named(name)
	described, text, err := s.fetchManifest(ctx, name)
	if err != nil {
		return described, ref.fail("", err)
	}
	var m struct{ ArtifactType string }
	if decode(ctx, text, &m) == nil && m.ArtifactType == IndexType {
		index, err := s.Index(ctx, described.Digest.String())
		if err != nil {
			return described, err
		}
		return index.Descriptor, nil
	}
	image, err := readImage(ctx, ref, described, text)
	if err != nil {
		return described, err
	}
	if image.layers > maxAllLayers {
		return described, ref.fail("its layers", tooLarge(image.layers, maxAllLayers))
	}
	return described, nil
}

func copyAll(ctx context.Context, source, target *Store, subject ocispec.Descriptor, attached []Attachment) error {
	all := []ocispec.Descriptor{subject}
	for _, a := range attached {
		all = append(all, a.Manifest)
	}
	for _, d := range all {
		if err := oras.CopyGraph(ctx, source.source, target.target, d, oras.CopyGraphOptions{MaxMetadataBytes: maxManifest, FindSuccessors: partsOf(d)}); err != nil {
			var at *oras.CopyError
			if errors.As(err, &at) && at.Origin == oras.CopyErrorOriginDestination {
				return target.ref.fail("", at.Err)
			}
			return source.ref.fail("", err)
		}
	}
	return nil
}

// partsOf finds what a manifest names, whose sizes were checked. It follows nothing further: a layer
// that says that it is an index could name any number of other blobs.
func partsOf(manifest ocispec.Descriptor) func(context.Context, content.Fetcher, ocispec.Descriptor) ([]ocispec.Descriptor, error) {
	return func(ctx context.Context, from content.Fetcher, d ocispec.Descriptor) ([]ocispec.Descriptor, error) {
		if d.Digest != manifest.Digest {
			return nil, nil
		}
		return content.Successors(ctx, from, d)
	}
}

// attached gets everything that refers to an image, of the types that plugins have, with the signatures of each. Wrongly
// listed artifacts are not copied.
func (s *Store) attached(ctx context.Context, subject ocispec.Descriptor) ([]Attachment, error) {
	var out []Attachment
	for _, kind := range attachedTypes() {
		found, _, err := s.Attachments(ctx, subject, kind)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
		for _, a := range found {
			if kind == BundleType {
				break
			}
			signatures, _, err := s.Attachments(ctx, a.Manifest, BundleType)
			if err != nil {
				return nil, err
			}
			out = append(out, signatures...)
		}
	}
	return out, nil
}
