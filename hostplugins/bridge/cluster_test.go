package bridge_test

import (
	"maps"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/kube-scheduler/framework"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/hostplugins/bridge"
	"github.com/berth-scheduler/berth/internal/seeded"
)

// drawPod draws a pod with random values for everything that a NodeInfo aggregates.
func drawPod(t *rapid.T, name string) *v1.Pod {
	p := pod(name)
	c := &p.Spec.Containers[0]
	c.Resources.Requests = v1.ResourceList{v1.ResourceCPU: *resource.NewMilliQuantity(rapid.Int64Range(0, 900).Draw(t, "cpu"), resource.DecimalSI)}
	if rapid.Bool().Draw(t, "gpu") {
		c.Resources.Requests["example.com/gpu"] = resource.MustParse("1")
	}
	if rapid.IntRange(0, 3).Draw(t, "port") == 0 {
		// Two pods of a node cannot have the same port; the name makes it unique.
		c.Ports = []v1.ContainerPort{{HostPort: int32(1000 + len(name)*100 + int(name[len(name)-1])), HostIP: "10.0.0.1", Protocol: v1.ProtocolUDP}}
	}
	if rapid.IntRange(0, 3).Draw(t, "claim") == 0 {
		p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{
			ClaimName: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "claim name"),
		}}}}
	}
	term := v1.PodAffinityTerm{TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}}
	switch rapid.IntRange(0, 5).Draw(t, "affinity") {
	case 0:
		p.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term}}}
	case 1:
		p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term}}}
	}
	return p
}

func drawNode(t *rapid.T, name string) *v1.Node {
	n := node(name)
	for _, image := range []string{"a:1", "b:1", "c:1"} {
		if rapid.Bool().Draw(t, "image") {
			n.Status.Images = append(n.Status.Images, v1.ContainerImage{Names: []string{image}, SizeBytes: 100})
		}
	}
	return n
}

// describe prints the contents of a NodeInfo, and wanted what they should be for a node with
// these pods, both independent of the order of pods.
func describe(n framework.NodeInfo) string {
	images := map[string]int{}
	for name, i := range n.GetImageStates() {
		images[name] = i.NumNodes
	}
	return text("%s cpu %d gpu %d pods %v affinity %v anti %v ports %v claims %v images %v allowed %d",
		n.Node().Name, n.GetRequested().GetMilliCPU(), n.GetRequested().GetScalarResources()["example.com/gpu"],
		podNames(n.GetPods()), podNames(n.GetPodsWithAffinity()), podNames(n.GetPodsWithRequiredAntiAffinity()),
		n.GetUsedPorts(), n.GetPVCRefCounts(), images, n.GetAllocatable().GetAllowedPodNumber())
}

func wanted(n *v1.Node, pods []*v1.Pod, imageNodes map[string]int) string {
	var cpu, gpu int64
	var all, affinity, anti []string
	ports, claims, images := framework.HostPortInfo{}, map[string]int{}, map[string]int{}
	for _, p := range pods {
		all = append(all, p.Name)
		c := &p.Spec.Containers[0]
		cpu += c.Resources.Requests.Cpu().MilliValue()
		g := c.Resources.Requests["example.com/gpu"]
		gpu += g.Value()
		for i := range c.Ports {
			ports.Add(c.Ports[i].HostIP, string(c.Ports[i].Protocol), c.Ports[i].HostPort)
		}
		for i := range p.Spec.Volumes {
			claims["ns/"+p.Spec.Volumes[i].PersistentVolumeClaim.ClaimName]++
		}
		if a := p.Spec.Affinity; a != nil {
			affinity = append(affinity, p.Name)
			if a.PodAntiAffinity != nil {
				anti = append(anti, p.Name)
			}
		}
	}
	for i := range n.Status.Images {
		images[n.Status.Images[i].Names[0]] = imageNodes[n.Status.Images[i].Names[0]]
	}
	for _, names := range [][]string{all, affinity, anti} {
		slices.Sort(names)
	}
	return text("%s cpu %d gpu %d pods %v affinity %v anti %v ports %v claims %v images %v allowed 10",
		n.Name, cpu, gpu, all, affinity, anti, ports, claims, images)
}

