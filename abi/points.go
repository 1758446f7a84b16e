package abi

// Point is an extension point. The order is the order of a pod's path.
type Point uint8

// The extension points of k8s.io/kube-scheduler v0.37, without SignPlugin and
// pod-group placement, plus the queueing hint.
const (
	PreEnqueue Point = iota
	QueueSort
	Hint
	PreFilter
	AddPod
	RemovePod
	Filter
	PostFilter
	PreScore
	Score
	Normalize
	Reserve
	Unreserve
	Permit
	PreBindPreFlight
	PreBind
	Bind
	PostBind

	// NumPoints is the number of extension points.
	NumPoints
)

// Points returns all extension points in order.
func Points() []Point {
	all := make([]Point, NumPoints)
	for i := range all {
		all[i] = Point(i)
	}
	return all
}

// Aux reports whether the point is called in an aux instance, which holds no
// tables but what the call is about (SPEC.md, 2.11).
func (p Point) Aux() bool {
	switch p {
	case PreEnqueue, QueueSort, Hint, Reserve, Unreserve, Permit, PreBindPreFlight, PreBind, Bind, PostBind:
		return true
	}
	return false
}

// String returns the name that configuration, reports and metrics use, which is
// kube-scheduler's where it has the point.
func (p Point) String() string {
	names := [NumPoints]string{
		PreEnqueue: "PreEnqueue", QueueSort: "QueueSort", Hint: "QueueingHint",
		PreFilter: "PreFilter", AddPod: "PreFilterExtensionAddPod", RemovePod: "PreFilterExtensionRemovePod",
		Filter: "Filter", PostFilter: "PostFilter", PreScore: "PreScore", Score: "Score",
		Normalize: "ScoreExtensionNormalize", Reserve: "Reserve", Unreserve: "Unreserve", Permit: "Permit",
		PreBindPreFlight: "PreBindPreFlight", PreBind: "PreBind", Bind: "Bind", PostBind: "PostBind",
	}
	if p >= NumPoints {
		return "Unknown"
	}
	return names[p]
}
