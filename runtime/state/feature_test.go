package state_test

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/runtime/state"
)

// TestFeaturesOf: each requirement in a spec has a feature; a plain pod has none.
func TestFeaturesOf(t *testing.T) {
	group := "g"
	for want, change := range map[string]func(*v1.PodSpec){
		"":                   func(*v1.PodSpec) {},
		"node-affinity":      func(s *v1.PodSpec) { s.NodeSelector = map[string]string{"a": "b"} },
		"scheduling-gates":   func(s *v1.PodSpec) { s.SchedulingGates = []v1.PodSchedulingGate{{Name: "a"}} },
		"topology-spread":    func(s *v1.PodSpec) { s.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{}} },
		"inter-pod-affinity": func(s *v1.PodSpec) { s.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{}} },
		"volume-claims": func(s *v1.PodSpec) {
			s.Volumes = []v1.Volume{{VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{}}}}
		},
		"exclusive-volumes": func(s *v1.PodSpec) {
			s.Volumes = []v1.Volume{{VolumeSource: v1.VolumeSource{RBD: &v1.RBDVolumeSource{}}}}
		},
		"resource-claims":  func(s *v1.PodSpec) { s.ResourceClaims = []v1.PodResourceClaim{{Name: "a"}} },
		"scheduling-group": func(s *v1.PodSpec) { s.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &group} },
		"declared-features": func(s *v1.PodSpec) {
			s.Containers[0].RestartPolicyRules = []v1.ContainerRestartRule{{Action: v1.ContainerRestartRuleActionRestartAllContainers}}
		},
	} {
		pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c"}}}}
		change(&pod.Spec)
		if got := state.FeaturesOf(pod).String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestParseFeature(t *testing.T) {
	var all state.Feature
	for _, name := range state.FeatureNames() {
		f, ok := state.ParseFeature(name)
		if !ok || f.String() != name || all&f != 0 {
			t.Errorf("ParseFeature(%q) = %v, %v", name, f, ok)
		}
		all |= f
	}
	if !slices.Equal(all.Names(), state.FeatureNames()) {
		t.Errorf("all features are %v", all.Names())
	}
	if _, ok := state.ParseFeature("gravity"); ok {
		t.Error("gravity is a feature")
	}
}
