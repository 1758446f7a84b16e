package equivalence

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// appendSignature appends what a plugin reads of a pod, namespace labels included. Two pods have
// the same bytes if and only if they are equivalent to the plugin at that time, in seconds since 1970. All reads are of the pod, or
// the time.
func appendSignature(b []byte, reads []plugin.Read, pod *state.Pod, namespace *state.Namespace, now int64) []byte {
	for i := range reads {
		if read := &reads[i]; read.Column == abi.IncomingNow {
			b = binary.AppendVarint(appendID(b, read.Column), now-now%max(read.Step, 1))
			continue
		}
		b = appendField(appendID(b, reads[i].Column), &reads[i], pod, namespace)
	}
	return b
}

func appendField(b []byte, read *plugin.Read, pod *state.Pod, namespace *state.Namespace) []byte {
	object := pod.Object
	switch read.Column {
	case abi.PodNodeName:
		b = appendText(b, pod.NodeName())
	case abi.PodNodeSelector:
		b = appendMap(b, object.Spec.NodeSelector, nil)
	case abi.PodTolerations:
		b = binary.AppendUvarint(b, uint64(len(pod.Tolerations)))
		for i := range pod.Tolerations {
			b = appendToleration(b, &pod.Tolerations[i])
		}
	case abi.PodHostPorts:
		b = binary.AppendUvarint(b, uint64(len(pod.HostPorts)))
		for _, p := range pod.HostPorts {
			b = append(binary.AppendUvarint(appendText(b, p.IP), uint64(p.Port)), byte(p.Protocol))
		}
	case abi.PodImages:
		b = binary.AppendUvarint(b, uint64(len(pod.Images)))
		for _, image := range pod.Images {
			b = appendText(b, image)
		}
	case abi.PodVolumes:
		for i := range object.Spec.Volumes {
			if image := object.Spec.Volumes[i].Image; image != nil {
				b = appendText(append(b, 1), image.Reference)
			}
		}
		b = append(b, 0)
	case abi.PodSchedulingGates:
		b = binary.AppendUvarint(b, uint64(len(object.Spec.SchedulingGates)))
		for i := range object.Spec.SchedulingGates {
			b = appendText(b, object.Spec.SchedulingGates[i].Name)
		}
	case abi.IncomingNamespace:
		b = appendText(b, pod.Namespace)
	case abi.IncomingPriority:
		b = binary.AppendVarint(b, int64(pod.Priority))
	case abi.IncomingRequests:
		b = appendRequests(b, &pod.Requests, read.Args)
	case abi.IncomingNonZero:
		for _, n := range [...]int64{pod.NonZeroCPU, pod.NonZeroMemory, pod.ScoredCPU, pod.ScoredMemory} {
			b = binary.AppendVarint(b, n)
		}
	case abi.IncomingLabels:
		b = appendMap(b, object.Labels, read.Args)
	case abi.IncomingAnnotations:
		b = appendMap(b, object.Annotations, read.Args)
	case abi.IncomingOwner:
		b = appendOwner(b, object)
	case abi.PodRequiredTerms, abi.PodPreferredTerms, abi.PodRequirements, abi.PodRequirementIDs:
		b = appendAffinity(b, object.Spec.Affinity, read.Column)
	case abi.PodDeclaredFeatures:
		b = appendText(b, pod.Needs.String())
	case abi.IncomingNamespaceLabels:
		if namespace != nil {
			b = appendMap(append(b, 1), namespace.Labels, nil)
		} else {
			b = append(b, 0)
		}
	case abi.IncomingCreatedAt:
		b = binary.AppendVarint(b, pod.CreatedAt())
	case abi.IncomingPriorityClass:
		b = appendText(b, object.Spec.PriorityClassName)
	case abi.IncomingServiceAccount:
		b = appendText(b, object.Spec.ServiceAccountName)
	case abi.IncomingPreemptionPolicy:
		b = appendText(b, string(pod.PreemptionPolicy()))
	case abi.IncomingGroup:
		b = appendText(b, pod.Group())
	case abi.IncomingLimits:
		b = appendLimits(b, pod, read.Args)
	case abi.IncomingQOS:
		b = appendText(b, string(pod.QOS()))
	case abi.IncomingContainers, abi.IncomingContainerAmounts:
		b = appendContainers(b, pod, read.Args)
	case abi.IncomingClaims:
		for _, name := range pod.Claims() {
			b = appendText(append(b, 1), name)
		}
		b = append(b, 0)
	default:
		panic(fmt.Sprintf("BUG: equivalence: no signature of field %d", read.Column))
	}
	return b
}

