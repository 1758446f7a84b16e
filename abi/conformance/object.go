package conformance

import (
	"maps"

	"github.com/berth-scheduler/berth/abi/conformance/cluster"
	"github.com/berth-scheduler/berth/abi/conformance/internal/proto"
)

// object checks the whole object that the guest was given (ABI-7.7, ABI-7.8).
func (j *judge) object(objects [][]byte) {
	if len(objects) != 1 {
		j.wrong("the guest was given %d objects, expected one", len(objects))
		return
	}
	got, err := proto.Read(objects[0])
	if err != nil {
		j.wrong("the object that the guest was given is %v (ABI-7.7)", err)
		return
	}
	var want *cluster.Metadata
	node := ""
	switch {
	case j.want.Object != "pod":
		want = &j.state.cluster.Node(j.want.Object).Metadata
	case len(j.call.Pods) > 0:
		want = &j.call.Pods[0].Metadata
	default:
		want, node = &j.state.pod.Metadata, j.call.Node
	}
	switch {
	case got.Name != want.Name || got.Namespace != want.Namespace || got.UID != want.UID || got.NodeName != node:
		j.wrong("the object is %s/%s, UID %s, on node %q; expected %s/%s, %s, %q (ABI-7.7)",
			got.Namespace, got.Name, got.UID, got.NodeName, want.Namespace, want.Name, want.UID, node)
	case !maps.Equal(got.Labels, want.Labels) || !maps.Equal(got.Annotations, want.Annotations):
		j.wrong("the object has labels %v and annotations %v, expected %v and %v (ABI-7.7)", got.Labels, got.Annotations, want.Labels, want.Annotations)
	case got.Managed:
		j.wrong("the object has managedFields (ABI-7.7)")
	}
}
