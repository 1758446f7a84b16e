package module

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/berth-scheduler/berth/abi/schema"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/market/oci"
	"github.com/berth-scheduler/berth/runtime/market/policy"
	"github.com/berth-scheduler/berth/runtime/market/signing"
)

// origin records where a module came from. It is stored beside the module's bytes, so that the
// policy can be applied again without a network. Only what a digest or a key proves is trusted.
type origin struct {
	// Repository and Manifest are the image's; empty for a file.
	Repository string `json:"repository,omitempty"`
	Manifest   []byte `json:"manifest,omitempty"`
	// Tags are those that named the image when it was fetched.
	Tags []string `json:"tags,omitempty"`
	// Bundles are the module's claimed signatures; nil if they were not requested.
	Bundles [][]byte `json:"bundles,omitempty"`

	lies []error
}

// fetched is a module's bytes and where they came from.
type fetched struct {
	data   []byte
	origin origin
	// pinned is true if the next fetch must return the same bytes.
	pinned bool
	// kept is true if the bytes were fetched earlier, so that the registry may have newer
	// signatures.
	kept bool
	// local is true for a file of the user.
	local bool

	storing sync.Once
}

// maxOrigin is the maximum size of a stored origin, in bytes. maxTags is how many tags of earlier fetches it keeps.
const (
	maxOrigin = 8 << 20
	maxTags   = 64
)

// keptOrigin returns the origin of a stored module. digest is the digest of an image or of a
// module.
func (s *Sources) keptOrigin(digest string) (o origin, ok bool) {
	if s.store == nil {
		return o, false
	}
	text, ok := s.store.Read(fileOf(digest, originSuffix), maxOrigin)
	if ok && json.Unmarshal(text, &o) != nil {
		s.store.Remove(fileOf(digest, originSuffix))
		return origin{}, false
	}
	return o, ok
}

// Keep stores a fetched module and its origin, so that the module need not be fetched again. The
// caller uses the module: one that is refused after Load returned is not to be kept.
func (s *Sources) Keep(l *Loaded) {
	if s.store == nil || l.fetched == nil || l.fetched.kept || l.fetched.local {
		return
	}
	l.fetched.storing.Do(func() {
		o := l.fetched.origin
		if was, ok := s.keptOrigin(l.Digest); ok && was.Repository == o.Repository && bytes.Equal(was.Manifest, o.Manifest) {
			for _, tag := range was.Tags[:min(len(was.Tags), maxTags)] {
				if !slices.Contains(o.Tags, tag) {
					o.Tags = append(o.Tags, tag)
				}
			}
		}
		if text, err := json.Marshal(o); err == nil {
			s.store.Write(fileOf(l.Digest, originSuffix), text)
			if l.Image != "" {
				s.store.Write(fileOf(l.Image, originSuffix), text)
			}
		}
		s.store.Write(fileOf(l.Digest, moduleSuffix), l.Bytes)
	})
}

// fileBundle reads the signature beside a file if it is wanted.
func (s *Sources) fileBundle(ref *Reference) ([][]byte, error) {
	path := ref.Path
	if !s.signatures(ref) {
		return nil, nil
	}
	if _, err := os.Stat(path + signing.Suffix); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	text, err := readFile(path+signing.Suffix, sectionSignature, signing.MaxBundle)
	return [][]byte{text}, err
}

// urlBundle gets the signature beside a URL if it is wanted.
func (s *Sources) urlBundle(ctx context.Context, ref *Reference) ([][]byte, error) {
	if !s.signatures(ref) {
		return nil, nil
	}
	text, status, err := s.get(ctx, ref.URL+signing.Suffix, signing.MaxBundle, "have it signed again")
	if status == http.StatusNotFound {
		return nil, nil
	}
	return [][]byte{text}, err
}

// admit checks a module against the annotations of its image and against the policies. It returns
// the names of the policies' keys that signed the module.
func (s *Sources) admit(ctx context.Context, ref *Reference, f *fetched, l *Loaded) ([]string, error) {
	m := l.Manifest
	subject := &policy.Subject{
		Name: m.Name, Version: m.Version, Publisher: m.Publisher,
		Module: l.Digest, Image: l.Image, Locked: s.config.Admitted != nil && s.config.Admitted.Has(l.Digest, l.Image), Data: f.data, Bundles: f.origin.Bundles, Lies: f.origin.lies,
	}
	if len(f.origin.Manifest) > 0 {
		subject.Repository = f.origin.Repository
		if err := f.origin.agrees(ctx, ref, m); err != nil {
			return nil, err
		}
	}
	l.subject = subject
	var signers []string
	for _, p := range []*policy.Policy{s.config.Policy, ref.Policy} {
		if p == nil {
			continue
		}
		by, err := l.Judge(p, s.config.Now())
		if err != nil {
			return nil, &Error{File: ref.Source(), Section: sectionSignature, Detail: err.Error(), Fix: "have it signed by a key that the policy names, or change the policy", Err: err}
		}
		signers = append(signers, by...)
	}
	slices.Sort(signers)
	return slices.Compact(signers), nil
}

// Judge returns the names of the policy's keys that signed a loaded module, or why the policy
// refuses it, as a *policy.Refusal. Without a policy of its reference or of Sources, signatures
// count only if the reference has Signed.
func (l *Loaded) Judge(p *policy.Policy, now time.Time) (signers []string, err error) {
	return p.Judge(l.subject, now)
}

// agrees holds the annotations of the image against the module's manifest.
func (o *origin) agrees(ctx context.Context, ref *Reference, m *wire.Manifest) error {
	at := oci.Reference{Dir: ref.Path}
	var err error
	if ref.Image != "" {
		at, err = oci.ParseReference(ref.Image)
	}
	var image *oci.Image
	if err == nil {
		image, err = oci.ParseImage(ctx, at, o.Manifest)
	}
	if err == nil {
		err = image.CheckAnnotations(m)
	}
	if err != nil && ref.Image == "" {
		return &Error{File: ref.Path, Section: sectionModule, Detail: plain.Cut(err.Error(), schema.MaxProblem), Err: err}
	}
	if err != nil {
		return imageError(ref.Image, err)
	}
	return nil
}

// OriginFile is the file beside a module's that tells which image it is of, and who
// signed that, so that a policy can be applied to a file as to the image. Its name has
// the module's digest: it cannot be taken for that of another version.
func OriginFile(modulePath, digest string) string {
	return filepath.Join(filepath.Dir(modulePath), fileOf(digest, originSuffix))
}

// The ends of the names of stored files.
const (
	originSuffix = ".origin"
	moduleSuffix = ".wasm"
)

// fileOrigin reads what is beside a file about the image that it is of, if the policy
// wants it. A file cannot prove from which repository it came, so it comes from none.
func (s *Sources) fileOrigin(ctx context.Context, ref *Reference, data []byte) (o origin, ok bool) {
	path := ref.Path
	if !s.signatures(ref) {
		return o, false
	}
	digest := Digest(data)
	text, err := readFile(OriginFile(path, digest), "", maxOrigin)
	if err != nil || json.Unmarshal(text, &o) != nil {
		return origin{}, false
	}
	image, err := oci.ParseImage(ctx, oci.Reference{Dir: path}, o.Manifest)
	if err != nil || image.Module.Digest.String() != digest {
		return origin{}, false
	}
	o.Repository = ""
	return o, true
}

// fileOf is the name of a file about a digest.
func fileOf(digest, suffix string) string { return strings.ReplaceAll(digest, ":", "-") + suffix }
