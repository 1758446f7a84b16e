// Package registry serves a folder as an OCI registry, for development, tests and places
// without a registry. Each repository is an OCI layout folder that other tools can read. It has
// no user accounts: anyone who can connect can push.
package registry

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"cuelabs.dev/go/oci/ociregistry"
	"cuelabs.dev/go/oci/ociregistry/ocimem"
	"cuelabs.dev/go/oci/ociregistry/ociserver"
	"oras.land/oras-go/v2/content/oci"
)

// Config configures a registry.
type Config struct {
	// Dir contains the repositories, each in a folder of its name. It is created if it is
	// missing.
	Dir string
	// NoReferrers disables the referrers API, like old registries.
	NoReferrers bool
}

// Limits: bytes of a blob or manifest, and concurrent uploads.
const (
	maxBody    = 64 << 20
	maxUploads = 32
)

// New returns the HTTP handler of a registry.
func New(c Config) (http.Handler, error) {
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return nil, err
	}
	f := &folders{dir: c.Dir, open: map[string]*oci.Store{}, uploads: map[string]*ocimem.Buffer{}}
	handler := ociserver.New(f, &ociserver.Options{DisableReferrersAPI: c.NoReferrers})
	if c.NoReferrers {
		handler = withoutSubject(handler)
	}
	return http.MaxBytesHandler(handler, maxBody), nil
}

// withoutSubject removes the header that announces the referrers API.
func withoutSubject(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(subjectless{w}, r)
	})
}

type subjectless struct{ http.ResponseWriter }

func (w subjectless) WriteHeader(status int) {
	w.Header().Del("OCI-Subject")
	w.ResponseWriter.WriteHeader(status)
}

// folders implements ociregistry.Interface over OCI layout folders. Funcs is nil: its methods
// answer the operations that folders does not implement with an "unsupported" error.
type folders struct {
	*ociregistry.Funcs

	dir string

	mu      sync.Mutex // guards the fields below
	open    map[string]*oci.Store
	uploads map[string]*ocimem.Buffer
	order   []string // of uploads, oldest first
}

var _ ociregistry.Interface = (*folders)(nil)

// repository returns a repository's folder, which is created if create is true.
func (f *folders) repository(name string, create bool) (*oci.Store, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if store := f.open[name]; store != nil {
		return store, nil
	}
	if slices.Contains(strings.Split(name, "/"), "blobs") {
		return nil, fmt.Errorf("%w: the name is reserved for a folder of an OCI layout", ociregistry.ErrNameInvalid)
	}
	dir := filepath.Join(f.dir, filepath.FromSlash(name))
	if _, err := os.Stat(filepath.Join(dir, "index.json")); err != nil && !create {
		return nil, ociregistry.ErrNameUnknown
	}
	store, err := oci.New(dir)
	if err != nil {
		return nil, err
	}
	f.open[name] = store
	return store, nil
}

// blobSize returns the size of a blob in a repository.
func (f *folders) blobSize(name string, d ociregistry.Digest) (int64, error) {
	if err := d.Validate(); err != nil {
		return 0, ociregistry.ErrDigestInvalid
	}
	info, err := os.Stat(filepath.Join(f.dir, filepath.FromSlash(name), "blobs", d.Algorithm().String(), d.Encoded()))
	if err != nil {
		return 0, ociregistry.ErrBlobUnknown
	}
	return info.Size(), nil
}
