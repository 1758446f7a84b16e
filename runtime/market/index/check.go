package index

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/market/oci"
	"github.com/berth-scheduler/berth/runtime/market/signing"
)

// Limits of a version: maxText bytes in a text, and maxItems items in a list; maxAnnounced keys of an index.
const (
	maxAnnounced = 8

	maxText  = 1024
	maxItems = 1024
)

// check refuses an index with invalid names, digests or texts. Names become file names and
// parts of references, and all texts are printed.
func (f *File) check() error {
	c := newChecker()
	switch {
	case f.Serial < 1:
		c.add("serial", "%d is less than 1", f.Serial)
	case f.Expires.IsZero():
		c.add("expires", "it is missing")
	case len(f.Plugins) > maxPlugins:
		c.add("plugins", "%d plugins, at most %d are allowed", len(f.Plugins), maxPlugins)
	}
	if len(f.Announced) > maxAnnounced {
		c.add("announced", "%d keys, at most %d are allowed", len(f.Announced), maxAnnounced)
	}
	for i, text := range f.Announced[:min(len(f.Announced), maxAnnounced)] {
		at := fmt.Sprintf("announced[%d]", i)
		if key, err := signing.ParsePublicKey([]byte(text)); err != nil {
			c.add(at, "%v", err)
		} else if string(key.PEM()) != text || i > 0 && f.Announced[i-1] >= text {
			c.add(at, "keys must be as berth plugin keygen writes them, unique and sorted")
		}
	}
	for i := range f.Plugins {
		if len(c.errs) > 0 { // one plugin's mistakes at a time
			break
		}
		at := fmt.Sprintf("plugins[%d]", i)
		if i > 0 && f.Plugins[i-1].Name >= f.Plugins[i].Name {
			c.add(at+".name", "%s comes after %s: names must be unique and sorted", plain.Quote(f.Plugins[i].Name, 64), plain.Quote(f.Plugins[i-1].Name, 64))
		}
		c.plugin(at, &f.Plugins[i])
	}
	return errors.Join(c.errs...)
}

// checker collects mistakes.
type checker struct {
	name, abi *regexp.Regexp
	errs      []error
}