func podNames(pods []framework.PodInfo) []string {
	var out []string
	for _, p := range pods {
		out = append(out, p.GetPod().Name)
	}
	slices.Sort(out)
	return out
}

// TestCluster adds, removes and changes objects at random: the listers always show the cluster
// as its objects describe it, and an unchanged row keeps its NodeInfo.
func TestCluster(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		w := newWorld()
		nodes, pods := map[string]*v1.Node{}, map[string][]*v1.Pod{}
		p, h := host(t, bridge.New(bridge.Config{}, bridge.Deps{}), func(framework.Handle) framework.Plugin { return watcher{"W"} })
		number := 0
		draw := func() (string, int) {
			names := slices.Sorted(maps.Keys(nodes))
			if len(names) == 0 {
				return "", 0
			}
			name := rapid.SampledFrom(names).Draw(t, "node")
			return name, w.row(name)
		}
		setNode := func(name string) { nodes[name] = drawNode(t, name); w.setNode(nodes[name]) }
		changed := map[string]bool{}
		last := map[string]framework.NodeInfo{}
		t.Repeat(map[string]func(*rapid.T){
			"set node": func(t *rapid.T) {
				name := rapid.SampledFrom([]string{"n1", "n2", "n3", "n4", "n5"}).Draw(t, "name")
				setNode(name)
				changed[name] = true
			},
			"remove node": func(*rapid.T) {
				if name, row := draw(); name != "" {
					changed[w.infos[len(w.infos)-1].Name] = true // it moves to this row
					w.removeNode(row)
					delete(nodes, name)
					delete(pods, name)
					delete(last, name)
				}
			},
			"add pod": func(t *rapid.T) {
				if name, row := draw(); name != "" {
					number++
					p := drawPod(t, text("p%d", number))
					pods[name] = append(pods[name], p)
					w.addPod(row, p)
					changed[name] = true
				}
			},
			"remove pod": func(t *rapid.T) {
				if name, row := draw(); len(pods[name]) > 0 {
					i := rapid.IntRange(0, len(pods[name])-1).Draw(t, "pod")
					w.removePod(row, pods[name][i].UID)
					pods[name] = slices.Delete(pods[name], i, i+1)
					changed[name] = true
				}
			},
			"new epoch": func(*rapid.T) { w.rebuild = true },
			"idle":      func(*rapid.T) {},
			"": func(t *rapid.T) {
				if rapid.IntRange(0, 2).Draw(t, "no cycle") == 0 {
					w.update() // the cluster is not read, so it misses a generation
					return
				}
				w.update()
				p.PreFilter(w.cycle(pod("incoming")))
				imageNodes, users := map[string]int{}, map[string]int{}
				for name, n := range nodes {
					for i := range n.Status.Images {
						imageNodes[n.Status.Images[i].Names[0]]++
					}
					for _, p := range pods[name] {
						for i := range p.Spec.Volumes {
							users["ns/"+p.Spec.Volumes[i].PersistentVolumeClaim.ClaimName]++
						}
					}
				}
				lister := h.SnapshotSharedLister().NodeInfos()
				list := firstOf(lister.List())
				if len(list) != len(nodes) {
					t.Fatalf("%d nodes are listed, want %d", len(list), len(nodes))
				}
				var affinity, anti []string
				for _, n := range list {
					name := n.Node().Name
					want := wanted(nodes[name], pods[name], imageNodes)
					if got := describe(n); got != want {
						t.Fatalf("got\n%s, want\n%s", got, want)
					}
					if one, err := lister.Get(name); err != nil || one != n {
						t.Fatalf("Get(%s) = %v, %v", name, one, err)
					}
					if old := last[name]; old != nil && old != n && !changed[name] {
						t.Fatalf("%s did not change, but has a new NodeInfo", name)
					}
					last[name] = n
					if len(n.GetPodsWithAffinity()) > 0 {
						affinity = append(affinity, name)
					}
					if len(n.GetPodsWithRequiredAntiAffinity()) > 0 {
						anti = append(anti, name)
					}
				}
				clear(changed)
				if got := nodeNames(firstOf(lister.HavePodsWithAffinityList())); !slices.Equal(got, affinity) {
					t.Fatalf("nodes with affinity: %v, want %v", got, affinity)
				}
				if got := nodeNames(firstOf(lister.HavePodsWithRequiredAntiAffinityList())); !slices.Equal(got, anti) {
					t.Fatalf("nodes with anti-affinity: %v, want %v", got, anti)
				}
				for _, claim := range []string{"ns/a", "ns/b"} {
					if got := h.SnapshotSharedLister().StorageInfos().IsPVCUsedByPods(claim); got != (users[claim] > 0) {
						t.Fatalf("claim %s is used: %v, users %d", claim, got, users[claim])
					}
				}
			},
		})
	})
}

