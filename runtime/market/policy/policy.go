// Package policy decides which modules may run, by their signing keys, publishers, digests and
// versions. It does not fetch anything.
package policy

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/internal/strictyaml"
	"github.com/berth-scheduler/berth/runtime/market/signing"
)

// Limits of a policy: MaxSize of its file in bytes, maxNodes of its requirements, maxKeys of
// its keys.
const (
	MaxSize  = 256 << 10
	maxNodes = 256
	maxKeys  = 64
)

// Policy is a v1alpha1.VerificationPolicy that has been checked.
//
// It does not change, and is about nothing but the subjects that it is asked
// about: several parts of a process may have one each, or share one.
type Policy struct {
	keys       map[string]key
	publishers map[string]v1alpha1.TrustedPublisher
	indexes    []v1alpha1.TrustedIndex
	revoked    v1alpha1.Revoked
	require    v1alpha1.Requirement
}

type key struct {
	public   *signing.PublicKey
	notAfter time.Time
	revoked  bool
}

// Parse parses a policy.
//
// # Errors
//
// All mistakes, joined.
func Parse(text []byte) (*Policy, error) {
	if len(text) > MaxSize {
		return nil, fmt.Errorf("it has %d bytes, at most %d are allowed", len(text), MaxSize)
	}
	var f v1alpha1.VerificationPolicy
	if err := strictyaml.Decode(text, MaxSize, &f); err != nil {
		return nil, err
	}
	if want := v1alpha1.GroupVersion().String(); f.APIVersion != want || f.Kind != v1alpha1.KindVerificationPolicy {
		return nil, fmt.Errorf("it is %s of %s: write kind: %s and apiVersion: %s", f.Kind, f.APIVersion, v1alpha1.KindVerificationPolicy, want)
	}
	return New(&f)
}

// New returns the policy that a file or an object has, whatever its apiVersion and kind. It fills in defaults in f, and keeps it.
//
// # Errors
//
// All mistakes, joined.
func New(f *v1alpha1.VerificationPolicy) (*Policy, error) {
	p := &Policy{keys: map[string]key{}, publishers: map[string]v1alpha1.TrustedPublisher{}, revoked: f.Revoked}
	r := reader{policy: p}
	r.keys(f)
	r.publishers(f.Publishers)
	r.indexes(f.Indexes)
	for i, d := range f.Revoked.Digests {
		r.digest(fmt.Sprintf("revoked.digests[%d]", i), d)
	}
	r.requirement("require", &f.Require, 0)
	p.require = f.Require // with the defaults
	return p, errors.Join(r.errs...)
}

// reader checks a policy and collects mistakes.
type reader struct {
	policy *Policy
	errs   []error
	nodes  int
}

func (r *reader) add(at, format string, args ...any) {
	if len(r.errs) < 20 {
		r.errs = append(r.errs, fmt.Errorf("%s: %s", at, fmt.Sprintf(format, args...)))
	}
}

func (r *reader) keys(f *v1alpha1.VerificationPolicy) {
	if len(f.Keys) > maxKeys {
		r.add("keys", "%d keys, at most %d are allowed", len(f.Keys), maxKeys)
		return
	}
	names := map[string]string{} // by key ID: one key has one name and counts once
	for i, k := range f.Keys {
		at := fmt.Sprintf("keys[%d]", i)
		public, err := signing.ParsePublicKey([]byte(k.PublicKey))
		_, twice := r.policy.keys[k.Name]
		switch {
		case k.Name == "":
			r.add(at, "it has no name")
		case twice:
			r.add(at, "the name %q appears twice", k.Name)
		case err != nil:
			r.add(at+".publicKey", "%v", err)
		case names[public.ID()] != "":
			r.add(at, "%q is the same key as %q", k.Name, names[public.ID()])
		default:
			names[public.ID()] = k.Name
			one := key{public: public, revoked: slices.Contains(f.Revoked.Keys, k.Name)}
			if k.NotAfter != nil {
				one.notAfter = k.NotAfter.UTC()
			}
			r.policy.keys[k.Name] = one
		}
	}
	for i, name := range f.Revoked.Keys {
		r.known(fmt.Sprintf("revoked.keys[%d]", i), name)
	}
}

func (r *reader) known(at, name string) {
	if _, ok := r.policy.keys[name]; !ok {
		r.add(at, "there is no key %q in keys", name)
	}
}

