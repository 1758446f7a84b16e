package module

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/berth-scheduler/berth/abi/wire"
)

// SourcesConfig is how modules that are no files are fetched.
type SourcesConfig struct {
	// Dir keeps what was fetched by its digest, so that a module that is named with a
	// digest is fetched once; empty for none.
	Dir string
	// Timeout bounds a fetch; 0 means a minute.
	Timeout time.Duration
	// Transport (optional) makes the requests; nil connects to the servers.
	Transport http.RoundTripper
}

// maxHeader is the bytes of the headers of an answer at most.
const maxHeader = 64 << 10

// Sources is where modules come from: files, web servers and OCI registries.
type Sources struct{ config SourcesConfig }

// NewSources returns sources. It touches nothing.
func NewSources(c SourcesConfig) *Sources {
	if c.Timeout == 0 {
		c.Timeout = time.Minute
	}
	if c.Transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxResponseHeaderBytes = maxHeader
		t.DisableCompression = true // what arrives is what is counted
		c.Transport = t
	}
	return &Sources{config: c}
}

// fetch returns the bytes of the module of a reference. pinned tells that they cannot
// be others the next time.
func (s *Sources) fetch(ctx context.Context, ref *Reference) (data []byte, pinned bool, err error) {
	if ref.URL == "" && ref.Image == "" {
		data, err = readFile(ref.Path, sectionModule, wire.MaxModuleSize)
		return data, true, err // files are the user's own
	}
	if ref.URL != "" && ref.Digest == "" {
		return nil, false, &Error{File: ref.URL, Section: sectionDigest, Detail: "it is missing", Fix: digestFix}
	}
	if data, ok := s.kept(ref.Digest); ok {
		return data, true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	if ref.URL != "" {
		data, err = s.fetchURL(ctx, ref.URL)
		pinned = true // no other is accepted
	} else {
		data, pinned, err = s.fetchImage(ctx, ref.Image)
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil:
		return nil, false, &Error{File: ref.Source(), Section: sectionModule, Detail: fmt.Sprintf("it was not fetched within %v", s.config.Timeout), Fix: "see whether the server answers", Err: err}
	case err != nil:
		return nil, false, err
	}
	s.keep(data)
	return data, pinned || ref.Digest != "", nil
}

// readModule reads a module. Memory grows with what arrives, whatever was announced.
func readModule(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, wire.MaxModuleSize+1))
	if err == nil && len(data) > wire.MaxModuleSize {
		err = fmt.Errorf("more than the %d bytes that are allowed", wire.MaxModuleSize)
	}
	return data, err
}

// kept returns the bytes of a digest that were fetched before. What is in the folder
// is held against the digest again: others may write there.
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

// keep keeps bytes. That it cannot costs another fetch, and nothing else.
func (s *Sources) keep(data []byte) {
	if s.config.Dir != "" {
		_ = write(s.file(Digest(data), ".wasm"), data)
	}
}

func (s *Sources) file(digest, suffix string) string {
	return filepath.Join(s.config.Dir, strings.ReplaceAll(digest, ":", "-")+suffix)
}

// write makes a file at once, so that nobody reads half of it.
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
