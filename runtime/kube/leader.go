package kube

// Leader returns the identity of the Lease's holder, as far as this replica has seen, and
// whether that is this replica. The identity is empty if no holder is known. Without
// election, this replica leads and has no identity.
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