func newChecker() checker {
	return checker{
		name: regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`),
		abi:  regexp.MustCompile(`^(0|[1-9][0-9]{0,4})\.(0|[1-9][0-9]{0,4})$`),
	}
}

func (c *checker) add(at, format string, args ...any) {
	if len(c.errs) < 10 {
		c.errs = append(c.errs, fmt.Errorf("%s: %s", at, fmt.Sprintf(format, args...)))
	}
}

func (c *checker) plugin(at string, p *Plugin) {
	if !c.name.MatchString(p.Name) {
		c.add(at+".name", "%s is not a plugin name", plain.Quote(p.Name, 64))
	}
	if ref, err := oci.ParseReference(p.Repository); err != nil || ref.Registry == "" || ref.Place() != p.Repository {
		c.add(at+".repository", "%s is not REGISTRY/REPOSITORY", plain.Quote(p.Repository, 256))
	}
	if len(p.Versions) == 0 || len(p.Versions) > maxVersions {
		c.add(at+".versions", "%d versions, 1 to %d are allowed", len(p.Versions), maxVersions)
		return
	}
	var before *semver.Version
	for i := range p.Versions {
		v := &p.Versions[i]
		at := fmt.Sprintf("%s.versions[%d]", at, i)
		version, err := parseVersion(v.Version)
		switch {
		case err != nil:
			c.add(at+".version", "%s is not a semantic version", plain.Quote(v.Version, 64))
		case before != nil && !before.LessThan(version):
			c.add(at+".version", "%s comes after %s: versions must be unique, from the oldest to the newest", version, before)
		}
		before = version
		c.version(at, v)
		if before == nil || len(c.errs) > 0 {
			return
		}
	}
}

func parseVersion(s string) (*semver.Version, error) {
	if len(s) > 128 {
		return nil, semver.ErrInvalidSemVer
	}
	return semver.StrictNewVersion(s)
}

func (c *checker) version(at string, v *Version) {
	c.text(at+".publisher", v.Publisher)
	c.text(at+".license", v.License)
	c.text(at+".description", v.Description)
	if !c.abi.MatchString(v.ABI) {
		c.add(at+".abi", "%s is not major.minor", plain.Quote(v.ABI, 64))
	}
	c.sha256(at+".image", v.Image)
	c.sha256(at+".module", v.Module)
	if v.Docs != "" {
		c.sha256(at+".docs", v.Docs)
	}
	if v.SBOM != "" {
		c.sha256(at+".sbom", v.SBOM)
	}
	if v.Size < 1 {
		c.add(at+".size", "%d is less than 1", v.Size)
	}
	c.texts(at+".points", v.Points)
	lists := slices.Sorted(maps.Keys(v.Reads))
	c.texts(at+".reads", lists)
	for _, name := range lists {
		c.texts(at+".reads."+plain.Line(name, 64), v.Reads[name])
	}
	c.texts(at+".grants.annotations", v.Grants.Annotations)
	c.texts(at+".grants.labels", v.Grants.Labels)
	known := wire.CheckABI(v.ABI) == nil
	for _, name := range slices.Sorted(maps.Keys(v.Grants.Later)) {
		if c.text(at+".grants", name); known {
			c.add(at+".grants", "unknown field %s, which ABI %s does not have", plain.Quote(name, 64), plain.Quote(v.ABI, 64))
		}
	}
	if v.Conformance != nil && (v.Conformance.Kept < 0 || v.Conformance.Failed < 0) {
		c.add(at+".conformance", "a number is less than 0")
	}
	if len(v.Bench) > 16 || slices.ContainsFunc(v.Bench, func(b Bench) bool { return b.Nodes < 1 || b.PerPod < 0 || b.Fuel < 0 }) {
		c.add(at+".bench", "a number is less than 0, or there are more than 16 rows")
	}
	if y := v.Yanked; y != nil {
		c.text(at+".yanked.reason", y.Reason)
		if y.Reason == "" {
			c.add(at+".yanked.reason", "it is missing")
		}
		if y.Severity != "" && !slices.Contains(Severities(), y.Severity) {
			c.add(at+".yanked.severity", "%s is not one of %s", plain.Quote(y.Severity, 64), strings.Join(Severities(), ", "))
		}
		if y.Fixed != "" && !Newer(y.Fixed, v.Version) {
			c.add(at+".yanked.fixed", "%s is not a version after %s", plain.Quote(y.Fixed, 64), v.Version)
		}
		c.successor(at+".yanked.successor", y.Successor)
	}
}

func (c *checker) sha256(at, digest string) {
	if !v1alpha1.Digest(digest).Valid() {
		c.add(at, "%s is not a digest", plain.Quote(digest, 80))
	}
}

// successor refuses a successor that is neither empty, nor a version, nor NAME@VERSION.
func (c *checker) successor(at, s string) {
	name, version, both := strings.Cut(s, "@")
	if !both {
		name, version = "x", s
	}
	if _, err := parseVersion(version); s != "" && (err != nil || !c.name.MatchString(name)) {
		c.add(at, "%s is neither a version nor NAME@VERSION", plain.Quote(s, 80))
	}
}

func (c *checker) texts(at string, list []string) {
	if len(list) > maxItems {
		c.add(at, "%d items, at most %d are allowed", len(list), maxItems)
		return
	}
	for _, text := range list {
		c.text(at, text)
	}
}

// text refuses a text that is too long or could disturb a terminal.
func (c *checker) text(at, s string) {
	if len(s) > maxText {
		c.add(at, "%d bytes, at most %d are allowed", len(s), maxText)
	}
	if strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		c.add(at, "%s contains a non-printable character", plain.Quote(s, 80))
	}
}
