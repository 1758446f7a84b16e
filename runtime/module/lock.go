package module

import (
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/market/lock"
)

// Locked returns the lock file's entry for a module as a reference uses it.
func (l *Loaded) Locked(ref *Reference) lock.Plugin {
	m := l.Declared() // a lock is of modules, not of how they are configured
	p := lock.Plugin{
		Name: l.Name, Source: ref.Source(), Version: m.Version, Publisher: m.Publisher,
		Module: l.Digest, Image: l.Image, Signers: l.Signers, Reads: map[string][]string{}, Grants: l.Grants,
	}
	for _, point := range m.Declared() {
		p.Points = append(p.Points, wire.PointName(point))
	}
	for _, r := range m.Readings() {
		p.Reads[r.List] = r.Names
	}
	for _, o := range m.Reads.Objects {
		p.Reads["objects"] = append(p.Reads["objects"], o.Resource)
	}
	return p
}

// locked checks a module against the lock file. The lock file does not cover modules in plugin
// folders, because they are replaced while the scheduler runs, nor those of tenants, which grants cover.
func (s *Sources) locked(l *Loaded, ref *Reference) error {
	if s.config.Lock == nil || ref.Folder || ref.Tenant != "" {
		return nil
	}
	p := l.Locked(ref)
	if err := s.config.Lock.Check(&p); err != nil {
		return &Error{File: ref.Source(), Section: "lock", Detail: err.Error(), Err: err}
	}
	return nil
}
