package abi

// DirectiveKind is what a guest asks the host to do (SPEC.md, section 13).
type DirectiveKind uint32

// The directives.
const (
	// Annotate and Label write a key of the pod: key and value.
	Annotate DirectiveKind = iota + 1
	Label
	// Nominate names the node that the pod is to get when room was made.
	Nominate
	// BindPod binds the pod to the chosen node.
	BindPod
	// Allow ends the plugin's own wait for a pod, by UID.
	Allow
	// Reject sends a waiting pod back to the queue: UID and reason.
	Reject
	// Activate moves a parked pod, by UID, to the active queue.
	Activate
)

// String returns the name that SPEC.md gives the directive.
func (k DirectiveKind) String() string {
	names := [...]string{
		Annotate: "annotate", Label: "label", Nominate: "nominate", BindPod: "bind",
		Allow: "allow", Reject: "reject", Activate: "activate",
	}
	if k == 0 || int(k) >= len(names) {
		return "unknown"
	}
	return names[k]
}

// At reports whether a guest may ask for the directive at a point.
func (k DirectiveKind) At(point Point) bool {
	afterwards := point == Reserve || point == Unreserve || point == Permit || point == PreBind || point == Bind || point == PostBind
	switch k {
	case Annotate, Label:
		return point == Reserve || point == PreBind || point == Bind
	case Nominate:
		return point == PostFilter
	case BindPod:
		return point == Bind
	case Allow, Reject:
		return afterwards || point == PostFilter
	case Activate:
		return afterwards
	}
	return false
}
