package berth

// Level is the level of a log message.
type Level int32

// The levels.
const (
	Debug Level = iota
	Info
	Warning
	Failure
)

// Log writes to the plugin's log. It needs `log` in the manifest's list `host`.
func (b Base) Log(level Level, text string) { b.c.log(level, text) }

// StateGet returns the value of a key in the plugin's state of this pod's cycle. It is valid
// until the call returns. There is no state before PreFilter. It needs `state_get` in the list
// `host`.
func (b Base) StateGet(key string) (value []byte, ok bool) { return b.c.stateGet(key) }

// StateSet sets the value of a key, and reports whether the limits allow it. State outlives
// instances and must not contain ids or row numbers. In a plugin of scope node only PreFilter
// may set state. It needs `state_set` in the list `host`.
func (b Base) StateSet(key string, value []byte) bool { return b.c.stateSet(key, value) }

// PublishedGet returns the value that another plugin published in this pod's cycle; not
// available in calls of scope node. It is valid until the call returns. It needs
// `published_get` in the list `host`.
func (b Base) PublishedGet(key Published) (value []byte, ok bool) {
	return b.c.publishedGet(uint32(key))
}

// PodObject returns the whole Pod as Kubernetes protobuf (k8s.io/api/core/v1, without the
// envelope and managedFields). Use it only for data without a field: each call costs the host
// an encoding. ok is false for a pod that is not the call's own: a pod of an event, and in
// AddPod and RemovePod the pod to be placed. The bytes are valid until the call returns. It
// needs `pod_object` in the list `host`.
func (b Base) PodObject(pod Pod) (object []byte, ok bool) {
	if pod.v.index < 0 {
		return nil, false
	}
	return b.c.podObject(uint32(pod.v.index))
}

// NodeObject returns the whole Node, like PodObject for a Pod. It needs `node_object` in the
// list `host`.
func (b Base) NodeObject(node Node) (object []byte, ok bool) { return b.c.nodeObject(node.row) }
