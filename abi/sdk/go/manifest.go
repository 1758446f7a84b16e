package berth

import (
	"math/bits"

	"github.com/berth-scheduler/berth/abi/sdk/go/config"
)

// reads is what a manifest declares: the lists that number handles, and the fields of the pod
// record.
type reads struct {
	lists [numLists][]string
	pod   podRead
}

// list is a list in the manifest's `reads` whose order numbers handles.
type list int

const (
	listResources list = iota
	listNodeLabels
	listNodeAnnotations
	listNodeConditions
	listFeeds
	listPodLabels
	listPodAnnotations
	listNamespaceLabels
	listPublished
	numLists
)

var listNames = [numLists]string{"resources", "nodeLabels", "nodeAnnotations", "nodeConditions", "feeds", "podLabels", "podAnnotations", "namespaceLabels", "published"} //nolint:gochecknoglobals // a table that is not written

// podRead is a set of fields of the pod record.
type podRead uint32

const (
	podName podRead = 1 << iota
	podNamespace
	podPriority
	podRequests
	podNonZero
	podLabels
	podAnnotations
	podOwner
	podTolerations
	podSelector
	podAffinity
	podPorts
	podImages
	podNamespaceLabels
	podUID
	podNodeName
	podGates
	// Generated from abi/fields.
	podCreatedAt
	podPriorityClass
	podServiceAccount
	podPreemptionPolicy
	podGroup
	podLimits
	podQOS
	podClaims
)

// podReadNames are in the order of the bits.
var podReadNames = [...]string{"name", "namespace", "priority", "requests", "nonZeroRequested", "labels", "annotations", "owner", "tolerations", "nodeSelector", "affinity", "hostPorts", "images", "namespaceLabels", "uid", "nodeName", "schedulingGates", "createdAt", "priorityClass", "serviceAccount", "preemptionPolicy", "group", "limits", "qos", "claims"} //nolint:gochecknoglobals // a table that is not written

func undeclared(f podRead) {
	panic("berth: manifest.json: reads.pod does not list " + podReadNames[bits.TrailingZeros32(uint32(f))])
}

// readManifest reads the lists in `reads`. The host checks the rest.
func readManifest(manifest []byte) (reads, error) {
	var r reads
	whole := config.Parse(manifest)
	all := whole.Get("reads")
	r.pod = podReads(texts(all.Get("pod")))
	for l, name := range listNames {
		r.lists[l] = texts(all.Get(name))
	}
	return r, whole.Err()
}

func texts(list config.Value) []string {
	var all []string
	for _, v := range list.Elements() {
		all = append(all, v.Text(""))
	}
	return all
}

func podReads(names []string) podRead {
	var set podRead
	for _, name := range names {
		for i, known := range podReadNames {
			if name == known {
				set |= 1 << i
			}
		}
	}
	return set
}
