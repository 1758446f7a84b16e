package cache_test

import (
	"fmt"

	"pgregory.net/rapid"
)

// nodeCount is the number of possible node names.
const nodeCount = 24

func nodeName(i int) string { return fmt.Sprint("node-", i) }

func nodeNames() *rapid.Generator[string] { return rapid.Map(rapid.IntRange(0, nodeCount-1), nodeName) }

func someOf(strings ...string) *rapid.Generator[[]string] {
	return rapid.SliceOfNDistinct(rapid.SampledFrom(strings), 0, len(strings), rapid.ID)
}

func labels() *rapid.Generator[map[string]string] {
	return rapid.MapOfN(rapid.SampledFrom([]string{"zone", "arch", "app", "pool"}), rapid.SampledFrom([]string{"", "a", "b", "c"}), 0, 4)
}

func (m *machine) drawNode(t *rapid.T) nodeSpec {
	return nodeSpec{
		Name:          nodeNames().Draw(t, "node"),
		Labels:        labels().Draw(t, "labels"),
		Taints:        someOf("dedicated", "gpu", "spot").Draw(t, "taints"),
		Images:        someOf("nginx", "redis", "example.com/trainer").Draw(t, "images"),
		Unschedulable: rapid.Bool().Draw(t, "unschedulable"),
		CPU:           rapid.Int64Range(0, 8000).Draw(t, "cpu"),
		Memory:        rapid.Int64Range(0, 1<<30).Draw(t, "memory"),
		GPUName:       rapid.SampledFrom([]string{"", "nvidia.com/gpu", "amd.com/gpu", "hugepages-2Mi"}).Draw(t, "gpu name"),
		GPU:           rapid.Int64Range(0, 8).Draw(t, "gpu"),
	}
}

// drawPod makes a pod with a new name.
func (m *machine) drawPod(t *rapid.T) podSpec {
	m.pods++
	spec := podSpec{
		Name:     fmt.Sprint("pod-", m.pods),
		UID:      fmt.Sprint("uid-", m.pods),
		Node:     nodeNames().Draw(t, "on"),
		Priority: rapid.Int32Range(-1, 3).Draw(t, "priority"),
		Labels:   labels().Draw(t, "pod labels"),
	}
	for range rapid.IntRange(1, 2).Draw(t, "containers") {
		spec.Containers = append(spec.Containers, containerSpec{
			CPU:      rapid.SampledFrom([]int64{0, 100, 1500}).Draw(t, "cpu"),
			Memory:   rapid.SampledFrom([]int64{0, 1 << 20}).Draw(t, "memory"),
			GPUName:  rapid.SampledFrom([]string{"", "nvidia.com/gpu", "vendor.example/nic"}).Draw(t, "gpu name"),
			GPU:      rapid.Int64Range(0, 2).Draw(t, "gpu"),
			HostPort: rapid.SampledFrom([]int32{0, 0, 80, 443}).Draw(t, "port"),
		})
	}
	return spec
}