func appendOwner(b []byte, object *v1.Pod) []byte {
	if owner := metav1.GetControllerOfNoCopy(object); owner != nil {
		return appendText(appendText(append(b, 1), owner.Kind), owner.Name)
	}
	return append(b, 0)
}

func appendToleration(b []byte, t *v1.Toleration) []byte {
	b = appendText(appendText(appendText(appendText(b, t.Key), string(t.Operator)), t.Value), string(t.Effect))
	if t.TolerationSeconds != nil {
		return binary.AppendVarint(append(b, 1), *t.TolerationSeconds)
	}
	return append(b, 0)
}

// appendRequests appends the amounts of the named resources, or all.
func appendRequests(b []byte, r *state.Resources, names []string) []byte {
	if names != nil {
		for _, name := range names {
			b = binary.AppendVarint(b, r.Amount(v1.ResourceName(name)))
		}
		return b
	}
	b = binary.AppendVarint(binary.AppendVarint(binary.AppendVarint(b, r.MilliCPU), r.Memory), r.EphemeralStorage)
	b = binary.AppendUvarint(b, uint64(len(r.Scalars)))
	for i := range r.Scalars {
		b = binary.AppendVarint(appendText(b, string(r.Scalars[i].Name)), r.Scalars[i].Value)
	}
	return b
}

// appendAffinity appends the terms of node affinity as the API writes them, which is the
// same for equal terms: they have no maps.
func appendAffinity(b []byte, a *v1.Affinity, column abi.ColumnID) []byte {
	if a == nil || a.NodeAffinity == nil {
		return append(b, 0)
	}
	n := *a.NodeAffinity
	switch column {
	case abi.PodRequiredTerms:
		n.PreferredDuringSchedulingIgnoredDuringExecution = nil
	case abi.PodPreferredTerms:
		n.RequiredDuringSchedulingIgnoredDuringExecution = nil
	}
	data, err := n.Marshal()
	if err != nil {
		panic("BUG: equivalence: node affinity: " + err.Error())
	}
	return append(binary.AppendUvarint(append(b, 1), uint64(len(data))), data...)
}

// appendMap appends the pairs of a map, those of the named keys if there are names.
func appendMap(b []byte, m map[string]string, keys []string) []byte {
	if keys == nil {
		b = binary.AppendUvarint(b, uint64(len(m)))
		for _, key := range state.SortedKeys(m) {
			b = appendText(appendText(b, key), m[key])
		}
		return b
	}
	for _, key := range keys {
		if value, ok := m[key]; ok {
			b = appendText(append(b, 1), value)
		} else {
			b = append(b, 0)
		}
	}
	return b
}

// appendID appends the whole of an id.
func appendID(b []byte, id abi.ColumnID) []byte { return binary.AppendUvarint(b, uint64(id)) }

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// appendReads appends what is read, as the name of a projection.
func appendReads(b []byte, reads []plugin.Read) []byte {
	for i := range reads {
		b = appendID(b, reads[i].Column)
		if reads[i].Args == nil {
			b = append(b, 0)
			continue
		}
		b = binary.AppendUvarint(append(b, 1), uint64(len(reads[i].Args)))
		for _, arg := range reads[i].Args {
			b = appendText(b, arg)
		}
	}
	return b
}

// appendLimits appends the limits of resources; nil means all.
func appendContainers(b []byte, pod *state.Pod, names []string) []byte {
	for _, c := range pod.Containers() {
		b = appendText(appendText(append(b, 1), c.Name), c.Image)
		b = strconv.AppendBool(strconv.AppendBool(b, c.Init), c.Sidecar)
		of := names
		if of == nil { // any resource
			for _, list := range [...]v1.ResourceList{c.Resources.Requests, c.Resources.Limits} {
				for name := range list {
					of = append(of, string(name))
				}
			}
			slices.Sort(of)
		}
		for _, name := range of {
			b = binary.AppendVarint(appendText(append(b, 1), name), c.Request(v1.ResourceName(name)))
			b = binary.AppendVarint(b, c.Limit(v1.ResourceName(name)))
		}
		b = append(b, 0)
	}
	return append(b, 0)
}

func appendLimits(b []byte, pod *state.Pod, names []string) []byte {
	if names == nil {
		names = pod.Limited()
	}
	for _, name := range names {
		b = binary.AppendVarint(appendText(b, name), pod.Limit(v1.ResourceName(name)))
	}
	return b
}
