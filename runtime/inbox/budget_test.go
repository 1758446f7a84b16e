package inbox_test

import (
	"errors"
	"runtime"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/internal/bounded"
)

// TestBudgetCounts: what bounded.Budget counts of an object in protobuf is at least what decoding allocates, and not many times that.
func TestBudgetCounts(t *testing.T) {
	quantities := v1.ResourceList{v1.ResourceCPU: resource.MustParse("100m"), v1.ResourceMemory: resource.MustParse("1Gi")}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{"a": "b", "c": "d"}, CreationTimestamp: metav1.Unix(1, 0)}}
	for range 20 {
		pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{
			Name: "c", Image: "image", Args: []string{"one", "two"}, Resources: v1.ResourceRequirements{Requests: quantities, Limits: quantities},
			Env: []v1.EnvVar{{Name: "A", Value: "B", ValueFrom: &v1.EnvVarSource{FieldRef: &v1.ObjectFieldSelector{FieldPath: "x"}}}},
		})
	}
	message, err := pod.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	const most = 1 << 30
	b := bounded.Budget{Left: most}
	if err := b.Protobuf(message, &v1.Pod{}); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	decoded := &v1.Pod{}
	err = decoded.Unmarshal(message)
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	counted, made := most-b.Left, int64(after.TotalAlloc-before.TotalAlloc)
	if counted < made/2 || counted > 4*made {
		t.Errorf("%d bytes are counted, decoding allocates %d, with garbage", counted, made)
	}
	runtime.KeepAlive(decoded)

	tight := bounded.Budget{Left: counted - 1}
	if err := tight.Protobuf(message, &v1.Pod{}); !errors.As(err, new(*bounded.TooLarge)) {
		t.Errorf("with a byte less: %v", err)
	}
}
