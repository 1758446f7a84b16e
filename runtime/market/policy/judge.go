package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/market/signing"
)

// Subject is a module to be judged. Name, Version and Publisher are from the manifest in its
// bytes.
type Subject struct {
	Name, Version, Publisher string
	// Repository is the image's REGISTRY/REPOSITORY; empty for a file.
	Repository string
	// Module is the digest of the bytes. Image is the digest of the image's manifest; empty for
	// a file.
	Module, Image string
	// Data is the module's bytes, which a file's signature signs.
	Data []byte
	// Bundles are the module's claimed signatures. Lies says why others do not count.
	Bundles [][]byte
	Lies    []error
	// Locked is true if a lock file has this digest: the module was admitted earlier, so keys
	// that have expired since still count. Revoked keys do not.
	Locked bool
}

// Refusal says why a module may not run.
type Refusal struct {
	// Digest is the digest of the image, or of a file's module.
	Digest string
	// Requirement is the failed part of the policy, such as require.allOf[1].
	Requirement string
	Detail      string
}

// Error returns "digest: requirement: detail".
func (r *Refusal) Error() string {
	return fmt.Sprintf("%s: the verification policy refuses it: %s: %s", r.Digest, r.Requirement, plain.Line(r.Detail, 1<<10))
}

// Judge decides whether a module may run. The error is nil or a *Refusal. signers are the names
// of the policy's keys that signed it. notAfter is compared with now.
func (p *Policy) Judge(s *Subject, now time.Time) (signers []string, err error) {
	j := judge{policy: p, subject: s, now: now, digest: s.Image}
	if j.digest == "" {
		j.digest = s.Module
	}
	for i, d := range p.revoked.Digests {
		if string(d) == s.Module || string(d) == s.Image {
			return nil, j.refuse(fmt.Sprintf("revoked.digests[%d]", i), "this digest is revoked")
		}
	}
	j.verify()
	if err := j.require("require", &p.require); err != nil {
		return nil, err
	}
	return j.signers, nil
}

// IndexKeys are the keys behind an index.
type IndexKeys struct {
	// Names are those of the policy's keys that signed it.
	Names []string
	// Trusted are the IDs of the keys that may sign it now, and Signers of those that did; both are sorted.
	Trusted, Signers []string
}

// JudgeIndex decides whether an index of plugins may be trusted. The error is nil or a
// *Refusal. It needs the subject's repository, image digest, bundles and lies.
func (p *Policy) JudgeIndex(s *Subject, now time.Time) (*IndexKeys, error) {
	j := judge{policy: p, subject: s, now: now, digest: s.Image}
	if i := slices.Index(p.revoked.Digests, v1alpha1.Digest(s.Image)); i >= 0 {
		return nil, j.refuse(fmt.Sprintf("revoked.digests[%d]", i), "this digest is revoked")
	}
	i := slices.IndexFunc(p.indexes, func(x v1alpha1.TrustedIndex) bool { return isIn(s.Repository, x.Repositories) })
	if i < 0 {
		return nil, j.refuse("indexes", "the policy has none for %s: add one, with the keys that sign it", s.Repository)
	}
	j.verify()
	rule := &p.indexes[i].Signatures
	if err := j.signatures(fmt.Sprintf("indexes[%d].signatures", i), rule.Keys, rule.Least); err != nil {
		return nil, err
	}
	out := &IndexKeys{Names: j.signers}
	for _, name := range rule.Keys {
		k := p.keys[name]
		if !k.counts(now) {
			continue
		}
		out.Trusted = append(out.Trusted, k.public.ID())
		if slices.Contains(j.signers, name) {
			out.Signers = append(out.Signers, k.public.ID())
		}
	}
	slices.Sort(out.Trusted)
	slices.Sort(out.Signers)
	return out, nil
}

// Keys returns the keys whose signatures count, in no order.
func (p *Policy) Keys(now time.Time) (keys []*signing.PublicKey) {
	for _, k := range p.keys {
		if k.counts(now) {
			keys = append(keys, k.public)
		}
	}
	return keys
}

// counts reports whether what a key signs counts, if it was not admitted before.
func (k *key) counts(now time.Time) bool {
	return !k.revoked && (k.notAfter.IsZero() || !now.After(k.notAfter))
}

// judge is one judgement.
type judge struct {
	policy  *Policy
	subject *Subject
	now     time.Time
	digest  string

	signers []string // names of the keys that count, sorted
	without []string // why bundles and keys do not count
}

func (j *judge) refuse(at, format string, args ...any) error {
	return &Refusal{Digest: j.digest, Requirement: at, Detail: fmt.Sprintf(format, args...)}
}

