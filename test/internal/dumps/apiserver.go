// Package dumps draws objects of a cluster, and asks kube-apiserver's own code which of them it
// accepts, and what it stores. Its tests hold that against what berth simulate reads.
package dumps

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/registry/core/limitrange"
	"k8s.io/kubernetes/pkg/registry/core/namespace"
	"k8s.io/kubernetes/pkg/registry/core/node"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolume"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/core/resourcequota"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
	"k8s.io/kubernetes/pkg/registry/resource/deviceclass"
	"k8s.io/kubernetes/pkg/registry/resource/resourceclaim"
	"k8s.io/kubernetes/pkg/registry/resource/resourceslice"
	"k8s.io/kubernetes/pkg/registry/scheduling/priorityclass"
	"k8s.io/kubernetes/pkg/registry/storage/csinode"
	"k8s.io/kubernetes/pkg/registry/storage/csistoragecapacity"
	"k8s.io/kubernetes/pkg/registry/storage/storageclass"

	// Defaults of kube-apiserver.
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
)

func strategies() map[string]rest.RESTCreateStrategy {
	return map[string]rest.RESTCreateStrategy{
		"Node": node.Strategy, "Pod": pod.Strategy,
		"PersistentVolume": persistentvolume.Strategy, "PersistentVolumeClaim": persistentvolumeclaim.Strategy,
		"Namespace": namespace.Strategy, "PriorityClass": priorityclass.Strategy, "PodDisruptionBudget": poddisruptionbudget.Strategy,
		"LimitRange": limitrange.Strategy, "ResourceQuota": resourcequota.Strategy, "CSINode": csinode.Strategy,
		"StorageClass": storageclass.Strategy, "CSIStorageCapacity": csistoragecapacity.Strategy,
		"DeviceClass": deviceclass.Strategy, "ResourceSlice": resourceslice.Strategy, "ResourceClaim": resourceclaim.NewStrategy(nil, nil),
	}
}

// Kinds returns the kinds that Create knows.
func Kinds() []string {
	var out []string
	for kind := range strategies() {
		out = append(out, kind)
	}
	slices.Sort(out)
	return out
}

// Create does what a kube-apiserver without admission does with an object: defaults, preparation and
// validation. It returns what the server stores.
func Create(o runtime.Object, uid string) (runtime.Object, error) {
	gvk := o.GetObjectKind().GroupVersionKind()
	strategy := strategies()[gvk.Kind]
	if strategy == nil {
		return nil, fmt.Errorf("no strategy for %v", gvk)
	}
	o = o.DeepCopyObject()
	legacyscheme.Scheme.Default(o)
	internal, err := legacyscheme.Scheme.ConvertToVersion(o, runtime.InternalGroupVersioner)
	if err != nil {
		return nil, err
	}
	meta := internal.(metav1.ObjectMetaAccessor).GetObjectMeta()
	meta.SetUID(types.UID(uid))
	meta.SetCreationTimestamp(metav1.Unix(1_700_000_000, 0))
	ctx := genericapirequest.WithNamespace(context.Background(), meta.GetNamespace())
	ctx = genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{APIGroup: gvk.Group, APIVersion: gvk.Version, Resource: strings.ToLower(gvk.Kind)})
	if err := rest.BeforeCreate(strategy, ctx, internal); err != nil {
		return nil, err
	}
	out, err := legacyscheme.Scheme.ConvertToVersion(internal, gvk.GroupVersion())
	if err != nil {
		return nil, err
	}
	out.GetObjectKind().SetGroupVersionKind(gvk)
	return out, nil
}
