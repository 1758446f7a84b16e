package compare

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"

	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// nodeInfos compares the bridge's NodeInfos with those that kube-scheduler builds from the same
// objects. Without it, a bug in the snapshot would affect both sides of every other comparison.
func (r *run) nodeInfos() {
	nodes, pods := r.world.Objects()
	theirs := cache.NewSnapshot(pods, nodes).NodeInfos()
	ours := r.theirs.NodeInfos(&plugin.Cycle{Snapshot: r.world.Snapshot, Pod: state.NewPod(&v1.Pod{}), State: &state.CycleState{}})
	for _, list := range []struct {
		what string
		of   func(framework.NodeInfoLister) ([]framework.NodeInfo, error)
	}{
		{"List", framework.NodeInfoLister.List},
		{"HavePodsWithAffinityList", framework.NodeInfoLister.HavePodsWithAffinityList},
		{"HavePodsWithRequiredAntiAffinityList", framework.NodeInfoLister.HavePodsWithRequiredAntiAffinityList},
	} {
		x, _ := list.of(ours)
		y, _ := list.of(theirs)
		same(r, "NodeInfoLister."+list.what, nodeNames(x), nodeNames(y))
	}
	for _, node := range nodes {
		x, err := ours.Get(node.Name)
		if err != nil {
			r.differ("NodeInfo", err.Error(), "")
			continue
		}
		y, err := theirs.Get(node.Name)
		if err != nil {
			r.differ("NodeInfo", "", err.Error())
			continue
		}
		r.node = node.Name
		r.counts.NodeInfos++
		same(r, "NodeInfo", nodeInfoText(x), nodeInfoText(y))
	}
	r.node = ""
}

func nodeNames(nodes []framework.NodeInfo) string {
	var out []string
	for _, n := range nodes {
		out = append(out, n.Node().Name)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// nodeInfoText prints everything in a NodeInfo except its generation; fmt sorts maps.
func nodeInfoText(n framework.NodeInfo) string {
	resources := func(r framework.Resource) string {
		scalars := map[string]int64{}
		for name, value := range r.GetScalarResources() {
			if value != 0 {
				scalars[string(name)] = value
			}
		}
		return fmt.Sprintf("%d %d %d %v", r.GetMilliCPU(), r.GetMemory(), r.GetEphemeralStorage(), scalars)
	}
	images := map[string]string{}
	for name, i := range n.GetImageStates() {
		images[name] = fmt.Sprintf("%d on %d", i.Size, i.NumNodes)
	}
	var pods []string
	for _, p := range n.GetPods() {
		r := p.CalculateResource()
		pods = append(pods, fmt.Sprintf("%s requests %s or %d %d, terms %v %v %v %v", p.GetPod().Name, resources(r.Resource), r.Non0CPU, r.Non0Mem,
			terms(p.GetRequiredAffinityTerms()), terms(p.GetRequiredAntiAffinityTerms()),
			weighted(p.GetPreferredAffinityTerms()), weighted(p.GetPreferredAntiAffinityTerms())))
	}
	slices.Sort(pods)
	features := n.GetNodeDeclaredFeatures()
	return fmt.Sprintf("requested %s, non-zero %s, allocatable %s pods %d, ports %v, claims %v, images %v, features %v, affinity %s, anti %s, pods %v",
		resources(n.GetRequested()), resources(n.GetNonZeroRequested()), resources(n.GetAllocatable()), n.GetAllocatable().GetAllowedPodNumber(),
		n.GetUsedPorts(), n.GetPVCRefCounts(), images, features,
		podNames(n.GetPodsWithAffinity()), podNames(n.GetPodsWithRequiredAntiAffinity()), pods)
}

func podNames(pods []framework.PodInfo) string {
	var out []string
	for _, p := range pods {
		out = append(out, p.GetPod().Name)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func terms(all []framework.AffinityTerm) []string {
	var out []string
	for i := range all {
		t := &all[i]
		out = append(out, fmt.Sprintf("%v by %s in %v or %v", t.Selector, t.TopologyKey, sets.List(t.Namespaces), t.NamespaceSelector))
	}
	return out
}

func weighted(all []framework.WeightedAffinityTerm) []string {
	var out []string
	for i := range all {
		out = append(out, fmt.Sprintf("%d × %v", all[i].Weight, terms([]framework.AffinityTerm{all[i].AffinityTerm})))
	}
	return out
}