// verify finds the valid keys that signed the module.
func (j *judge) verify() {
	var bundles []*signing.Bundle
	for _, text := range j.subject.Bundles {
		b, err := signing.ParseBundle(text)
		if err != nil {
			j.without = append(j.without, err.Error())
			continue
		}
		bundles = append(bundles, b)
	}
	for _, lie := range j.subject.Lies {
		j.without = append(j.without, lie.Error())
	}
	for name, k := range j.policy.keys {
		err := j.signedBy(bundles, k.public)
		switch {
		case errors.Is(err, signing.ErrOtherKey):
		case err != nil:
			j.without = append(j.without, name+": "+err.Error())
		case k.revoked:
			j.without = append(j.without, fmt.Sprintf("the key %s signed it, but is revoked", name))
		case !j.subject.Locked && !k.counts(j.now):
			j.without = append(j.without, fmt.Sprintf("the key %s signed it, but it expired on %s and the module is not in the lock file", name, k.notAfter.Format(time.RFC3339)))
		default:
			j.signers = append(j.signers, name)
		}
	}
	slices.Sort(j.signers)
	slices.Sort(j.without)
}

// signedBy reports whether the key made one of the bundles. It returns ErrOtherKey if other
// keys made all of them.
func (j *judge) signedBy(bundles []*signing.Bundle, public *signing.PublicKey) error {
	result := signing.ErrOtherKey
	for _, b := range bundles {
		var err error
		if j.subject.Image != "" {
			err = b.VerifyImage(public, j.subject.Image)
		} else {
			err = b.VerifyFile(public, j.subject.Data)
		}
		if err == nil {
			return nil
		}
		if !errors.Is(err, signing.ErrOtherKey) {
			result = err
		}
	}
	return result
}

// require checks the module against a requirement.
func (j *judge) require(at string, q *v1alpha1.Requirement) error {
	switch {
	case q.AllOf != nil:
		for i := range q.AllOf {
			if err := j.require(fmt.Sprintf("%s.allOf[%d]", at, i), &q.AllOf[i]); err != nil {
				return err
			}
		}
		return nil
	case q.AnyOf != nil:
		return j.anyOf(at, q)
	case q.Publisher != "":
		return j.publisher(at+".publisher", j.policy.publishers[q.Publisher])
	case q.Signatures != nil:
		return j.signatures(at+".signatures", q.Signatures.Keys, q.Signatures.Least)
	case q.MinimumVersion != nil:
		return j.minimum(at+".minimumVersion", q.MinimumVersion)
	case slices.Contains(q.Digests, v1alpha1.Digest(j.subject.Module)),
		j.subject.Image != "" && slices.Contains(q.Digests, v1alpha1.Digest(j.subject.Image)):
		return nil
	}
	return j.refuse(at+".digests", "neither the image nor the module %s is in the list", j.subject.Module)
}

func (j *judge) anyOf(at string, q *v1alpha1.Requirement) error {
	met := 0
	var why []string
	for i := range q.AnyOf {
		err := j.require(fmt.Sprintf("%s.anyOf[%d]", at, i), &q.AnyOf[i])
		var refusal *Refusal
		if errors.As(err, &refusal) {
			why = append(why, refusal.Requirement+": "+refusal.Detail)
			continue
		}
		if met++; met >= q.Least {
			return nil
		}
	}
	return j.refuse(at, "%d of %d requirements are met, %d are needed: %s", met, len(q.AnyOf), q.Least, strings.Join(why, "; "))
}

func (j *judge) publisher(at string, p v1alpha1.TrustedPublisher) error {
	if j.subject.Publisher != p.Name {
		return j.refuse(at, "its publisher is %s, not %s", plain.Quote(j.subject.Publisher, 80), plain.Quote(p.Name, 80))
	}
	if !isIn(j.subject.Repository, p.Repositories) {
		from := j.subject.Repository
		if from == "" {
			from = "a file"
		}
		in := make([]string, len(p.Repositories))
		for i, repository := range p.Repositories {
			in[i] = string(repository)
		}
		return j.refuse(at, "it is from %s, but %s publishes in %s", from, p.Name, strings.Join(in, ", "))
	}
	return j.signatures(at, p.Keys, 1)
}

// isIn reports whether a repository matches one of the patterns, or there are none.
func isIn(repository string, patterns []v1alpha1.Repository) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(pattern v1alpha1.Repository) bool {
		return pattern.Matches(repository)
	})
}

// signatures requires a number of distinct keys.
func (j *judge) signatures(at string, keys []string, least int) error {
	var by []string
	for _, name := range j.signers {
		if slices.Contains(keys, name) {
			by = append(by, name)
		}
	}
	if len(by) >= least {
		return nil
	}
	detail := fmt.Sprintf("it is signed by %d of the keys %s, %d are needed", len(by), strings.Join(keys, ", "), least)
	if len(j.subject.Bundles) == 0 {
		detail = fmt.Sprintf("it has no signature; %d of the keys %s are needed", least, strings.Join(keys, ", "))
	}
	if len(j.without) > 0 {
		detail += ": " + strings.Join(j.without, "; ")
	}
	return j.refuse(at, "%s", detail)
}

func (j *judge) minimum(at string, m *v1alpha1.MinimumVersion) error {
	if j.subject.Name != m.Plugin {
		return nil
	}
	got, err := semver.StrictNewVersion(j.subject.Version)
	if err != nil {
		return j.refuse(at, "its version %s is not a semantic version", plain.Quote(j.subject.Version, 80))
	}
	if want := semver.MustParse(m.Version); got.LessThan(want) {
		return j.refuse(at, "it has the version %s, at least %s is required", got, want)
	}
	return nil
}
