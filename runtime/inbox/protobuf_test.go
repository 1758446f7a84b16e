package inbox_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/internal/bounded"
)

// field writes a field of a message that has a length.
func field(number uint64, value []byte) []byte {
	out := binary.AppendUvarint(nil, number<<3|2)
	return append(binary.AppendUvarint(out, uint64(len(value))), value...)
}

// TestProtobufBombs: a message of Kubernetes whose values take more than the budget is refused, wherever they are.
func TestProtobufBombs(t *testing.T) {
	const most, n = 4 << 20, 100_000
	many := func(value []byte) []byte { return bytes.Repeat(value, n) }
	spec := func(value []byte) []byte { return field(2, value) }
	entries := func() (out []byte) {
		for i := range uint64(n) {
			out = append(out, field(11, append(field(1, binary.AppendUvarint(nil, i)), field(2, nil)...))...)
		}
		return out
	}
	for name, message := range map[string][]byte{
		"empty containers":      spec(many(field(2, nil))),
		"empty volumes":         spec(many(field(1, nil))),
		"empty environments":    spec(field(2, many(field(7, nil)))),
		"labels":                field(1, entries()),
		"empty commands":        spec(field(2, bytes.Repeat(field(3, nil), 2*n))),
		"pointers":              spec(field(18, field(1, field(1, field(1, many(field(1, nil))))))),
		"a specification twice": append(spec(bytes.Repeat(field(2, nil), n/2)), spec(bytes.Repeat(field(2, nil), n/2))...),
	} {
		b := bounded.Budget{Left: most}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := b.Protobuf(message, &v1.Pod{})
		runtime.ReadMemStats(&after)
		if !errors.As(err, new(*bounded.TooLarge)) {
			t.Errorf("%s: got %v, want *TooLarge", name, err)
		}
		if made := after.TotalAlloc - before.TotalAlloc; made > 1<<20 {
			t.Errorf("%s: %d bytes are allocated", name, made)
		}
	}
}

// TestProtobufCounts: what is counted is at least what decoding allocates, and not many times that.
func TestProtobufCounts(t *testing.T) {
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

// TestProtobufDamaged: what is no message is an error and nothing else, wherever it ends.
func TestProtobufDamaged(t *testing.T) {
	for name, message := range map[string][]byte{
		"a length beyond the end": {0x12, 0x7f},
		"a length of 2^64 - 1":    append([]byte{0x12}, bytes.Repeat([]byte{0xff}, 9)...),
		"a group":                 {0x13, 0x14},
		"a tag without an end":    bytes.Repeat([]byte{0x80}, 11),
		"half a number":           {0x11, 1, 2, 3},
	} {
		b := bounded.Budget{Left: 1 << 20}
		if err := b.Protobuf(message, &v1.Pod{}); err == nil || errors.As(err, new(*bounded.TooLarge)) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	var deep []byte
	for range 10_000 {
		deep = field(1, deep)
	}
	b := bounded.Budget{Left: 1 << 20}
	if err := b.Protobuf(deep, &nested{}); err == nil || errors.As(err, new(*bounded.TooLarge)) {
		t.Errorf("10,000 messages in each other: %v", err)
	}
	whole := field(2, field(2, field(1, []byte("name"))))
	for end := 1; end < len(whole); end++ {
		b := bounded.Budget{Left: 1 << 20}
		if err := b.Protobuf(whole[:end], &v1.Pod{}); err == nil {
			t.Errorf("%d of %d bytes are a message", end, len(whole))
		}
	}
}

type nested struct {
	More *nested `protobuf:"bytes,1,opt,name=more"`
}
