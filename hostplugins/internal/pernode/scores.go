package pernode

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"github.com/berth-scheduler/berth/abi"
)

// Score scores nodes one at a time.
type Score interface {
	Name() string
	// Prepare is called once per pod. It returns Skip when Score need not be called, or Error.
	Prepare(pod *v1.Pod) abi.Code
	Score(n *Node) int64
	// Normalize scales the scores of all feasible nodes to the range 0 to 100.
	Normalize(scores []int64)
}

// Taints is the score TaintToleration.
type Taints struct {
	tolerations []v1.Toleration
	logger      klog.Logger
}

// Name is the name in a profile.
func (*Taints) Name() string { return "TaintToleration" }

// Prepare processes the pod.
func (s *Taints) Prepare(pod *v1.Pod) abi.Code {
	s.logger, s.tolerations = klog.Background(), nil
	for _, t := range pod.Spec.Tolerations {
		if t.Effect == "" || t.Effect == v1.TaintEffectPreferNoSchedule {
			s.tolerations = append(s.tolerations, t)
		}
	}
	return abi.Success
}

// Score scores a node.
func (s *Taints) Score(n *Node) int64 {
	var count int64
	for i := range n.Object.Spec.Taints {
		taint := &n.Object.Spec.Taints[i]
		if taint.Effect == v1.TaintEffectPreferNoSchedule && !corev1helpers.TolerationsTolerateTaint(s.logger, s.tolerations, taint, false) {
			count++
		}
	}
	return count
}

// Normalize scales the scores to the range 0 to 100.
func (s *Taints) Normalize(scores []int64) { normalize(scores, true) }

// Affinity is the score NodeAffinity.
type Affinity struct {
	Added *nodeaffinity.PreferredSchedulingTerms

	terms *nodeaffinity.PreferredSchedulingTerms
}

// Name is the name in a profile.
func (*Affinity) Name() string { return "NodeAffinity" }

// Prepare processes the pod.
func (s *Affinity) Prepare(pod *v1.Pod) abi.Code {
	s.terms = nil
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution != nil {
		var err error
		if s.terms, err = nodeaffinity.NewPreferredSchedulingTerms(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution); err != nil {
			return abi.Error
		}
	}
	if s.terms == nil && s.Added == nil {
		return abi.Skip
	}
	return abi.Success
}

// Score scores a node.
func (s *Affinity) Score(n *Node) int64 {
	var sum int64
	if s.Added != nil {
		sum += s.Added.Score(n.Object)
	}
	if s.terms != nil {
		sum += s.terms.Score(n.Object)
	}
	return sum
}

// Normalize scales the scores to the range 0 to 100.
func (s *Affinity) Normalize(scores []int64) { normalize(scores, false) }

// normalize scales to the highest score, or inverts it.
func normalize(scores []int64, reverse bool) {
	var most int64
	for _, s := range scores {
		most = max(most, s)
	}
	for i := range scores {
		if most != 0 {
			scores[i] = abi.MaxScore * scores[i] / most
		}
		if reverse {
			scores[i] = abi.MaxScore - scores[i]
		}
	}
}

// Images is the score ImageLocality.
type Images struct {
	names      []string
	containers int64
}

// Name is the name in a profile.
func (*Images) Name() string { return "ImageLocality" }

// Prepare processes the pod.
func (s *Images) Prepare(pod *v1.Pod) abi.Code {
	s.names = s.names[:0]
	add := func(name string) {
		if strings.LastIndex(name, ":") <= strings.LastIndex(name, "/") {
			name += ":latest"
		}
		s.names = append(s.names, name)
	}
	for i := range pod.Spec.InitContainers {
		add(pod.Spec.InitContainers[i].Image)
	}
	for i := range pod.Spec.Containers {
		add(pod.Spec.Containers[i].Image)
	}
	s.containers = int64(len(s.names))
	for i := range pod.Spec.Volumes {
		if image := pod.Spec.Volumes[i].Image; image != nil {
			add(image.Reference)
		}
	}
	return abi.Success
}

// Score scores a node.
func (s *Images) Score(n *Node) int64 {
	const least, mostEach = 23 << 20, 1000 << 20
	var sum int64
	for _, name := range s.names {
		if image := n.Images[name]; image != nil {
			sum += int64(float64(image.Size) * (float64(image.Nodes) / float64(n.nodes)))
		}
	}
	most := mostEach * s.containers
	if sum < least {
		sum = least
	} else if sum > most {
		sum = most
	}
	return abi.MaxScore * (sum - least) / (most - least)
}

// Normalize scales the scores to the range 0 to 100.
func (*Images) Normalize([]int64) {}
