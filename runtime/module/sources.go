package module

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/market/lock"
	"github.com/berth-scheduler/berth/runtime/market/oci"
	"github.com/berth-scheduler/berth/runtime/market/policy"
)

// SourcesConfig says how modules are fetched.
type SourcesConfig struct {
	// Dir stores fetched modules by their digests, so that a module that is named by its digest
	// is fetched once; empty stores nothing.
	Dir string
	// Timeout bounds a fetch; 0 means one minute.
	Timeout time.Duration
	// Transport (optional) makes the requests; nil is oci.NewTransport.
	Transport http.RoundTripper
	// Policy (optional) says which modules may run. Now returns the time of the judgement; nil
	// means the real clock.
	Policy *policy.Policy
	Now    func() time.Time
	// Lock (optional) lists the modules that may be used, except those of plugin folders.
	// Admitted (optional; default Lock) lists those that a policy admitted earlier.
	Lock, Admitted *lock.File
}

// Sources loads modules from files, web servers and OCI registries.
type Sources struct {
	config SourcesConfig
	images *oci.Client
}

// NewSources returns sources. It makes no requests and reads no files.
func NewSources(c SourcesConfig) *Sources {
	if c.Timeout == 0 {
		c.Timeout = time.Minute
	}
	if c.Transport == nil {
		c.Transport = oci.NewTransport()
	}
	if c.Admitted == nil {
		c.Admitted = c.Lock
	}
	if c.Now == nil {
		c.Now = clock.Real{}.Now
	}
	return &Sources{config: c, images: oci.New(oci.Config{Transport: c.Transport})}
}

// fetch returns the module of a reference. fresh asks the server again even if the module is
// stored.
func (s *Sources) fetch(ctx context.Context, ref *Reference, fresh bool) (f *fetched, err error) {
	if ref.URL == "" && ref.Image == "" {
		f = &fetched{pinned: true, local: true}
		if f.data, err = readFile(ref.Path, sectionModule, wire.MaxModuleSize); err != nil {
			return nil, err
		}
		var ok bool
		if f.origin, ok = s.fileOrigin(ref, f.data); !ok {
			f.origin.Bundles, err = s.fileBundle(ref)
		}
		return f, err
	}
	if ref.URL != "" && ref.Digest == "" {
		return nil, &Error{File: ref.URL, Section: sectionDigest, Detail: "it is missing", Fix: digestFix}
	}
	ctx, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	if ref.URL != "" {
		f, err = s.fetchURL(ctx, ref, fresh)
	} else {
		f, err = s.fetchImage(ctx, ref, fresh)
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil:
		return nil, &Error{File: ref.Source(), Section: sectionModule, Detail: fmt.Sprintf("it was not fetched within %v", s.config.Timeout), Fix: "check that the server answers", Err: err}
	case err != nil:
		return nil, err
	}
	return f, nil
}

// signatures reports whether the signatures of a module are to be fetched.
func (s *Sources) signatures(ref *Reference) bool {
	return s.config.Policy != nil || ref.Policy != nil || ref.Signed
}

// kept returns the stored bytes of a digest. It checks the digest again, because others may
// write to the folder.
func (s *Sources) kept(digest string) ([]byte, bool) {
	if s.config.Dir == "" || digest == "" {
		return nil, false
	}
	data, err := readFile(s.file(digest, ".wasm"), "", wire.MaxModuleSize)
	if err != nil || Digest(data) != digest {
		return nil, false
	}
	return data, true
}

// write writes a file atomically, so that nobody reads half of it.
func write(path string, data []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".fetched-")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		if gone := os.Remove(f.Name()); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}
