package bridge

import (
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/runtime/state"
)

// podInfo implements framework.PodInfo. Affinity terms are compiled on first use: most plugins
// never ask for them.
type podInfo struct {
	pod *state.Pod

	hasAffinity, hasRequiredAntiAffinity bool
	// claims is "namespace/name" of the persistent volume claims, one entry per volume.
	claims []string

	terms struct {
		once                     sync.Once
		required, requiredAnti   []framework.AffinityTerm
		preferred, preferredAnti []framework.WeightedAffinityTerm
	}
	resource struct {
		once sync.Once
		pod  framework.PodResource
	}
}

var _ framework.PodInfo = (*podInfo)(nil)

func newPodInfo(pod *state.Pod) *podInfo {
	p := &podInfo{pod: pod}
	if a := pod.Object.Spec.Affinity; a != nil {
		p.hasAffinity = a.PodAffinity != nil || a.PodAntiAffinity != nil
		p.hasRequiredAntiAffinity = len(framework.GetPodAntiAffinityTerms(a)) > 0
	}
	volumes := pod.Object.Spec.Volumes
	for i := range volumes {
		if claim := volumes[i].PersistentVolumeClaim; claim != nil {
			p.claims = append(p.claims, pod.Namespace+"/"+claim.ClaimName)
		}
	}
	return p
}

// podOf returns the decoded pod behind a PodInfo, which may be a plugin's own implementation.
func podOf(p framework.PodInfo) *state.Pod {
	if own, ok := p.(*podInfo); ok {
		return own.pod
	}
	return state.NewPod(p.GetPod())
}

// compile parses the affinity terms. As in kube-scheduler, a term that cannot be parsed is
// dropped along with the others of its kind.
func (p *podInfo) compile() {
	if !p.hasAffinity {
		return
	}
	p.terms.once.Do(func() {
		pod, t := p.pod.Object, &p.terms
		affinity := pod.Spec.Affinity
		t.required, _ = framework.GetAffinityTerms(pod, framework.GetPodAffinityTerms(affinity))
		t.requiredAnti, _ = framework.GetAffinityTerms(pod, framework.GetPodAntiAffinityTerms(affinity))
		if affinity.PodAffinity != nil {
			t.preferred, _ = framework.GetWeightedAffinityTerms(pod, affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
		}
		if affinity.PodAntiAffinity != nil {
			t.preferredAnti, _ = framework.GetWeightedAffinityTerms(pod, affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
		}
	})
}

// GetPod implements framework.PodInfo.
func (p *podInfo) GetPod() *v1.Pod { return p.pod.Object }

// GetRequiredAffinityTerms implements framework.PodInfo.
func (p *podInfo) GetRequiredAffinityTerms() []framework.AffinityTerm {
	p.compile()
	return p.terms.required
}

// GetRequiredAntiAffinityTerms implements framework.PodInfo.
func (p *podInfo) GetRequiredAntiAffinityTerms() []framework.AffinityTerm {
	p.compile()
	return p.terms.requiredAnti
}

// GetPreferredAffinityTerms implements framework.PodInfo.
func (p *podInfo) GetPreferredAffinityTerms() []framework.WeightedAffinityTerm {
	p.compile()
	return p.terms.preferred
}

// GetPreferredAntiAffinityTerms implements framework.PodInfo.
func (p *podInfo) GetPreferredAntiAffinityTerms() []framework.WeightedAffinityTerm {
	p.compile()
	return p.terms.preferredAnti
}

// CalculateResource implements framework.PodInfo.
func (p *podInfo) CalculateResource() framework.PodResource {
	p.resource.once.Do(func() {
		r := newResources(&p.pod.Requests)
		r.pods = 0 // in kube-scheduler, a pod's own resources do not count the pod
		p.resource.pod = framework.PodResource{Resource: r, Non0CPU: p.pod.NonZeroCPU, Non0Mem: p.pod.NonZeroMemory}
	})
	return p.resource.pod
}
