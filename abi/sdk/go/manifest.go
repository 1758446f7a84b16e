package berth

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi/sdk/go/config"
)

// reads is what a manifest declares: the lists that number handles, and the fields of the pod
// record.
type reads struct {
	lists [numLists][]string
	// fromConfig are JSON pointers to more names of a list in the configuration.
	fromConfig [numLists][]string
	pod        podRead
}

// list is a list in the manifest's `reads` whose order numbers handles.
type list int

const (
	listResources list = iota
	listNodeLabels
	listNodeAnnotations
	listNodeConditions
	listFeeds
	listObjectColumns
	listPodLabels
	listPodAnnotations
	listNamespaceLabels
	listPublished
	numLists
)

var listNames = [numLists]string{"resources", "nodeLabels", "nodeAnnotations", "nodeConditions", "feeds", "objectColumns", "podLabels", "podAnnotations", "namespaceLabels", "published"} //nolint:gochecknoglobals // a table that is not written

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
	podNow
	podContainers
)

// podReadNames are in the order of the bits.
var podReadNames = [...]string{"name", "namespace", "priority", "requests", "nonZeroRequested", "labels", "annotations", "owner", "tolerations", "nodeSelector", "affinity", "hostPorts", "images", "namespaceLabels", "uid", "nodeName", "schedulingGates", "createdAt", "priorityClass", "serviceAccount", "preemptionPolicy", "group", "limits", "qos", "claims", "now", "containers"} //nolint:gochecknoglobals // a table that is not written

func undeclared(f podRead) {
	panic("berth: manifest.json: reads.pod does not list " + podReadNames[bits.TrailingZeros32(uint32(f))])
}

// readManifest reads the lists in `reads`. The host checks the rest.
func readManifest(manifest []byte) (reads, error) {
	var r reads
	whole := config.Parse(manifest)
	all := whole.Get("reads")
	pod, _ := texts(all.Get("pod"))
	r.pod = podReads(pod)
	for l, name := range listNames {
		r.lists[l], r.fromConfig[l] = texts(all.Get(name))
	}
	return r, whole.Err()
}

// texts returns the names of a list, and where the configuration has more.
func texts(list config.Value) (names, pointers []string) {
	for _, v := range list.Elements() {
		if v.IsText() {
			names = append(names, v.Text(""))
		} else {
			pointers = append(pointers, v.Get("fromConfig").Text(""))
		}
	}
	return names, pointers
}

// configure adds the names of a configuration, as the host does (ABI-9.15), and reports whether there may be any. It adds nothing
// of a configuration that the host refuses.
func (r *reads) configure(data []byte) bool {
	var whole config.Value
	known := false
	for l, pointers := range r.fromConfig {
		for _, pointer := range pointers {
			if !known {
				known, whole = true, config.Parse(data)
			}
			v := whole
			for _, token := range strings.Split(pointer, "/")[1:] {
				v = v.Get(strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~"))
			}
			all := []config.Value{v}
			if v.IsList() {
				all = v.Elements()
			}
			for _, name := range all {
				if name.IsText() && !slices.Contains(r.lists[l], name.Text("")) {
					r.lists[l] = append(r.lists[l], name.Text(""))
				}
			}
		}
	}
	return known
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
