package dumps

import (
	"context"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	api "k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/quota/v1/evaluator/core"
	podregistry "k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/plugin/pkg/admission/limitranger"
	"k8s.io/utils/clock"
)

// Admit does what a kube-apiserver does with a pod that is created in a namespace with LimitRanges and quotas, by its own code. What is
// used of the quotas follows. Errors are what it refuses the pod for.
func Admit(pod *v1.Pod, limits []*v1.LimitRange, quotas []v1.ResourceQuota) (*v1.Pod, []v1.ResourceQuota, error) {
	pod = pod.DeepCopy()
	legacyscheme.Scheme.Default(pod)
	converted, err := legacyscheme.Scheme.ConvertToVersion(pod, runtime.InternalGroupVersioner)
	if err != nil {
		return nil, quotas, err
	}
	internal := converted.(*api.Pod)
	internal.UID, internal.CreationTimestamp = "pod", metav1.Unix(1_700_000_000, 0)
	for _, l := range limits {
		if err := limitranger.PodMutateLimitFunc(l, internal); err != nil {
			return nil, quotas, err
		}
	}
	ctx := genericapirequest.WithNamespace(context.Background(), pod.Namespace)
	ctx = genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{APIVersion: "v1", Resource: "pods"})
	if err := rest.BeforeCreate(podregistry.Strategy, ctx, internal); err != nil {
		return nil, quotas, err
	}
	for _, l := range limits {
		if err := limitranger.PodValidateLimitFunc(l, internal); err != nil {
			return nil, quotas, err
		}
	}
	gvk, gvr := v1.SchemeGroupVersion.WithKind("Pod"), v1.SchemeGroupVersion.WithResource("pods")
	attributes := admission.NewAttributesRecord(internal, nil, gvk, pod.Namespace, pod.Name, gvr, "", admission.Create,
		&metav1.CreateOptions{}, false, nil)
	charged, err := resourcequota.CheckRequest(quotas, attributes, core.NewPodEvaluator(nil, clock.RealClock{}), nil)
	if err != nil {
		return nil, quotas, err
	}
	out := &v1.Pod{}
	return out, charged, legacyscheme.Scheme.Convert(internal, out, nil)
}