func firstOf[T any](value T, _ error) T { return value }

func nodeNames(nodes []framework.NodeInfo) []string {
	var out []string
	for _, n := range nodes {
		out = append(out, n.Node().Name)
	}
	return out
}

// TestCopies adds pods to and removes them from a copy of a NodeInfo; the original stays
// unchanged.
func TestCopies(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		n := drawNode(t, "n")
		w := newWorld(n)
		p, h := host(t, bridge.New(bridge.Config{}, bridge.Deps{}), func(framework.Handle) framework.Plugin { return watcher{"W"} })
		var on []*v1.Pod
		for i := range rapid.IntRange(0, 5).Draw(t, "pods") {
			on = append(on, drawPod(t, text("p%d", i)))
			w.addPod(0, on[i])
		}
		w.update()
		p.PreFilter(w.cycle(pod("incoming")))
		images := map[string]int{"a:1": 1, "b:1": 1, "c:1": 1}
		original := firstOf(h.SnapshotSharedLister().NodeInfos().Get("n"))
		edited := original.Snapshot()
		generation := edited.GetGeneration()
		now := slices.Clone(on)
		for i := range rapid.IntRange(1, 6).Draw(t, "steps") {
			if len(now) > 0 && rapid.Bool().Draw(t, "remove") {
				at := rapid.IntRange(0, len(now)-1).Draw(t, "which")
				if err := edited.RemovePod(klog.Background(), now[at]); err != nil {
					t.Fatal(err)
				}
				now = slices.Delete(now, at, at+1)
			} else {
				added := drawPod(t, text("q%d", i))
				edited.AddPodInfo(foreign{drawn: added, PodInfo: infoOf(t, added)})
				now = append(now, added)
			}
			if got, want := describe(edited), wanted(n, now, images); got != want {
				t.Fatalf("got\n%s, want\n%s", got, want)
			}
			if edited.GetGeneration() == generation {
				t.Fatal("a change keeps the generation")
			}
			generation = edited.GetGeneration()
		}
		if err := edited.RemovePod(klog.Background(), pod("nobody")); err == nil {
			t.Fatal("removed a pod that is not on the node")
		}
		if got, want := describe(original), wanted(n, on, images); got != want {
			t.Fatalf("the original is now\n%s, want\n%s", got, want)
		}
	})
}

// foreign is a PodInfo implemented by a plugin.
type foreign struct {
	framework.PodInfo
	drawn *v1.Pod
}

// infoOf returns the bridge's own PodInfo of a pod, by way of a node that runs it.
func infoOf(t *rapid.T, p *v1.Pod) framework.PodInfo {
	w := newWorld(node("n"))
	w.addPod(0, p)
	w.update()
	hosted, h := host(t, bridge.New(bridge.Config{}, bridge.Deps{}), func(framework.Handle) framework.Plugin { return watcher{"W"} })
	hosted.PreFilter(w.cycle(pod("incoming")))
	return firstOf(h.SnapshotSharedLister().NodeInfos().Get("n")).GetPods()[0]
}
