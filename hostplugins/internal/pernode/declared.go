package pernode

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
)

// Declared is the filter NodeDeclaredFeatures (KEP-5328). The features that v1.37 infers from
// an incoming pod are spelled out: KEP-5532 for restarts of all containers, KEP-5607 for user
// namespaces with the host's network, KEP-5855 for options of bind mounts.
type Declared struct{ needs []string }

// Name is the name in a profile.
func (*Declared) Name() string { return "NodeDeclaredFeatures" }

// Prepare processes the pod.
func (f *Declared) Prepare(pod *v1.Pod) (map[string]bool, abi.Code, string) {
	f.needs = nil
	for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
		for _, rule := range c.RestartPolicyRules {
			if rule.Action == v1.ContainerRestartRuleActionRestartAllContainers {
				f.needs = append(f.needs, "RestartAllContainersOnContainerExits")
			}
		}
		for _, mount := range c.VolumeMounts {
			if len(mount.BindMountOptions) > 0 {
				f.needs = append(f.needs, "VolumeBindMountOptions")
			}
		}
	}
	if users := pod.Spec.HostUsers; pod.Spec.HostNetwork && users != nil && !*users {
		f.needs = append(f.needs, "UserNamespacesHostNetworkSupport")
	}
	if f.needs == nil {
		return nil, abi.Skip, ""
	}
	return nil, abi.Success, ""
}

// Filter evaluates a node.
func (f *Declared) Filter(n *Node) (abi.Code, []string) {
	for _, need := range f.needs {
		if !slices.Contains(n.Object.Status.DeclaredFeatures, need) {
			return abi.UnschedulableAndUnresolvable, []string{"node(s) didn't match Pod's required features"}
		}
	}
	return abi.Success, nil
}
