package state

// Nominations is the view of pods with a nominated node that are not placed yet. The scheduling
// queue keeps it.
type Nominations interface {
	// Len returns the number of nominated pods.
	Len() int
	// Nodes calls yield with each node that has nominated pods, in the order of
	// the names, until yield returns false.
	Nodes(yield func(node string, pods []*Pod) bool)
}
