package configs

import "fmt"

// connections draws the connections of the scheduler: leader election, the API server,
// extenders. NodeResourcesFit ignores the resources that extenders manage; this is not part of
// the comparison, since it is done when plugins are created (runtime/assembly).
func (d *drawer) connections(c map[string]any) {
	if d.chance(0.15) {
		l := map[string]any{"leaderElect": d.chance(0.5)}
		d.maybe(l, "leaseDuration", 0.3, "15s", "60s", "5s")
		d.maybe(l, "renewDeadline", 0.3, "10s", "30s", "4s")
		d.maybe(l, "retryPeriod", 0.3, "2s", "1s")
		d.maybe(l, "resourceName", 0.3, "berth", "kube-scheduler")
		d.maybe(l, "resourceNamespace", 0.3, "kube-system", "berth")
		d.maybe(l, "resourceLock", 0.1, "leases", "leases", "endpoints")
		c["leaderElection"] = l
	}
	if d.chance(0.15) {
		client := map[string]any{}
		d.maybe(client, "qps", 0.5, 10, 200.5)
		d.maybe(client, "burst", 0.5, 20, 400, -1)
		d.maybe(client, "contentType", 0.3, "application/json", "application/vnd.kubernetes.protobuf")
		c["clientConnection"] = client
	}
	if d.chance(0.12) {
		var extenders []any
		for i := range 1 + d.IntN(3) {
			extenders = append(extenders, d.extender(i))
		}
		c["extenders"] = extenders
	}
}

func (d *drawer) maybe(to map[string]any, key string, chance float64, from ...any) {
	if d.chance(chance) {
		to[key] = pick(d, from...)
	}
}

func (d *drawer) extender(i int) map[string]any {
	e := map[string]any{"urlPrefix": fmt.Sprintf("http://extender-%d.example.com", i)}
	d.maybe(e, "filterVerb", 0.7, "filter")
	if d.chance(0.5) {
		e["prioritizeVerb"] = "prioritize"
		e["weight"] = pick(d, 1, 5, 5, 5, 0, -1)
	}
	d.maybe(e, "preemptVerb", 0.2, "preempt")
	d.maybe(e, "bindVerb", 0.2, "bind")
	d.maybe(e, "ignorable", 0.2, true, false)
	d.maybe(e, "nodeCacheCapable", 0.2, true, false)
	d.maybe(e, "httpTimeout", 0.2, "5s", "100ms")
	if d.chance(0.4) {
		var resources []any
		for range 1 + d.IntN(2) {
			resources = append(resources, map[string]any{
				"name": pick(d, fmt.Sprintf("example.com/r%d", d.IntN(4)), fmt.Sprintf("example.com/r%d", d.IntN(4)), "cpu", "a b"),
			})
		}
		e["managedResources"] = resources
	}
	return e
}
