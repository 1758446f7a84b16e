package index

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berth-scheduler/berth/abi/wire"
)

// Describe returns a version as its manifest describes it. The caller adds the digests.
func Describe(m *wire.Manifest) Version {
	v := Version{
		Version: m.Version, Publisher: m.Publisher, License: m.License, Description: m.Description, ABI: m.ABI,
		Points: []string{}, Grants: m.Directives,
	}
	for _, p := range m.Declared() {
		v.Points = append(v.Points, wire.PointName(p))
	}
	for _, r := range m.Readings() {
		if v.Reads == nil {
			v.Reads = map[string][]string{}
		}
		v.Reads[r.List] = r.Names
	}
	return v
}

// Next returns the index that follows before, which is nil for the first. It has all plugins of
// before, and those of found, each of which is the plugin of one repository. Yanked versions
// stay yanked. A version that is gone from its repository stays listed, because someone may
// have locked it. A version whose image changed stays as it was; left describes each of these.
// The expiry is in whole seconds.
func Next(before *File, found []Plugin, now time.Time, valid time.Duration) (next *File, left []string, err error) {
	if before == nil {
		before = &File{}
	}
	next = &File{
		APIVersion: APIVersion, Kind: Kind, Serial: before.Serial + 1, Expires: now.Add(valid).UTC().Truncate(time.Second),
		Plugins: make([]Plugin, 0, len(before.Plugins)+len(found)),
	}
	if valid < time.Minute {
		return nil, nil, fmt.Errorf("an index that is valid for %v is expired before it is read: give it some days", valid)
	}
	for i := range before.Plugins { // copied, so that before does not change
		p := before.Plugins[i]
		p.Versions = slices.Clone(p.Versions)
		next.Plugins = append(next.Plugins, p)
	}
	for i := range found {
		changed, err := next.add(&found[i])
		if err != nil {
			return nil, nil, err
		}
		left = append(left, changed...)
	}
	slices.SortFunc(next.Plugins, func(a, b Plugin) int { return cmp.Compare(a.Name, b.Name) })
	return next, left, next.check()
}

// add merges a plugin that was found in its repository.
func (f *File) add(found *Plugin) (left []string, err error) {
	i := slices.IndexFunc(f.Plugins, func(p Plugin) bool { return p.Name == found.Name })
	if i < 0 {
		f.Plugins = append(f.Plugins, Plugin{Name: found.Name, Repository: found.Repository})
		i = len(f.Plugins) - 1
	}
	p := &f.Plugins[i]
	if p.Repository != found.Repository {
		return nil, fmt.Errorf("%s is in %s and in %s: an index has each name once; leave one of them out", p.Name, p.Repository, found.Repository)
	}
	for _, v := range found.Versions {
		was := p.Get(v.Version)
		switch {
		case was == nil:
			p.Versions = append(p.Versions, v)
		case was.Image != v.Image:
			left = append(left, fmt.Sprintf("%s %s was %s and is now %s: a version never changes; publish the new one as another version, and have the tag name the old one again",
				p.Name, v.Version, was.Image, v.Image))
		default:
			v.Yanked = was.Yanked
			*was = v
		}
	}
	for _, v := range p.Versions {
		if !IsVersion(v.Version) {
			return nil, fmt.Errorf("%s: %q is not a semantic version", p.Name, v.Version)
		}
	}
	slices.SortStableFunc(p.Versions, func(a, b Version) int {
		switch {
		case Newer(b.Version, a.Version):
			return -1
		case Newer(a.Version, b.Version):
			return 1
		}
		return 0
	})
	return left, nil
}

// Mark yanks a version in the index, or takes the yank back if yank is nil.
func (f *File) Mark(name, version string, yank *Yank) error {
	p := f.Find(name)
	if p == nil {
		return fmt.Errorf("the index has no plugin %q", name)
	}
	v := p.Get(version)
	switch {
	case v == nil:
		return fmt.Errorf("the index has no %s %s", name, version)
	case yank == nil && v.Yanked == nil:
		return fmt.Errorf("%s %s is not yanked", name, version)
	case yank != nil && strings.TrimSpace(yank.Reason) == "":
		return errors.New("a yank needs a reason")
	}
	v.Yanked = yank
	return f.check()
}

// Remove removes a plugin from the index.
func (f *File) Remove(name string) error {
	if f.Find(name) == nil {
		return fmt.Errorf("the index has no plugin %q", name)
	}
	f.Plugins = slices.DeleteFunc(f.Plugins, func(p Plugin) bool { return p.Name == name })
	return nil
}
