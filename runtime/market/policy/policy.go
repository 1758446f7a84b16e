// Package policy decides which modules may run, by their signing keys, publishers, digests and
// versions. It does not fetch anything.
package policy

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/berth-scheduler/berth/runtime/internal/strictyaml"
	"github.com/berth-scheduler/berth/runtime/market/signing"
	"github.com/berth-scheduler/berth/runtime/tenancy/v1alpha1"
)

// The kind and version of a policy.
const (
	APIVersion = "berth.dev/v1alpha1"
	Kind       = "VerificationPolicy"
)

// Limits of a policy: MaxSize of its file in bytes, maxNodes of its requirements, maxKeys of
// its keys.
const (
	MaxSize  = 256 << 10
	maxNodes = 256
	maxKeys  = 64
)

// Policy is a VerificationPolicy:
//
//	apiVersion: berth.dev/v1alpha1
//	kind: VerificationPolicy
//	keys:
//	- name: example-2026
//	  publicKey: |
//	    -----BEGIN PUBLIC KEY-----
//	    …
//	  notAfter: 2027-06-30T00:00:00Z   # new digests are not admitted by it after that
//	publishers:
//	- name: Example                    # publisher in the manifest
//	  keys: [example-2026]
//	  repositories: [ghcr.io/example/*]
//	indexes:                           # whom to believe what plugins there are
//	- repositories: [ghcr.io/example/index]
//	  signatures: {keys: [example-2026]}
//	revoked:                           # what never runs, whatever else holds
//	  keys: [example-2025]
//	  digests: [sha256:…]              # of a module or an image
//	require:
//	  allOf:
//	  - publisher: Example
//	  - minimumVersion: {plugin: rack-aware, version: 1.2.0}
//	  - anyOf:
//	    - signatures: {keys: [security, example-2026], least: 2}
//	    - digests: [sha256:…]
//
// A Policy does not change after Parse, and is about nothing but the subjects that it is asked
// about: several parts of a process may have one each, or share one.
type Policy struct {
	keys       map[string]key
	publishers map[string]publisher
	indexes    []index
	revoked    revoked
	require    requirement
}

type key struct {
	public   *signing.PublicKey
	notAfter time.Time
	revoked  bool
}

// file is the file format of a policy.
type file struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Keys       []struct {
		Name      string    `json:"name"`
		PublicKey string    `json:"publicKey"`
		NotAfter  time.Time `json:"notAfter"`
	} `json:"keys"`
	Publishers []publisher `json:"publishers"`
	Indexes    []index     `json:"indexes"`
	Revoked    revoked     `json:"revoked"`
	Require    requirement `json:"require"`
}

type publisher struct {
	Name         string   `json:"name"`
	Keys         []string `json:"keys"`
	Repositories []string `json:"repositories"`
}

// index says who signs an index of plugins, and where it is.
type index struct {
	Repositories []string   `json:"repositories"`
	Signatures   signatures `json:"signatures"`
}

type revoked struct {
	Keys    []string `json:"keys"`
	Digests []string `json:"digests"`
}

// requirement has exactly one of its fields set.
type requirement struct {
	AllOf          []requirement `json:"allOf"`
	AnyOf          []requirement `json:"anyOf"`
	Least          int           `json:"least"` // for anyOf; default 1
	Publisher      string        `json:"publisher"`
	Signatures     *signatures   `json:"signatures"`
	Digests        []string      `json:"digests"`
	MinimumVersion *minimum      `json:"minimumVersion"`
}

type signatures struct {
	Keys  []string `json:"keys"`
	Least int      `json:"least"` // distinct keys; default 1
}

type minimum struct {
	Plugin  string `json:"plugin"`
	Version string `json:"version"`
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
	var f file
	if err := strictyaml.Decode(text, MaxSize, &f); err != nil {
		return nil, err
	}
	if f.APIVersion != APIVersion || f.Kind != Kind {
		return nil, fmt.Errorf("it is %s of %s: write kind: %s and apiVersion: %s", f.Kind, f.APIVersion, Kind, APIVersion)
	}
	p := &Policy{keys: map[string]key{}, publishers: map[string]publisher{}, revoked: f.Revoked}
	r := reader{policy: p}
	r.keys(&f)
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

func (r *reader) keys(f *file) {
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
			r.policy.keys[k.Name] = key{public: public, notAfter: k.NotAfter, revoked: slices.Contains(f.Revoked.Keys, k.Name)}
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

func (r *reader) publishers(list []publisher) {
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

func (r *reader) repositories(at string, patterns []string) {
	for j, pattern := range patterns {
		if _, err := path.Match(pattern, "x"); err != nil || strings.Contains(pattern, ":") && !strings.Contains(pattern, "/") {
			r.add(fmt.Sprintf("%s.repositories[%d]", at, j), "%q is not a pattern: write REGISTRY/REPOSITORY, with * for a part", pattern)
		}
	}
}

func (r *reader) indexes(list []index) {
	for i := range list {
		at := fmt.Sprintf("indexes[%d]", i)
		r.repositories(at, list[i].Repositories)
		r.signatures(at+".signatures", &list[i].Signatures)
	}
	r.policy.indexes = list
}

// signatures checks that all keys exist and are not duplicated.
func (r *reader) signatures(at string, s *signatures) {
	for i, name := range s.Keys {
		r.known(fmt.Sprintf("%s.keys[%d]", at, i), name)
		if slices.Contains(s.Keys[:i], name) {
			r.add(fmt.Sprintf("%s.keys[%d]", at, i), "%q appears twice", name)
		}
	}
	s.Least = r.least(at, s.Least, len(s.Keys))
}

func (r *reader) digest(at, d string) {
	if !v1alpha1.Digest(d).Valid() {
		r.add(at, "%q is not a digest: write sha256: and 64 hexadecimal digits", d)
	}
}

// requirement checks that exactly one field is set, at each level.
func (r *reader) requirement(at string, q *requirement, depth int) {
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
