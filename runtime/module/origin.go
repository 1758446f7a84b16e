package module

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

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
}

// maxOrigin is the maximum size of a stored origin, in bytes.
const maxOrigin = 8 << 20

// keptOrigin returns the origin of a stored module. digest is the digest of an image or of a
// module.
func (s *Sources) keptOrigin(digest string) (o origin, ok bool) {
	if s.config.Dir == "" {
		return o, false
	}
	text, err := readFile(s.file(digest, ".origin"), "", maxOrigin)
	return o, err == nil && json.Unmarshal(text, &o) == nil
}

// keep stores an accepted module and its origin. A failure to store only costs another fetch.
func (s *Sources) keep(f *fetched) {
	if s.config.Dir == "" || f.kept || f.local {
		return
	}
	digest := Digest(f.data)
	if text, err := json.Marshal(f.origin); err == nil {
		_ = write(s.file(digest, ".origin"), text)
		if len(f.origin.Manifest) > 0 {
			_ = write(s.file(Digest(f.origin.Manifest), ".origin"), text)
		}
	}
	_ = write(s.file(digest, ".wasm"), f.data)
}

// fileBundle reads the signature beside a file if the policy requires one.
func (s *Sources) fileBundle(path string) ([][]byte, error) {
	if s.config.Policy == nil {
		return nil, nil
	}
	if _, err := os.Stat(path + signing.Suffix); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	text, err := readFile(path+signing.Suffix, sectionSignature, signing.MaxBundle)
	return [][]byte{text}, err
}

// urlBundle gets the signature beside a URL if the policy requires one.
func (s *Sources) urlBundle(ctx context.Context, address string) ([][]byte, error) {
	if s.config.Policy == nil {
		return nil, nil
	}
	text, status, err := s.get(ctx, address+signing.Suffix, signing.MaxBundle)
	if status == http.StatusNotFound {
		return nil, nil
	}
	return [][]byte{text}, err
}

// admit checks a module against the annotations of its image and against the policy. It returns
// the names of the policy's keys that signed the module.
func (s *Sources) admit(ref *Reference, f *fetched, l *Loaded) ([]string, error) {
	m := l.Manifest
	subject := &policy.Subject{
		Name: m.Name, Version: m.Version, Publisher: m.Publisher,
		Module: l.Digest, Image: l.Image, Locked: s.config.Admitted != nil && s.config.Admitted.Has(l.Digest, l.Image), Data: f.data, Bundles: f.origin.Bundles, Lies: f.origin.lies,
	}
	if len(f.origin.Manifest) > 0 {
		subject.Repository = f.origin.Repository
		image, err := oci.ParseImage(ref.Image, f.origin.Manifest)
		if err == nil {
			err = image.CheckAnnotations(m)
		}
		if err != nil {
			return nil, imageError(ref.Image, err)
		}
	}
	if s.config.Policy == nil {
		return nil, nil
	}
	signers, err := s.config.Policy.Judge(subject, s.config.Now())
	if err != nil {
		return nil, &Error{File: ref.Source(), Section: sectionSignature, Detail: err.Error(), Fix: "have it signed by a key that the policy names, or change the policy", Err: err}
	}
	return signers, nil
}

func (s *Sources) file(digest, suffix string) string {
	return filepath.Join(s.config.Dir, strings.ReplaceAll(digest, ":", "-")+suffix)
}
