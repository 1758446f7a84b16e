// Package index reads and makes the catalogue of plugins: a signed list of plugins with their
// versions, publishers, permissions and yanks. Its serial and expiry limit for how long
// someone can pass off an old list as the newest.
package index

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/berth-scheduler/berth/internal/bounded"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/market/oci"
)

// The type of an index.
const (
	APIVersion = "berth.dev/v1alpha1"
	Kind       = "PluginIndex"
)

// Limits of an index: MaxSize of its text in bytes, maxPlugins plugins, maxVersions versions of
// one plugin, and maxDecoded bytes of memory in all.
const (
	MaxSize     = oci.MaxIndex
	maxPlugins  = 10_000
	maxVersions = 1_000
	maxDecoded  = 128 << 20
)

// File is an index. Its text is JSON with the fields in this order; plugins are sorted
// by name and versions from the oldest to the newest, so that the same index always has
// the same bytes.
type File struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Serial counts the indexes that were published under a reference, from 1.
	Serial int64 `json:"serial"`
	// Expires is the time after which readers refuse it.
	Expires time.Time `json:"expires"`
	// Announced are public keys in PEM, sorted, that will sign later indexes. They are for people: a policy says which keys count.
	Announced []string `json:"announced,omitempty"`
	Plugins   []Plugin `json:"plugins"`
}

// Plugin is a plugin with its versions.
type Plugin struct {
	// Name is the name in the manifest. Repository is REGISTRY/REPOSITORY of the images.
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
	// Grants are the directives that it asks for: what it may do besides answering.
	Grants Directives `json:"grants"`
	// Image is the digest of the image's manifest. Module is the digest of the module, and
	// Size the module's size in bytes.
	Image  string `json:"image"`
	Module string `json:"module"`
	Size   int64  `json:"size"`
	// Docs is the digest of the artifact with the README; empty if there is none.
	Docs string `json:"docs,omitempty"`
	// SBOM is the digest of the artifact with the bill of materials; empty if there is none.
	SBOM string `json:"sbom,omitempty"`
	// Conformance and Bench are what the author claims to have measured.
	Conformance *Conformance `json:"conformance,omitempty"`
	Bench       []Bench      `json:"bench,omitempty"`
	Yanked      *Yank        `json:"yanked,omitempty"`
}

// Conformance counts the duties of the ABI that a module keeps, and those that it breaks.
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

// Yank says why a version should not be installed any more.
type Yank struct {
	Reason string `json:"reason"`
	// Severity (optional) says how bad it is: one of Severities.
	Severity string `json:"severity,omitempty"`
	// Fixed (optional) is the version of the plugin from which on it is mended.
	Fixed string `json:"fixed,omitempty"`
	// Successor (optional) is the version to use instead: VERSION, or NAME@VERSION of another
	// plugin.
	Successor string `json:"successor,omitempty"`
}

// Severities are the severities of yanks, the least first.
func Severities() []string { return []string{"low", "medium", "high", "critical"} }

// String returns "SEVERITY: REASON; fixed in FIXED; use SUCCESSOR", without what is not said.
func (y *Yank) String() string {
	out := y.Reason
	if y.Severity != "" {
		out = y.Severity + ": " + out
	}
	if y.Fixed != "" {
		out += "; fixed in " + y.Fixed
	}
	if y.Successor != "" && y.Successor != y.Fixed {
		out += "; use " + y.Successor
	}
	return out
}

// Parse reads an index. It accepts only the exact text that Text writes: no other order, no
// duplicate field, no other spelling.
func Parse(ctx context.Context, text []byte) (*File, error) {
	const fix = "make it with berth plugin index"
	if len(text) > MaxSize {
		return nil, fmt.Errorf("it has %d bytes, at most %d are allowed", len(text), MaxSize)
	}
	var f File
	if err := bounded.Strict(ctx, text, maxDecoded, &f); err != nil {
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

// Text checks an index and returns its text.
func (f *File) Text() ([]byte, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	out, err := encode(f, "")
	if err == nil && len(out) > MaxSize {
		err = fmt.Errorf("it has %d bytes, at most %d are allowed", len(out), MaxSize)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// encode returns the text of a value in an index, whose lines after the first begin with a prefix.
func encode(value any, prefix string) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent(prefix, " ")
	err := e.Encode(value)
	return out.Bytes(), err
}
