package index

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/market/signing"
)

// Describe returns a version as its manifest describes it. The caller adds the digests.
func Describe(m *wire.Manifest) Version {
	v := Version{
		Version: m.Version, Publisher: m.Publisher, License: m.License, Description: m.Description, ABI: m.ABI,
		Points: []string{}, Grants: Directives{ManifestDirectives: m.Rights()},
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

// Left is what Next left out of what was found, which stays as it was listed.
type Left struct {
	// Repository is the plugin's.
	Repository string
	// Version is the one that is left out; empty if nothing of the plugin can be listed.
	Version string
	Err     error
}

// spare is how many bytes of MaxSize plugins that are found cannot take: a yank always fits.
const spare = 64 << 10

// Next returns the index that follows before, which is nil for the first. It has all plugins of
// before, and those of found, each of which is the plugin of one repository. Yanked versions
// stay yanked. A version that is gone from its repository stays listed, because someone may
// have locked it. A version whose image changed stays as it was, and so does a plugin that
// cannot be listed beside those before it: nobody who is listed can stop the index. left
// describes each of these. The expiry is in whole seconds.
func Next(before *File, found []Plugin, now time.Time, valid time.Duration) (next *File, left []Left, err error) {
	if before == nil {
		before = &File{}
	}
	next = &File{
		APIVersion: APIVersion, Kind: Kind, Serial: before.Serial + 1, Expires: now.Add(valid).UTC().Truncate(time.Second),
		Announced: slices.Clone(before.Announced),
		Plugins:   make([]Plugin, 0, len(before.Plugins)+len(found)),
	}
	if valid < time.Minute {
		return nil, nil, fmt.Errorf("an index that is valid for %v is expired before it is read: give it some days", valid)
	}
	for i := range before.Plugins { // copied, so that before does not change
		p := before.Plugins[i]
		p.Versions = slices.Clone(p.Versions)
		next.Plugins = append(next.Plugins, p)
	}
	b, err := newBuilder(next)
	if err != nil {
		return nil, nil, err
	}
	for i := range found {
		left = append(left, b.add(&found[i])...)
	}
	slices.SortFunc(next.Plugins, func(a, b Plugin) int { return cmp.Compare(a.Name, b.Name) })
	return next, left, next.check()
}

// builder adds plugins to an index.
type builder struct {
	file *File
	checker
	at   map[string]int // where each plugin is, by name
	size []int          // of each plugin's text
	free int            // bytes that the text may still grow by
}

func newBuilder(f *File) (*builder, error) {
	b := &builder{file: f, checker: newChecker(), at: make(map[string]int, len(f.Plugins)), free: MaxSize - spare}
	for i := range f.Plugins {
		size, err := textSize(&f.Plugins[i])
		if err != nil {
			return nil, err
		}
		b.at[f.Plugins[i].Name] = i
		b.size = append(b.size, size)
		b.free -= size
	}
	return b, nil
}

// textSize returns how many bytes a plugin takes in the text of an index.
func textSize(p *Plugin) (int, error) {
	text, err := encode(p, "  ")
	return len(text) + len("  ,"), err
}

// add merges a plugin that was found in its repository, if it can be listed.
func (b *builder) add(found *Plugin) []Left {
	p := Plugin{Name: found.Name, Repository: found.Repository}
	i, listed := b.at[p.Name]
	was := 0
	if listed {
		p.Repository, p.Versions = b.file.Plugins[i].Repository, slices.Clone(b.file.Plugins[i].Versions)
		was = b.size[i]
	}
	left, err := p.merge(found)
	if err == nil {
		b.errs = nil
		b.plugin(plain.Line(p.Name, 64), &p)
		err = errors.Join(b.errs...)
	}
	size := 0
	if err == nil {
		size, err = textSize(&p)
	}
	switch grown := size - was; {
	case err != nil:
	case !listed && len(b.file.Plugins) == maxPlugins:
		err = fmt.Errorf("%s: the index has %d plugins already, which is the most", p.Name, maxPlugins)
	case grown > max(b.free, 0):
		err = fmt.Errorf("%s: the index would have more than the %d bytes that plugins may take: take some out with --remove",
			p.Name, MaxSize-spare)
	case listed:
		b.file.Plugins[i], b.size[i] = p, size
		b.free -= grown
	default:
		b.at[p.Name] = len(b.file.Plugins)
		b.file.Plugins, b.size = append(b.file.Plugins, p), append(b.size, size)
		b.free -= grown
	}
	if err != nil {
		return []Left{{Repository: found.Repository, Err: err}}
	}
	return left
}

// merge adds the versions that were found in the plugin's repository.
func (p *Plugin) merge(found *Plugin) (left []Left, err error) {
	if p.Repository != found.Repository {
		return nil, fmt.Errorf("%s is in %s and in %s: an index has each name once; leave one of them out", p.Name, p.Repository, found.Repository)
	}
	for _, v := range found.Versions {
		if !IsVersion(v.Version) {
			return nil, fmt.Errorf("%s: %s is not a semantic version", p.Name, plain.Quote(v.Version, 64))
		}
		was := p.Get(v.Version)
		switch {
		case was == nil:
			p.Versions = append(p.Versions, v)
		case was.Image != v.Image:
			left = append(left, Left{p.Repository, v.Version, fmt.Errorf(
				"%s %s was %s and is now %s: a version never changes; publish the new one as another version, and have the tag name the old one again",
				p.Name, v.Version, was.Image, v.Image)})
		default:
			v.Yanked = was.Yanked
			*was = v
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

// Mark yanks a version in the index, or takes the yank back if yank is nil. The versions that a yank names must be in the index, so that
// users can follow it.
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
	if v.Yanked = yank; yank == nil {
		return f.check()
	}
	return errors.Join(f.check(), f.leads("fixed", name, yank.Fixed), f.leads("successor", name, yank.Successor))
}

// leads refuses a version, or NAME@VERSION, to which a yank of a plugin sends users, and which they could not install.
func (f *File) leads(field, name, to string) error {
	if to == "" {
		return nil
	}
	if other, version, both := strings.Cut(to, "@"); both {
		name, to = other, version
	}
	p := f.Find(name)
	switch {
	case p == nil:
		return fmt.Errorf("%s: the index has no plugin %s", field, plain.Quote(name, 64))
	case p.Get(to) == nil:
		return fmt.Errorf("%s: the index has no %s %s: push it, and make the next index before", field, name, plain.Line(to, 64))
	case p.Get(to).Yanked != nil:
		return fmt.Errorf("%s: %s %s is yanked itself: %s", field, name, plain.Line(to, 64), p.Get(to).Yanked)
	}
	return nil
}

// Announce adds keys that will sign later, and removes those that sign this index.
func (f *File) Announce(keys, sign []*signing.PublicKey) {
	for _, key := range keys {
		f.Announced = append(f.Announced, string(key.PEM()))
	}
	slices.Sort(f.Announced)
	f.Announced = slices.DeleteFunc(slices.Compact(f.Announced), func(text string) bool {
		return slices.ContainsFunc(sign, func(key *signing.PublicKey) bool { return string(key.PEM()) == text })
	})
}

// Raise raises the serial to one that is at least least; 0 leaves it as it is.
func (f *File) Raise(least int64) error {
	if least < 0 || least-f.Serial >= maxJump {
		return fmt.Errorf("%d is not from 0 to %d: nobody would accept an index with a higher serial", least, f.Serial+maxJump-1)
	}
	f.Serial = max(f.Serial, least)
	return nil
}

// Remove removes a plugin from the index.
func (f *File) Remove(name string) error {
	if f.Find(name) == nil {
		return fmt.Errorf("the index has no plugin %q", name)
	}
	f.Plugins = slices.DeleteFunc(f.Plugins, func(p Plugin) bool { return p.Name == name })
	return nil
}

// Drop takes versions out, and plugins that have none left.
func (f *File) Drop(drop func(*Plugin, *Version) bool) {
	for i := range f.Plugins {
		p := &f.Plugins[i]
		p.Versions = slices.DeleteFunc(p.Versions, func(v Version) bool { return drop(p, &v) })
	}
	f.Plugins = slices.DeleteFunc(f.Plugins, func(p Plugin) bool { return len(p.Versions) == 0 })
}
