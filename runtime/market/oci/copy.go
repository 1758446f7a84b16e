package oci

import (
	"context"
	"errors"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"

	"github.com/berth-scheduler/berth/abi/wire"
)

// Copy copies an image with all that is attached to it, signatures included, and tags
// it: with the tag of to, or else that of from. Nothing is changed on the way, so what
// was signed stays signed.
func (c *Client) Copy(ctx context.Context, from, to Reference) (*Image, error) {
	source, err := c.Open(ctx, from)
	if err != nil {
		return nil, err
	}
	defer source.Close() //nolint:errcheck // it was only read
	image, err := source.Image(ctx, from.Name())
	if err != nil {
		return nil, err
	}
	if image.layers > 2*wire.MaxModuleSize {
		return nil, image.Ref.fail("its layers", tooLarge(image.layers, 2*wire.MaxModuleSize))
	}
	attached, err := source.attached(ctx, image.Descriptor)
	if err != nil {
		return nil, err
	}
	target, err := c.Create(ctx, to)
	if err != nil {
		return nil, err
	}
	err = copyAll(ctx, source, target, image, attached)
	if to.Tag == "" {
		to.Tag = from.Tag
	}
	if err == nil && to.Tag != "" {
		err = to.fail("tag", target.target.Tag(ctx, image.Descriptor, to.Tag))
	}
	return image, errors.Join(err, target.Close())
}

func copyAll(ctx context.Context, source, target *Store, image *Image, attached []Attachment) error {
	all := []ocispec.Descriptor{image.Descriptor}
	for _, a := range attached {
		all = append(all, a.manifest)
	}
	for _, d := range all {
		if err := oras.CopyGraph(ctx, source.source, target.target, d, oras.CopyGraphOptions{MaxMetadataBytes: maxManifest}); err != nil {
			var at *oras.CopyError
			if errors.As(err, &at) && at.Origin == oras.CopyErrorOriginDestination {
				return target.ref.fail("", at.Err)
			}
			return source.ref.fail("", err)
		}
	}
	return nil
}

// attached gets all that refers to an image, of the types that plugins have. What a
// registry's list says wrongly is not copied.
func (s *Store) attached(ctx context.Context, subject ocispec.Descriptor) ([]Attachment, error) {
	var out []Attachment
	for _, kind := range []string{BundleType, ReadmeType, LicenseType, SBOMType} {
		found, _, err := s.Attachments(ctx, subject, kind)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}
