// Package registry serves a folder as an OCI registry, for development, tests and places
// without a registry. Each repository is an OCI layout folder that other tools can read. It has
// no user accounts: anyone who can connect can push.
package registry

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"cuelabs.dev/go/oci/ociregistry"
	"cuelabs.dev/go/oci/ociregistry/ocimem"
	"cuelabs.dev/go/oci/ociregistry/ociserver"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
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

// Limits: bytes of a blob or manifest, and the number and bytes of uploads that are not finished, which are in memory.
const (
	maxBody       = 64 << 20
	maxUploads    = 32
	maxUnfinished = 2 * maxBody
)

// New returns the HTTP handler of a registry.
func New(c Config) (http.Handler, error) {
	f, err := open(c.Dir)
	if err != nil {
		return nil, err
	}
	handler := ociserver.New(f, &ociserver.Options{DisableReferrersAPI: c.NoReferrers})
	if c.NoReferrers {
		handler = withoutSubject(handler)
	}
	return http.MaxBytesHandler(handler, maxBody), nil
}

func open(dir string) (*folders, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &folders{dir: dir, root: root, open: map[string]*oci.Store{}, uploads: map[string]*ocimem.Buffer{}}, nil
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

	dir  string
	root *os.Root // the same, which symbolic links do not leave

	mu      sync.Mutex // guards the fields below
	open    map[string]*oci.Store
	uploads map[string]*ocimem.Buffer
	order   []string // of uploads that are not finished, oldest first
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
	switch _, err := f.root.Stat(path.Join(name, ocispec.ImageIndexFile)); {
	case err == nil:
	case !create || !errors.Is(err, fs.ErrNotExist):
		return nil, ociregistry.ErrNameUnknown
	default: // unless a link leads elsewhere
		if err := f.root.MkdirAll(name, 0o755); err != nil {
			return nil, err
		}
	}
	store, err := oci.New(filepath.Join(f.dir, filepath.FromSlash(name)))
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
	info, err := f.root.Stat(path.Join(name, ocispec.ImageBlobsDir, d.Algorithm().String(), d.Encoded()))
	if err != nil || !info.Mode().IsRegular() {
		return 0, ociregistry.ErrBlobUnknown
	}
	return info.Size(), nil
}
