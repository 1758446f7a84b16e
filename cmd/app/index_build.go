package app

import (
	"context"
	"fmt"
	"strings"

	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/market/index"
	"github.com/berth-scheduler/berth/runtime/market/oci"
	"github.com/berth-scheduler/berth/runtime/market/policy"
	"github.com/berth-scheduler/berth/runtime/market/signing"
)

// listing looks for the versions of plugins.
type listing struct {
	client *oci.Client
	before *index.File          // what was listed before; nil for nothing
	policy *policy.Policy       // optional: what may be listed
	keys   []*signing.PublicKey // that may sign what is attached
	tell   func(text string)
}

// mostTold is how many versions of a repository are told of one by one that are left out.
const mostTold = 5

// plugin describes the plugin of a repository. A version that cannot be used is left
// out, and told of: its publisher must not be able to stop the index.
func (l *listing) plugin(ctx context.Context, repository string) (*index.Plugin, error) {
	ref, err := oci.ParseReference(repository)
	if err != nil {
		return nil, err
	}
	if ref.Registry == "" || ref.Place() != repository {
		return nil, fmt.Errorf("%s: write REGISTRY/REPOSITORY, without a tag: users install from there", repository)
	}
	store, err := l.client.Open(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer store.Close() //nolint:errcheck // it was only read
	tags, err := store.Tags(ctx)
	if err != nil {
		return nil, err
	}
	out, left := &index.Plugin{Repository: repository}, 0
	for _, tag := range tags {
		number := strings.ReplaceAll(tag, "_", "+") // as push writes it
		if !index.IsVersion(number) {
			continue // latest, signatures of old clients, and others
		}
		name, v, err := l.version(ctx, store, repository+":"+tag)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err == nil && v.Version != number:
			err = fmt.Errorf("its manifest has the version %s", v.Version)
		case err == nil && out.Name != "" && out.Name != name:
			err = fmt.Errorf("it is the plugin %s, other versions are %s", name, out.Name)
		}
		if err != nil {
			if left++; left <= mostTold {
				l.tell(plain.Line(fmt.Sprintf("%s:%s is left out: %v", repository, tag, err), maxCell))
			}
			continue
		}
		out.Name = name
		out.Versions = append(out.Versions, *v)
	}
	if left > mostTold {
		l.tell(fmt.Sprintf("%s: %s more left out", repository, count(left-mostTold, "version")))
	}
	if out.Name == "" {
		return nil, fmt.Errorf("%s: it has no version of a plugin: push one with berth plugin push", repository)
	}
	return out, nil
}

// version describes a version. What was listed before with the same digest is not
// fetched again, but for what the author attached since.
func (l *listing) version(ctx context.Context, store *oci.Store, reference string) (name string, v *index.Version, err error) {
	ref, err := oci.ParseReference(reference)
	if err != nil {
		return "", nil, err
	}
	image, err := store.Image(ctx, ref.Name())
	if err != nil {
		return "", nil, err
	}
	if name, v = l.known(image); v == nil {
		s, err := imageSignatures(ctx, l.client, ref.At(image.Descriptor.Digest).String())
		if err != nil {
			return "", nil, err
		}
		if l.policy != nil {
			if _, err := s.judge(l.policy); err != nil {
				return "", nil, err
			}
		}
		name, v = s.module.Manifest.Name, new(index.Describe(s.module.Manifest))
		v.Image, v.Module, v.Size = s.image.Descriptor.Digest.String(), s.module.Digest, int64(len(s.module.Bytes))
	}
	return name, v, l.attached(ctx, store, image, v)
}

// known returns what was listed before of an image.
func (l *listing) known(image *oci.Image) (string, *index.Version) {
	if l.before == nil {
		return "", nil
	}
	p, v := l.before.Digest(image.Module.Digest.String(), image.Descriptor.Digest.String())
	if v == nil || p.Repository != image.Ref.Place() {
		return "", nil
	}
	return p.Name, new(*v)
}
