package telemetry

import "github.com/prometheus/client_golang/prometheus"

// Module is a module of a digest that runs as a plugin.
type Module struct{ Plugin, Digest string }

// Running names all modules that run as plugins now. The series of others are removed, since tenants choose names and publish as many
// modules as they like; those of native plugins stay. Each scrape calls it with the modules of its State: a folder's files change, too,
// and an attempt that ends late makes series of a plugin that is gone. Code that changes plugins calls it as well, because perhaps nobody
// scrapes.
func (m *Metrics) Running(all []Module) {
	m.mu.Lock()
	defer m.mu.Unlock()
	runs, named := make(map[Module]bool, len(all)), make(map[string]bool, len(all))
	for _, x := range all {
		runs[x], named[x.Plugin] = true, true
	}
	for key := range m.works {
		switch x := key.module(); {
		case x.Digest == "":
			named[x.Plugin] = true // a native plugin may have the name
		case !runs[x]:
			delete(m.works, key)
		}
	}
	for x := range m.seen {
		if runs[x] {
			continue
		}
		delete(m.seen, x)
		for _, v := range m.byDigest {
			v.DeletePartialMatch(prometheus.Labels{"plugin": label(x.Plugin), "digest": label(x.Digest)})
		}
		if named[x.Plugin] {
			continue
		}
		for _, v := range m.byName {
			v.DeletePartialMatch(prometheus.Labels{"plugin": label(x.Plugin)})
		}
	}
}

// pruning returns now, which then removes the series of modules that do not run.
func (m *Metrics) pruning(now func() *State) func() *State {
	if now == nil {
		return nil
	}
	return func() *State {
		s := now()
		if s == nil {
			return nil
		}
		all := make([]Module, 0, len(s.Breakers))
		for i := range s.Breakers {
			all = append(all, Module{Plugin: s.Breakers[i].Plugin, Digest: s.Breakers[i].Digest})
		}
		m.Running(all)
		return s
	}
}
