package reference_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/berth-scheduler/berth/abi/sdk/go/berthtest"
)

const pools = 10

// workload is a copy of hostplugins/workload, which this package must not import.
func workload(nodes int) ([]berthtest.Node, []berthtest.Pod) {
	r := rand.New(rand.NewPCG(1, uint64(nodes)))
	var cluster []berthtest.Node
	for i := range nodes {
		n := node(r, i)
		for range 2 {
			n.Pods = append(n.Pods, berthtest.Pod{Namespace: "reference", Requests: map[string]int64{
				"cpu": 4000 + r.Int64N(12800), "memory": (16 + r.Int64N(52)) << 30,
			}})
		}
		cluster = append(cluster, n)
	}
	var pods []berthtest.Pod
	for i := range 64 {
		pods = append(pods, incoming(r, i))
	}
	return cluster, pods
}

func node(r *rand.Rand, i int) berthtest.Node {
	n := berthtest.Node{
		Name:        fmt.Sprintf("node-%05d", i),
		Allocatable: map[string]int64{"cpu": 32000, "memory": 128 << 30, "pods": 110},
	}
	n.Labels = map[string]string{
		"kubernetes.io/hostname":      n.Name,
		"topology.kubernetes.io/zone": fmt.Sprintf("zone-%d", i%3),
		"example.com/pool":            fmt.Sprintf("pool-%d", r.IntN(pools)),
	}
	for len(n.Labels) < 20 {
		n.Labels[fmt.Sprintf("example.com/label-%02d", len(n.Labels))] = fmt.Sprintf("value-%d", r.IntN(8))
	}
	for j := range 3 {
		n.Taints = append(n.Taints, berthtest.Taint{
			Key: fmt.Sprintf("example.com/taint-%d", j), Value: fmt.Sprintf("value-%d", r.IntN(8)/7), Effect: "NoSchedule",
		})
	}
	return n
}

func incoming(r *rand.Rand, i int) berthtest.Pod {
	p := berthtest.Pod{
		Namespace: "reference", Name: fmt.Sprintf("pod-%02d", i),
		Requests: map[string]int64{"cpu": 500 + 250*r.Int64N(32), "memory": (1 + r.Int64N(32)) << 30},
	}
	var wanted []string
	for j := range pools / 2 {
		wanted = append(wanted, fmt.Sprintf("pool-%d", (i+j)%pools))
	}
	p.Required = [][]berthtest.Requirement{{
		{Key: "topology.kubernetes.io/zone", Operator: "In", Values: []string{fmt.Sprintf("zone-%d", i%3), fmt.Sprintf("zone-%d", (i+1)%3)}},
		{Key: "example.com/pool", Operator: "In", Values: wanted},
	}}
	for j := range 3 {
		p.Tolerations = append(p.Tolerations, berthtest.Toleration{
			Key: fmt.Sprintf("example.com/taint-%d", j), Operator: "Equal", Value: "value-0", Effect: "NoSchedule",
		})
	}
	return p
}
