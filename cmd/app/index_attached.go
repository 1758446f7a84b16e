package app

import (
	"context"
	"fmt"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/market/index"
	"github.com/berth-scheduler/berth/runtime/market/oci"
	"github.com/berth-scheduler/berth/runtime/market/signing"
)

// attachedKind is a type of files that are attached to an image.
type attachedKind struct{ name, mediaType string }

func attachedKinds() []attachedKind {
	return []attachedKind{
		{"README", oci.ReadmeType}, {"licence", oci.LicenseType}, {"SBOM", oci.SBOMType}, {"conformance report", oci.ConformanceType},
		{"benchmark", oci.BenchType},
	}
}

// attached takes over what is attached to an image. Who may push to a repository may attach anything to its images. So an attachment
// counts only if a key that signed the image signed it too, and what is listed already stays.
func (l *listing) attached(ctx context.Context, store *oci.Store, image *oci.Image, v *index.Version) error {
	first := map[string]oci.Attachment{}
	var signers []*signing.PublicKey // of the image
	var without []string
	for _, kind := range attachedKinds() {
		if listed(v, kind.mediaType) {
			continue
		}
		found, _, err := store.Attachments(ctx, image.Descriptor, kind.mediaType)
		if err != nil {
			return err
		}
		if len(found) > 0 && signers == nil {
			if signers, err = signersOf(ctx, store, image.Descriptor, l.keys); err != nil {
				return err
			}
		}
		i := 0
		for ; i < len(found); i++ {
			by, err := signersOf(ctx, store, found[i].Manifest, signers)
			if err != nil {
				return err
			}
			if len(by) > 0 {
				break
			}
		}
		switch {
		case i < len(found):
			first[kind.mediaType] = found[i]
		case len(found) > 0:
			without = append(without, kind.name)
		}
	}
	if len(without) > 0 {
		const fix = "no key of --key or --verification-policy that signed the image signed them; sign the image again with berth plugin sign"
		l.tell(plain.Line(fmt.Sprintf("%s: not listed are its %s: %s", image.Ref, strings.Join(without, ", "), fix), maxCell))
	}
	if a, ok := first[oci.ReadmeType]; ok {
		v.Docs = a.Digest.String()
	}
	if a, ok := first[oci.SBOMType]; ok {
		v.SBOM = a.Digest.String()
	}
	if err := v.Measured(first[oci.ConformanceType].Data, first[oci.BenchType].Data); err != nil {
		l.tell(plain.Line(fmt.Sprintf("%s: %v", image.Ref, err), maxCell))
	}
	return nil
}

// listed reports whether a version lists an attachment of a type, or cannot list one.
func listed(v *index.Version, mediaType string) bool {
	switch mediaType {
	case oci.ReadmeType:
		return v.Docs != ""
	case oci.SBOMType:
		return v.SBOM != ""
	case oci.ConformanceType:
		return v.Conformance != nil
	case oci.BenchType:
		return v.Bench != nil
	}
	return true
}

// signersOf returns those of some keys that signed an image or an attachment.
func signersOf(ctx context.Context, store *oci.Store, subject ocispec.Descriptor, keys []*signing.PublicKey) ([]*signing.PublicKey, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	found, _, err := store.Attachments(ctx, subject, oci.BundleType)
	if err != nil {
		return nil, err
	}
	var bundles []*signing.Bundle
	for _, a := range found {
		if b, err := signing.ParseBundle(a.Data); err == nil { // whatever else is attached does not count
			bundles = append(bundles, b)
		}
	}
	return slices.DeleteFunc(slices.Clone(keys), func(key *signing.PublicKey) bool {
		return !slices.ContainsFunc(bundles, func(b *signing.Bundle) bool { return b.VerifyImage(key, subject.Digest.String()) == nil })
	}), nil
}

// signAttachments signs what is attached to an image, and returns their names. Of several attachments of a kind somebody else may have
// made one, so none of them is signed, and tell says so.
func signAttachments(
	ctx context.Context, store *oci.Store, image *oci.Image, key *signing.PrivateKey, tell func(string),
) ([]string, error) {
	var names []string
	for _, kind := range attachedKinds() {
		found, _, err := store.Attachments(ctx, image.Descriptor, kind.mediaType)
		if err != nil {
			return names, err
		}
		switch {
		case len(found) == 1:
			if err := signDigest(ctx, store, found[0].Manifest, key); err != nil {
				return names, err
			}
			names = append(names, kind.name+" "+short(found[0].Digest.String()))
		case len(found) > 1:
			const fix = "none is signed: push yours again with berth plugin push --key"
			tell(fmt.Sprintf("%s has %d attachments of the kind %s: %s", image.Ref, len(found), kind.name, fix))
		}
	}
	return names, nil
}
