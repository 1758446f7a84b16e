package record_test

import (
	"fmt"
	"io"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/record"
	"github.com/berth-scheduler/berth/runtime/state"
)

// BenchmarkPod records what enters the loop for one pod: that it was created, its decision, that it
// was bound, and the bound pod.
func BenchmarkPod(b *testing.B) {
	counted := &countingWriter{}
	w, err := record.NewWriter(counted, record.Config{})
	if err != nil {
		b.Fatal(err)
	}
	pods := make([][2]*state.Pod, 1000)
	for i := range pods {
		pending := typicalPod(i)
		bound := pending.DeepCopy()
		bound.Spec.NodeName = fmt.Sprint("node-", i)
		bound.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: pending.CreationTimestamp}}
		pods[i] = [2]*state.Pod{state.NewPod(pending), state.NewPod(bound)}
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		pod := pods[i%len(pods)]
		i++
		w.Enter(&inbox.Pods{Pods: pod[:1]})
		w.Enter(&inbox.Step{})
		w.Enter(&inbox.Decision{Pod: "team-a/" + pod[0].Name, Node: pod[1].Object.Spec.NodeName, Code: "Success", Hash: uint64(i) * 0x9e3779b97f4a7c15})
		w.Enter(&inbox.Bound{Attempt: uint64(i)})
		w.Enter(&inbox.Pods{Pods: pod[1:]})
		if i%100 == 0 {
			w.Sync() // so that no other goroutine encodes
		}
	}
	w.Close()
	b.ReportMetric(float64(counted.n)/float64(i), "recorded-B/pod")
}

// BenchmarkCheckpoint records what a segment begins with on a cluster of 5,000 nodes and 50,000 pods. The loop waits only
// until it has entered all that.
func BenchmarkCheckpoint(b *testing.B) {
	const nodes, podsOfNode = 5000, 10
	pods := make([]*state.Pod, nodes*podsOfNode)
	for i := range pods {
		pod := typicalPod(i)
		pod.Spec.NodeName = fmt.Sprint("node-", i/podsOfNode)
		pods[i] = state.NewPod(pod)
	}
	cluster := make([]*state.Node, nodes)
	for i := range cluster {
		cluster[i] = state.NewNode(typicalNode(i))
	}
	counted := &countingWriter{}
	b.ReportAllocs()
	waited := time.Duration(0)
	for b.Loop() {
		b.StopTimer()
		counted.n = 0
		w, err := record.NewWriter(counted, record.Config{})
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		began := time.Now()
		for i, node := range cluster {
			w.Enter(&inbox.Node{Node: node})
			w.Enter(&inbox.Pods{Pods: pods[i*podsOfNode : (i+1)*podsOfNode]})
		}
		waited += time.Since(began)
		w.Close()
	}
	b.ReportMetric(float64(waited.Microseconds())/1000/float64(b.N), "waited-ms/op")
	b.ReportMetric(float64(counted.n)/(1<<20), "recorded-MiB")
}

func typicalNode(i int) *v1.Node {
	amounts := v1.ResourceList{v1.ResourceCPU: resource.MustParse("32"), v1.ResourceMemory: resource.MustParse("128Gi"), v1.ResourcePods: resource.MustParse("110")}
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprint("node-", i), UID: types.UID(fmt.Sprintf("bb2c8a10-9b7e-4c11-8f00-%012d", i)), ResourceVersion: fmt.Sprint(1000 + i),
			Labels: map[string]string{v1.LabelHostname: fmt.Sprint("node-", i), v1.LabelTopologyZone: fmt.Sprint("zone-", i%3), v1.LabelOSStable: "linux", v1.LabelArchStable: "amd64"},
		},
		Status: v1.NodeStatus{Capacity: amounts, Allocatable: amounts, Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}},
	}
}

type countingWriter struct{ n int64 }

func (w *countingWriter) Write(p []byte) (int, error) {
	w.n += int64(len(p))
	return io.Discard.Write(p)
}

func typicalPod(i int) *v1.Pod {
	created := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, i%60, 0, time.UTC))
	quantities := v1.ResourceList{v1.ResourceCPU: resource.MustParse(fmt.Sprintf("%dm", 100+i%7*50)), v1.ResourceMemory: resource.MustParse("256Mi")}
	terms := []v1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.ScheduleAnyway,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprint("web-", i%40)}},
	}}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team-a", Name: fmt.Sprintf("web-%d-7d4b9c6f5-%05d", i%40, i), UID: types.UID(fmt.Sprintf("3f2c8a10-9b7e-4c11-8f00-%012d", i)),
			ResourceVersion: fmt.Sprint(100_000 + 3*i), CreationTimestamp: created, Labels: map[string]string{"app": fmt.Sprint("web-", i%40), "pod-template-hash": "7d4b9c6f5"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: fmt.Sprintf("web-%d-7d4b9c6f5", i%40), UID: types.UID(fmt.Sprintf("aa2c8a10-9b7e-4c11-8f00-%012d", i%40))}},
		},
		Spec: v1.PodSpec{
			SchedulerName: v1.DefaultSchedulerName, RestartPolicy: v1.RestartPolicyAlways, DNSPolicy: v1.DNSClusterFirst, ServiceAccountName: "default", TopologySpreadConstraints: terms,
			Containers: []v1.Container{{
				Name: "main", Image: "registry.example.com/team-a/web:1.27.3", ImagePullPolicy: v1.PullIfNotPresent, Resources: v1.ResourceRequirements{Requests: quantities, Limits: quantities},
				Env: []v1.EnvVar{{Name: "MODE", Value: "production"}}, Ports: []v1.ContainerPort{{ContainerPort: 8080, Protocol: v1.ProtocolTCP}},
			}},
			Tolerations: []v1.Toleration{
				{Key: v1.TaintNodeNotReady, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute},
				{Key: v1.TaintNodeUnreachable, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute},
			},
		},
		Status: v1.PodStatus{Phase: v1.PodPending, QOSClass: v1.PodQOSGuaranteed},
	}
}
