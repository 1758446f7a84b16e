package berthtest

import (
	"encoding/binary"
	"maps"
	"slices"
)

// Whole objects as Kubernetes protobuf (field numbers: generated.proto in k8s.io/api/core/v1
// and apimachinery/pkg/apis/meta/v1): metadata.name, namespace, uid, labels and annotations,
// and spec.nodeName of a pod.

// object returns the result of node_object.
func (n *Node) object() []byte {
	if n.Object != nil {
		return n.Object
	}
	return message(nil, 1, metadata(n.Name, "", n.Name, n.Labels, n.Annotations))
}

// object returns the result of pod_object.
func (p *Pod) object() []byte {
	if p.Object != nil {
		return p.Object
	}
	b := message(nil, 1, metadata(p.Name, p.Namespace, p.uid(), p.Labels, p.Annotations))
	if p.NodeName != "" {
		b = message(b, 2, message(nil, 10, []byte(p.NodeName)))
	}
	return b
}

func metadata(name, namespace, uid string, labels, annotations map[string]string) []byte {
	b := message(nil, 1, []byte(name))
	if namespace != "" {
		b = message(b, 3, []byte(namespace))
	}
	b = message(b, 5, []byte(uid))
	return entries(entries(b, 11, labels), 12, annotations)
}

// entries appends a map of strings.
func entries(b []byte, field uint64, m map[string]string) []byte {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		b = message(b, field, message(message(nil, 1, []byte(key)), 2, []byte(m[key])))
	}
	return b
}

// message appends a field of bytes.
func message(b []byte, field uint64, data []byte) []byte {
	b = binary.AppendUvarint(b, field<<3|2)
	return append(binary.AppendUvarint(b, uint64(len(data))), data...)
}
