package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/market/index"
	"github.com/berth-scheduler/berth/runtime/market/lock"
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

	refused map[string]bool // REPOSITORY@DIGEST of versions that were listed before, and that the policy refuses now
}

// mostTold is how many versions of a repository are told of one by one that are left out.
const mostTold = 5

// plugin describes the plugin of a repository. A version that cannot be used is left
// out, and told of: its publisher must not be able to stop the index. The plugin has no versions if
// the policy refuses all that were listed before.
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
	out := &index.Plugin{Repository: repository}
	taken, err := l.judge(ctx, repository)
	if err != nil {
		return nil, err
	}
	left := taken
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
		if errors.Is(err, errTakenOut) {
			continue
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
	if out.Name == "" && taken == 0 {
		return nil, fmt.Errorf("%s: it has no version of a plugin: push one with berth plugin push", repository)
	}
	return out, nil
}

// errTakenOut is of a version that judge has told of.
var errTakenOut = errors.New("the policy refuses it now")

// judge finds the listed versions of a repository that the policy refuses now, because a key was revoked or the policy is new. Next
// takes them out. A yanked version stays listed, so that those who run it learn of the yank.
func (l *listing) judge(ctx context.Context, repository string) (taken int, err error) {
	if l.policy == nil || l.before == nil || l.before.In(repository) == nil {
		return 0, nil
	}
	p := l.before.In(repository)
	for i := range p.Versions {
		v := &p.Versions[i]
		if v.Yanked != nil {
			continue
		}
		err := judgeListed(ctx, l.client, l.policy, p, v, nil)
		var refusal *policy.Refusal
		switch {
		case errors.As(err, &refusal):
			l.refused[repository+"@"+v.Image] = true
			if taken++; taken <= mostTold {
				l.tell(plain.Line(fmt.Sprintf("%s:%s is taken out: %v", repository, v.Version, err), maxCell))
			}
		case ctx.Err() != nil:
			return taken, ctx.Err()
		} // another error says nothing of the version, which may be gone: it stays as it was listed
	}
	return taken, nil
}

// judgeListed asks a policy about a version as the index lists it, with the signatures that its registry has now. The error is a
// *policy.Refusal if the policy refuses it. locked (optional) has modules that were admitted before.
func judgeListed(
	ctx context.Context, client *oci.Client, rules *policy.Policy, p *index.Plugin, v *index.Version, locked *lock.File,
) error {
	ref, err := oci.ParseReference(p.Repository + "@" + v.Image)
	if err != nil {
		return err
	}
	store, err := client.Open(ctx, ref)
	if err != nil {
		return err
	}
	defer store.Close()                        //nolint:errcheck // it was only read
	image, err := store.Image(ctx, ref.Name()) // one that is gone has no signatures, either, and is not refused for that
	if err != nil {
		return err
	}
	s := signed{}
	if err := s.attached(ctx, store, image.Descriptor); err != nil {
		return err
	}
	_, err = rules.Judge(&policy.Subject{
		Name: p.Name, Version: v.Version, Publisher: v.Publisher, Repository: p.Repository, Module: v.Module, Image: v.Image,
		Bundles: s.bundles, Lies: s.lies, Locked: locked != nil && locked.Has(v.Module, v.Image),
	}, time.Now())
	return err
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
	if l.refused[ref.Place()+"@"+image.Descriptor.Digest.String()] {
		return "", nil, errTakenOut
	}
	if name, v = l.known(image); v == nil {
		s, err := imageSignatures(ctx, l.client, ref.At(image.Descriptor.Digest).String())
		if err != nil {
			return "", nil, err
		}
		switch {
		case l.policy != nil:
			if _, err := s.judge(l.policy); err != nil {
				return "", nil, err
			}
		case len(s.bundles) == 0:
			l.tell(reference + " has no signature: policies that require one refuse it; sign it with berth plugin sign, " +
				"or name a --verification-policy, which leaves it out")
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
