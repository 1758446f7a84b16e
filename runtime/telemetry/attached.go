package telemetry

import "github.com/prometheus/client_golang/prometheus"

// goneFor is for how many calls of Attached a plugin that is gone is looked for: a pod that waited at Permit may tell of it late.
const goneFor = 100

// Attached names the plugins of the API that are attached now. The series of those that are not attached any more are removed: tenants
// choose their names.
func (m *Metrics) Attached(names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name := range m.attached {
		m.attached[name]++
	}
	for _, name := range names {
		m.attached[name] = 0
	}
	gone := make(map[string]bool)
	for name, since := range m.attached {
		switch {
		case since == 1:
			gone[name] = true
		case since > goneFor:
			delete(m.attached, name)
		}
	}
	for key := range m.works {
		if m.attached[key.plugin] > 0 {
			gone[key.plugin] = true
			delete(m.works, key)
		}
	}
	for name := range gone {
		for _, v := range m.byPlugin {
			v.DeletePartialMatch(prometheus.Labels{"plugin": label(name)})
		}
	}
}
