package module

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/berth-scheduler/berth/abi/schema"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/market/oci"
)

// fetchImage gets the module of an image, and its signatures if there is a policy. An image
// named by its digest is pinned. Credentials come from docker login.
func (s *Sources) fetchImage(ctx context.Context, ref *Reference, fresh bool) (*fetched, error) {
	at, err := oci.ParseReference(ref.Image)
	if err != nil {
		return nil, imageError(ref.Image, err)
	}
	pinned := at.Digest != "" || ref.Digest != ""
	if !fresh {
		if f, ok := s.keptImage(ctx, at, ref.Digest); ok && (!ref.Signed || f.origin.Bundles != nil) {
			return f, nil
		}
	}
	if s.config.Offline {
		return nil, &Unfetched{Source: ref.Source(), Tag: !pinned}
	}
	store, err := s.images.Open(ctx, at)
	if err != nil {
		return nil, imageError(ref.Image, err)
	}
	defer store.Close() //nolint:errcheck // it was only read
	image, err := store.Image(ctx, at.Name())
	if err != nil {
		return nil, imageError(ref.Image, err)
	}
	f := &fetched{pinned: pinned, origin: origin{Repository: at.Place(), Manifest: image.Text}}
	if at.Digest == "" {
		f.origin.Tags = []string{at.Name()}
	}
	digest := image.Module.Digest.String()
	var ok bool
	if f.data, ok = s.kept(digest); !ok {
		if most, _ := ref.mostBytes(); image.Module.Size > most {
			return nil, tooLarge(ref, image.Module.Size)
		}
		if f.data, err = store.Module(ctx, image); err != nil {
			return nil, imageError(ref.Image, err)
		}
	}
	if s.signatures(ref) {
		attached, lies, err := store.Attachments(ctx, image.Descriptor, oci.BundleType)
		if err != nil {
			return nil, imageError(ref.Image, err)
		}
		for _, a := range attached {
			f.origin.Bundles = append(f.origin.Bundles, a.Data)
		}
		f.origin.lies = lies
	}
	return f, nil
}

// keptImage returns a module from the folder of fetched modules if the image's digest or the
// module's digest is known. A tag is not enough, because it can be moved; one that did not name the image when
// it was fetched is read, so that a tag and a digest that do not agree are refused whether the module is stored
// or not. Stored data is trusted only as far as the digests prove it.
func (s *Sources) keptImage(ctx context.Context, at oci.Reference, digest string) (*fetched, bool) {
	key := at.Digest.String()
	if key == "" {
		key = digest
	}
	o, ok := s.keptOrigin(key)
	if !ok || o.Repository != at.Place() ||
		at.Digest == "" && !slices.Contains(o.Tags, at.Name()) || at.Digest != "" && Digest(o.Manifest) != at.Digest.String() {
		return nil, false
	}
	image, err := oci.ParseImage(ctx, at, o.Manifest)
	if err != nil || digest != "" && image.Module.Digest.String() != digest {
		return nil, false
	}
	data, ok := s.kept(image.Module.Digest.String())
	return &fetched{data: data, pinned: true, kept: true, origin: o}, ok
}

// tagAgrees refuses a reference whose digest is that of another version than its tag says, without asking whether the
// tag was moved. Tags that are no versions say nothing.
func tagAgrees(ref *Reference, version string) error {
	image := v1alpha1.Image(ref.Image).Unpinned()
	at, err := oci.ParseReference(string(image))
	if err != nil || ref.Digest == "" && string(image) == ref.Image {
		return nil
	}
	tag, err := semver.StrictNewVersion(strings.TrimPrefix(strings.ReplaceAll(at.Tag, "_", "+"), "v")) // tags have no plus
	if err != nil || tag.Original() == version {
		return nil
	}
	return &Error{File: ref.Source(), Section: sectionDigest,
		Detail: "the module of the digest is version " + plain.Quote(version, 64) + ", not that of the tag",
		Fix:    "name the digest of the version that was meant, or none"}
}

// imageError converts an error of package oci.
func imageError(image string, err error) error {
	out := &Error{File: ociScheme + image, Section: sectionModule, Detail: plain.Cut(err.Error(), schema.MaxProblem), Err: err}
	var known *oci.Error
	if errors.As(err, &known) {
		out.Detail, out.Fix = plain.Cut(known.Detail, schema.MaxProblem), known.Fix
	}
	return out
}
