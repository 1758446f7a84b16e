package kube

// Leader returns the identity of the replica that holds the Lease, as far as this one
// has seen, and whether it is this one. The identity is empty when none is known to.
// Without election this replica leads, and has none.
func (e *Election) Leader() (identity string, here bool) {
	if e.lock == nil {
		return "", true
	}
	elector := e.elector.Load()
	if elector == nil {
		return "", false
	}
	return elector.GetLeader(), elector.IsLeader()
}
