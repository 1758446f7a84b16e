package module

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/internal/diskcache"
	"github.com/berth-scheduler/berth/runtime/market/lock"
	"github.com/berth-scheduler/berth/runtime/market/oci"
	"github.com/berth-scheduler/berth/runtime/market/policy"
)

// SourcesConfig says how modules are fetched.
type SourcesConfig struct {
	// Dir stores fetched modules by their digests, so that a module that is named by its digest
	// is fetched once; empty stores nothing. Size is what the folder may take on the disk, in bytes;
	// 0 means DefaultCacheSize.
	Dir  string
	Size int64
	// InUse (optional) reports whether a plugin runs that is made of a module, or of an image, of a
	// digest. Those are the last to be removed from the folder.
	InUse func(digest string) bool
	Log   *slog.Logger // optional
	// Offline makes no requests: only files and what Dir has can be loaded.
	Offline bool
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
	store  *diskcache.Cache // of fetched modules; nil without a folder
}

// DefaultCacheSize is the default of SourcesConfig.Size.
const DefaultCacheSize = 192 << 20

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
	s := &Sources{config: c, images: oci.New(oci.Config{Transport: c.Transport})}
	if c.Dir != "" {
		s.store = diskcache.New(diskcache.Config{
			Dir: c.Dir, Size: cmp.Or(c.Size, DefaultCacheSize), Name: "fetched modules", Log: c.Log,
			Mine: func(name string) bool {
				return strings.HasPrefix(name, "sha256-") || strings.HasPrefix(name, ".fetched-") // of earlier versions
			},
			Held: func(name string) bool {
				digest, _, _ := strings.Cut(name, ".")
				return c.InUse != nil && c.InUse(strings.Replace(digest, "-", ":", 1))
			},
		})
	}
	return s
}

// fetch returns the module of a reference. fresh asks the server again even if the module is
// stored.
func (s *Sources) fetch(ctx context.Context, ref *Reference, fresh bool) (f *fetched, err error) {
	if ref.URL == "" && ref.Image == "" {
		f = &fetched{pinned: true, local: true}
		if info, err := os.Stat(ref.Path); err == nil && ref.Limits.MemoryTotal > 0 && info.Size() > ref.Limits.MemoryTotal {
			return nil, tooLarge(ref, info.Size()) // before it is read
		}
		if f.data, err = readFile(ref.Path, sectionModule, wire.MaxModuleSize); err != nil {
			return nil, err
		}
		var ok bool
		if f.origin, ok = s.fileOrigin(ctx, ref, f.data); !ok {
			f.origin.Bundles, err = s.fileBundle(ref)
		}
		return f, err
	}
	if ref.URL != "" && ref.Digest == "" {
		return nil, &Error{File: ref.URL, Section: sectionDigest, Detail: "it is missing", Fix: v1alpha1.DigestRequired}
	}
	ctx, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	fresh = fresh && !s.config.Offline
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

// kept returns the stored bytes of a digest. It checks the digest again, because a disk may have
// damaged them, and removes what does not have it.
func (s *Sources) kept(digest string) ([]byte, bool) {
	if s.store == nil || digest == "" {
		return nil, false
	}
	data, ok := s.store.Read(fileOf(digest, moduleSuffix), wire.MaxModuleSize)
	if ok && Digest(data) != digest {
		s.store.Remove(fileOf(digest, moduleSuffix))
		ok = false
	}
	if !ok {
		return nil, false
	}
	return data, true
}
