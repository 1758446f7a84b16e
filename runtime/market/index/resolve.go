package index

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/plain"
)

// Wanted is a plugin and a range of its versions, as given on a command line.
type Wanted struct {
	Name string
	// Range is a constraint such as ^1.2, empty for any version.
	Range string
}

// ParseWanted reads NAME[@RANGE].
func ParseWanted(text string) (Wanted, error) {
	name, versions, has := strings.Cut(text, "@")
	w := Wanted{Name: name, Range: versions}
	if name == "" || has && versions == "" {
		return w, fmt.Errorf("%s: write NAME, or NAME@RANGE as in rack-aware@^1.2", plain.Quote(text, 128))
	}
	_, err := w.constraint()
	return w, err
}

// String returns the text that ParseWanted reads.
func (w Wanted) String() string {
	if w.Range == "" {
		return w.Name
	}
	return w.Name + "@" + w.Range
}

// constraint returns the range; nil for any version.
func (w Wanted) constraint() (*semver.Constraints, error) {
	if w.Range == "" {
		return nil, nil
	}
	if len(w.Range) > 256 {
		return nil, fmt.Errorf("the range of versions has %d bytes, at most 256 are allowed", len(w.Range))
	}
	c, err := semver.NewConstraint(w.Range)
	if err != nil {
		return nil, fmt.Errorf("%s is not a version range: write for example 1.2.0, ^1.2 or \">=1.2, <2\"", plain.Quote(w.Range, 64))
	}
	return c, nil
}

// Find returns the plugin with a name; nil if there is none.
func (f *File) Find(name string) *Plugin {
	if i, ok := slices.BinarySearchFunc(f.Plugins, name, func(p Plugin, name string) int { return strings.Compare(p.Name, name) }); ok {
		return &f.Plugins[i]
	}
	return nil
}

// In returns the plugin of a repository; nil if there is none.
func (f *File) In(repository string) *Plugin {
	if i := slices.IndexFunc(f.Plugins, func(p Plugin) bool { return p.Repository == repository }); i >= 0 {
		return &f.Plugins[i]
	}
	return nil
}

// Digest returns the version with the digests of a module and an image, and its plugin; nil if
// there is none. An empty image matches all.
func (f *File) Digest(module, image string) (*Plugin, *Version) {
	for i := range f.Plugins {
		for j := range f.Plugins[i].Versions {
			if v := &f.Plugins[i].Versions[j]; v.Module == module && (image == "" || v.Image == image) {
				return &f.Plugins[i], v
			}
		}
	}
	return nil, nil
}

// Yanked returns the yanked version that has a module, and its plugin, whatever image the module is in now; nil if there is
// none.
func (f *File) Yanked(module string) (*Plugin, *Version) {
	for i := range f.Plugins {
		for j := range f.Plugins[i].Versions {
			if v := &f.Plugins[i].Versions[j]; v.Module == module && v.Yanked != nil {
				return &f.Plugins[i], v
			}
		}
	}
	return nil, nil
}

// Get returns a version of a plugin; nil if there is none.
func (p *Plugin) Get(version string) *Version {
	if i := slices.IndexFunc(p.Versions, func(v Version) bool { return v.Version == version }); i >= 0 {
		return &p.Versions[i]
	}
	return nil
}

// Latest returns the newest version that can be installed; the newest of all if none can be.
func (p *Plugin) Latest() *Version {
	if v, err := p.Best(Wanted{Name: p.Name}); err == nil {
		return v
	}
	return &p.Versions[len(p.Versions)-1]
}

// Resolve returns the plugin and the version that a user wants. If only the version is missing,
// it returns the plugin with the error.
func (f *File) Resolve(w Wanted) (*Plugin, *Version, error) {
	p := f.Find(w.Name)
	if p == nil {
		return nil, nil, fmt.Errorf("the index has no plugin %s: berth plugin search lists those that it has", plain.Quote(w.Name, 64))
	}
	v, err := p.Best(w)
	return p, v, err
}

// Best returns the newest version in a range that is not yanked and that this host can run. A
// pre-release counts only if the range names one, or there is no other version.
func (p *Plugin) Best(w Wanted) (*Version, error) {
	c, err := w.constraint()
	if err != nil {
		return nil, err
	}
	var yanked, foreign, early *Version
	for i := len(p.Versions) - 1; i >= 0; i-- {
		v := &p.Versions[i]
		version, err := parseVersion(v.Version)
		switch {
		case err != nil:
			return nil, err
		case c != nil && !c.Check(version):
		case v.Yanked != nil:
			yanked = first(yanked, v)
		case wire.CheckABI(v.ABI) != nil:
			foreign = first(foreign, v)
		case c == nil && version.Prerelease() != "":
			early = first(early, v)
		default:
			return v, nil
		}
	}
	switch {
	case early != nil:
		return early, nil
	case yanked != nil:
		return nil, fmt.Errorf("%s %s is yanked: %s", p.Name, yanked.Version, yanked.Yanked)
	case foreign != nil:
		return nil, fmt.Errorf("%s %s: %w", p.Name, foreign.Version, wire.CheckABI(foreign.ABI))
	}
	var all []string
	for i := range p.Versions {
		all = append(all, p.Versions[i].Version)
	}
	slices.Reverse(all)
	return nil, errors.New(p.Name + " has no version in " + plain.Quote(w.Range, 64) + ", but " + plain.List(all, ", ", 256, "versions"))
}

func first(a, b *Version) *Version {
	if a != nil {
		return a
	}
	return b
}

// IsVersion reports whether a text is a semantic version.
func IsVersion(s string) bool {
	_, err := parseVersion(s)
	return err == nil
}

// Newer reports whether version a comes after b. A text that is not a version comes first.
func Newer(a, b string) bool {
	x, err := parseVersion(a)
	if err != nil {
		return false
	}
	y, err := parseVersion(b)
	return err != nil || y.LessThan(x)
}

// Search returns the plugins whose Words have all the words, in whatever case.
func (f *File) Search(words ...string) []*Plugin {
	var out []*Plugin
	for i := range f.Plugins {
		all := strings.ToLower(f.Plugins[i].Words())
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(all, strings.ToLower(w)) }) {
			out = append(out, &f.Plugins[i])
		}
	}
	return out
}

// Words is what a search looks at: name, repository, and of the latest version publisher,
// description, licence, points and reads.
func (p *Plugin) Words() string {
	v := p.Latest()
	text := []string{p.Name, p.Repository, v.Publisher, v.Description, v.License, strings.Join(v.Points, " ")}
	for _, list := range slices.Sorted(maps.Keys(v.Reads)) {
		text = append(text, v.Reads[list]...)
	}
	return strings.Join(text, "\n")
}
