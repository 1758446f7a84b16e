// Package index is the catalogue of plugins: a signed list of what there is, by whom,
// what it may see and do, and what was taken back. It has a serial and an expiry, so
// that nobody can show an old one for long.
package index

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/market/oci"
)

// The type of an index.
const (
	APIVersion = "berth.dev/v1alpha1"
	Kind       = "PluginIndex"
)

// MaxSize is the bytes of an index at most. The others are its plugins, the versions of
// one of them, and all its JSON objects.
const (
	MaxSize     = oci.MaxIndex
	maxPlugins  = 10_000
	maxVersions = 1_000
	maxObjects  = 200_000
)

// File is an index. Its text is JSON with the fields in this order; plugins are sorted
// by name and versions from the oldest to the newest, so that the same index always has
// the same bytes.
type File struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Serial is one more than that of the index before.
	Serial int64 `json:"serial"`
	// Expires is when it is not to be believed any more.
	Expires time.Time `json:"expires"`
	Plugins []Plugin  `json:"plugins"`
}

// Plugin is a plugin with its versions.
type Plugin struct {
	// Name is the manifest's, Repository where the images are: REGISTRY/REPOSITORY.
	Name       string    `json:"name"`
	Repository string    `json:"repository"`
	Versions   []Version `json:"versions"`
}

// Version is a version of a plugin, as its manifest describes it.
type Version struct {
	Version     string `json:"version"`
	Publisher   string `json:"publisher,omitempty"`
	License     string `json:"license,omitempty"`
	Description string `json:"description,omitempty"`
	// ABI is "major.minor": hosts of the same major and at least this minor run it.
	ABI    string              `json:"abi"`
	Points []string            `json:"points"`
	Reads  map[string][]string `json:"reads,omitempty"`
	// Grants is what it asks for beyond answering.
	Grants wire.ManifestDirectives `json:"grants"`
	// Image is the digest of the image's manifest, Module that of the bytes, Size their
	// number.
	Image  string `json:"image"`
	Module string `json:"module"`
	Size   int64  `json:"size"`
	// Docs is the digest of the README's artifact in the repository.
	Docs string `json:"docs,omitempty"`
	// SBOM is the digest of the artifact that says what it was built from.
	SBOM string `json:"sbom,omitempty"`
	// Conformance and Bench are what the author measured; nobody checked it.
	Conformance *Conformance `json:"conformance,omitempty"`
	Bench       []Bench      `json:"bench,omitempty"`
	Yanked      *Yank        `json:"yanked,omitempty"`
}

// Conformance is the number of duties by how they went.
type Conformance struct {
	Kept   int `json:"kept"`
	Failed int `json:"failed"`
}

// Bench is the cost of a pod in a cluster of a size.
type Bench struct {
	Nodes int `json:"nodes"`
	// PerPod is in nanoseconds, Fuel in units.
	PerPod int64 `json:"perPod"`
	Fuel   int64 `json:"fuel"`
}

// Yank is why a version should not be installed any more.
type Yank struct {
	Reason string `json:"reason"`
	// Successor (optional) is what to use instead: a version, or NAME@VERSION.
	Successor string `json:"successor,omitempty"`
}

// String gives "REASON; use SUCCESSOR".
func (y *Yank) String() string {
	if y.Successor == "" {
		return y.Reason
	}
	return y.Reason + "; use " + y.Successor
}

// Parse reads an index. It accepts what Text writes and nothing else: no other order, no
// field twice, no other spelling.
func Parse(text []byte) (*File, error) {
	const fix = "make it with berth plugin index"
	if len(text) > MaxSize {
		return nil, fmt.Errorf("it has %d bytes, at most %d are allowed", len(text), MaxSize)
	}
	if n := bytes.Count(text, []byte("{")); n > maxObjects { // a few bytes each, and much memory
		return nil, fmt.Errorf("it has %d objects, at most %d are allowed", n, maxObjects)
	}
	var f File
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return nil, errors.New(plain.Line(err.Error(), 256) + ": " + fix)
	}
	if f.APIVersion != APIVersion || f.Kind != Kind {
		return nil, fmt.Errorf("it is %s of %s, not %s of %s: use a newer berth, or %s", plain.Quote(f.Kind, 64), plain.Quote(f.APIVersion, 64), Kind, APIVersion, fix)
	}
	again, err := f.Text()
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(text, again) {
		return nil, errors.New("it is not the canonical form of an index, byte for byte: " + fix)
	}
	return &f, nil
}

// Text checks an index and writes it.
func (f *File) Text() ([]byte, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(f); err != nil {
		return nil, err
	}
	if out.Len() > MaxSize {
		return nil, fmt.Errorf("it has %d bytes, at most %d are allowed", out.Len(), MaxSize)
	}
	return out.Bytes(), nil
}
