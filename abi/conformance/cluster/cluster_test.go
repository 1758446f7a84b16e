package cluster_test

import (
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi/conformance/cluster"
)

func TestQuantities(t *testing.T) {
	for _, c := range []struct {
		quantity cluster.Quantity
		resource string
		want     int64
		wrong    bool
	}{
		{"2", "cpu", 2000, false},
		{"250m", "cpu", 250, false},
		{"0", "cpu", 0, false},
		{"9223372036854775807", "memory", 1<<63 - 1, false},
		{"1Gi", "memory", 1 << 30, false},
		{"3Ti", "example.com/x", 3 << 40, false},
		{"-5", "memory", -5, false},
		{"1.5", "cpu", 0, true},
		{"5m", "memory", 0, true},
		{"1G", "memory", 0, true},
		{"", "memory", 0, true},
		{"9223372036854775807", "cpu", 0, true},
		{"9007199254740992Ki", "memory", 0, true},
	} {
		got, err := c.quantity.In(c.resource)
		if got != c.want || (err != nil) != c.wrong {
			t.Errorf("%q of %s is %d (%v), want %d", c.quantity, c.resource, got, err, c.want)
		}
	}
}

func TestSums(t *testing.T) {
	pod := func(uid, node string, requests ...map[string]cluster.Quantity) cluster.Pod {
		p := cluster.Pod{Metadata: cluster.Metadata{Name: uid, UID: uid}, Spec: cluster.PodSpec{NodeName: node}}
		for _, r := range requests {
			p.Spec.Containers = append(p.Spec.Containers, cluster.Container{Resources: cluster.Resources{Requests: r}})
		}
		return p
	}
	c := &cluster.Cluster{
		Nodes: []cluster.Node{{Metadata: cluster.Metadata{Name: "n"}}, {Metadata: cluster.Metadata{Name: "m"}}},
		Pods: []cluster.Pod{
			pod("a", "n", map[string]cluster.Quantity{"cpu": "500m"}, nil), pod("b", "n", map[string]cluster.Quantity{"cpu": "1", "memory": "0"}), pod("c", "m"),
		},
	}
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	if got := c.Requested("n", "cpu"); got != 1500 {
		t.Errorf("1500m are requested, got %d", got)
	}
	if got := c.Requested("n", "pods"); got != 2 {
		t.Errorf("there are 2 pods, got %d", got)
	}
	cpu, memory := c.Pods[0].NonZeroRequests()
	if cpu != 500+cluster.DefaultCPU || memory != 2*cluster.DefaultMemory {
		t.Errorf("got %d and %d", cpu, memory)
	}
	if cpu, memory = c.Pods[1].NonZeroRequests(); cpu != 1000 || memory != 0 {
		t.Errorf("got %d and %d", cpu, memory)
	}
}

func TestCheck(t *testing.T) {
	c := &cluster.Cluster{
		Nodes:      []cluster.Node{{}, {Metadata: cluster.Metadata{Name: "n"}, Status: cluster.NodeStatus{Allocatable: map[string]cluster.Quantity{"cpu": "x"}}}},
		Namespaces: []cluster.Namespace{{Metadata: cluster.Metadata{Name: "a"}}, {Metadata: cluster.Metadata{Name: "a"}}},
		Pods:       []cluster.Pod{{Metadata: cluster.Metadata{Name: "p", UID: "u"}, Spec: cluster.PodSpec{NodeName: "gone"}}},
	}
	err := c.Check()
	for _, want := range []string{`node "" has no name`, `quantity "x" of cpu`, `namespace "a" has no name, or appears twice`, `is on node "gone", which does not exist`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
