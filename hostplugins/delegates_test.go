package hostplugins_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/hostplugins/noderesources"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// gpus is a cluster in which a device class provides example.com/gpu.
type gpus struct{ noderesources.NoDevices }

func (gpus) Provides(resource v1.ResourceName) bool { return resource == "example.com/gpu" }

// TestDevicesDelegated: NodeResourcesFit leaves a pod to resource claims on a node that can have a resource of the
// pod only as devices.
func TestDevicesDelegated(t *testing.T) {
	one := resource.MustParse("1")
	gpu, cpu, none := v1.ResourceList{"example.com/gpu": one}, v1.ResourceList{"cpu": one}, v1.ResourceList{}
	for _, test := range []struct {
		of         string
		args       configv1.NodeResourcesFitArgs
		asked, has v1.ResourceList
		want       state.Feature
	}{
		{of: "a node without it", asked: gpu, has: none, want: state.FeatureResourceClaims},
		{of: "a node that has it", asked: gpu, has: gpu},
		{of: "a resource of no device class", asked: cpu, has: none},
		{of: "an ignored resource", args: configv1.NodeResourcesFitArgs{IgnoredResources: []string{"example.com/gpu"}}, asked: gpu, has: none},
	} {
		fit, err := noderesources.NewFit(&test.args, gpus{})
		if err != nil {
			t.Fatal(err)
		}
		pod := state.NewPod(&v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Resources: v1.ResourceRequirements{Requests: test.asked}}}}})
		node := state.NewNode(&v1.Node{Status: v1.NodeStatus{Allocatable: test.has}})
		if got := fit.Delegates(&plugin.Placement{Pod: pod, Node: node}); got != test.want {
			t.Errorf("%s: delegates %q, want %q", test.of, got, test.want)
		}
	}
}