func (r *reader) publishers(list []v1alpha1.TrustedPublisher) {
	for i, p := range list {
		at := fmt.Sprintf("publishers[%d]", i)
		if _, twice := r.policy.publishers[p.Name]; p.Name == "" || twice {
			r.add(at, "the name %q is empty or not unique", p.Name)
		}
		if len(p.Keys) == 0 {
			r.add(at+".keys", "a publisher needs a key")
		}
		for j, name := range p.Keys {
			r.known(fmt.Sprintf("%s.keys[%d]", at, j), name)
		}
		r.repositories(at, p.Repositories)
		r.policy.publishers[p.Name] = p
	}
}

func (r *reader) repositories(at string, patterns []v1alpha1.Repository) {
	for j, pattern := range patterns {
		if err := pattern.Check(); err != nil {
			r.add(fmt.Sprintf("%s.repositories[%d]", at, j), "%v", err)
		}
	}
}

func (r *reader) indexes(list []v1alpha1.TrustedIndex) {
	for i := range list {
		at := fmt.Sprintf("indexes[%d]", i)
		r.repositories(at, list[i].Repositories)
		r.signatures(at+".signatures", &list[i].Signatures)
	}
	r.policy.indexes = list
}

// signatures checks that all keys exist and are not duplicated.
func (r *reader) signatures(at string, s *v1alpha1.Signatures) {
	for i, name := range s.Keys {
		r.known(fmt.Sprintf("%s.keys[%d]", at, i), name)
		if slices.Contains(s.Keys[:i], name) {
			r.add(fmt.Sprintf("%s.keys[%d]", at, i), "%q appears twice", name)
		}
	}
	s.Least = r.least(at, s.Least, len(s.Keys))
}

func (r *reader) digest(at string, d v1alpha1.Digest) {
	if !d.Valid() {
		r.add(at, "%q is not a digest: write sha256: and 64 hexadecimal digits", d)
	}
}

// requirement checks that exactly one field is set, at each level.
func (r *reader) requirement(at string, q *v1alpha1.Requirement, depth int) {
	if r.nodes++; r.nodes > maxNodes || depth > 16 {
		r.add(at, "more than %d requirements, or nested deeper than 16", maxNodes)
		return
	}
	set := 0
	for _, has := range []bool{q.AllOf != nil, q.AnyOf != nil, q.Publisher != "", q.Signatures != nil, q.Digests != nil, q.MinimumVersion != nil} {
		if has {
			set++
		}
	}
	if set != 1 {
		r.add(at, "%d of allOf, anyOf, publisher, signatures, digests and minimumVersion are set, want exactly one", set)
		return
	}
	if (q.AllOf != nil && len(q.AllOf) == 0) || (q.Digests != nil && len(q.Digests) == 0) {
		r.add(at, "the list is empty")
	}
	for i := range q.AllOf {
		r.requirement(fmt.Sprintf("%s.allOf[%d]", at, i), &q.AllOf[i], depth+1)
	}
	for i := range q.AnyOf {
		r.requirement(fmt.Sprintf("%s.anyOf[%d]", at, i), &q.AnyOf[i], depth+1)
	}
	if q.AnyOf == nil && q.Least != 0 {
		r.add(at+".least", "it is only for anyOf")
	}
	if q.AnyOf != nil {
		q.Least = r.least(at, q.Least, len(q.AnyOf))
	}
	if _, ok := r.policy.publishers[q.Publisher]; q.Publisher != "" && !ok {
		r.add(at+".publisher", "there is no publisher %q in publishers", q.Publisher)
	}
	if s := q.Signatures; s != nil {
		r.signatures(at+".signatures", s)
	}
	for i, d := range q.Digests {
		r.digest(fmt.Sprintf("%s.digests[%d]", at, i), d)
	}
	if m := q.MinimumVersion; m != nil {
		if _, err := semver.StrictNewVersion(m.Version); err != nil || m.Plugin == "" {
			r.add(at+".minimumVersion", "write plugin: NAME and version: MAJOR.MINOR.PATCH")
		}
	}
}

// least returns how many of a list are needed; default 1.
func (r *reader) least(at string, n, of int) int {
	if n == 0 {
		n = 1
	}
	if n < 0 || n > of {
		r.add(at+".least", "%d of %d is impossible", n, of)
	}
	return n
}
