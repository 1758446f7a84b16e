package curve

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/runtime/sim/input"
	"github.com/berth-scheduler/berth/runtime/state"
)

func aNode(name string, milliCPU int64, gpus int, model string) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{input.GPUCountAnnotation: fmt.Sprint(gpus)}}}
	if model != "" {
		n.Labels = map[string]string{input.GPUModelLabel: model}
	}
	n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: *resource.NewMilliQuantity(milliCPU, resource.DecimalSI)}
	return n
}

func aPod(milliCPU int64, gpus, milli int, devices string) *state.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Annotations: map[string]string{
		input.GPUCountAnnotation: fmt.Sprint(gpus), input.GPUMilliAnnotation: fmt.Sprint(milli),
	}}}
	if devices != "" {
		p.Annotations[input.GPUDevicesAnnotation] = devices
	}
	p.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
		v1.ResourceCPU: *resource.NewMilliQuantity(milliCPU, resource.DecimalSI),
	}}}}
	return state.NewPod(p)
}

// Three of four typical pods request 4 CPUs and 600 of a GPU, one requests no GPU.
func fourTypical() []input.TypicalPod {
	return []input.TypicalPod{{MilliCPU: 4000, GPUs: 1, MilliGPU: 600, Count: 3}, {MilliCPU: 1000, Count: 1}}
}

// Computed by hand: with ten GPUs, 1000 milli-GPU are 10 %.
func TestCurve(t *testing.T) {
	c := New([]*v1.Node{aNode("a", 8000, 2, ""), aNode("b", 2000, 8, "")}, fourTypical())
	c.Answered(aPod(0, 0, 0, ""), "b")             // nothing yet: of a a quarter is fragmented, of b all: 500 + 8000
	c.Answered(aPod(1000, 1, 500, "1"), "a")       // 5 %: 500 are fragmented for all of a, 1000 for a quarter: 750
	c.Answered(aPod(0, 1, 40, ""), "")             // 5.4 % are requested, nothing changes
	c.Answered(aPod(0, 2, 1000, "0,7"), "b")       // 25.4 %: b has 6000
	c.Answered(aPod(5000, 0, 0, ""), "a")          // a has too few CPUs for any typical pod: all 1500
	c.Answered(aPod(0, 1, 100, "not a GPU"), "b")  // the devices are unknown
	c.Answered(aPod(0, 1, 1000, "3"), "elsewhere") // a node that does not exist
	var b bytes.Buffer
	if err := c.WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"arrived,allocated,fragmented,fragmented_of_idle",
		"0,0.00,85.00,85.00",
		"1,0.00,85.00,85.00", // of the neighbour
		"4,5.00,87.50,92.11", "5,5.00,87.50,92.11", "6,5.00,87.50,92.11",
		"24,25.00,71.25,95.00", "25,25.00,71.25,95.00", // of 67.5 and 75, of 90 and 100
		"26,26.00,,", "27,26.00,,",
		"35,26.00,,", "36,26.00,,",
	}, "\n") + "\n"
	if got := b.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// Wherever pods are placed, the sum that is kept equals the definition in floating point.
func TestFragmentIsTheSumOverNodes(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	models := []string{"", "T4", "G2"}
	typical := append(fourTypical(), input.TypicalPod{GPUs: 2, MilliGPU: 1000, Models: []string{"T4"}, Count: 2})
	var nodes []*v1.Node
	for i := range 20 {
		nodes = append(nodes, aNode(fmt.Sprint(i), int64(1000*r.IntN(20)), r.IntN(5), models[r.IntN(3)]))
	}
	c := New(nodes, typical)
	for range 500 {
		i := r.IntN(len(nodes))
		n := c.nodes[nodes[i].Name]
		milli := 10 * (1 + r.IntN(100))
		if device := slices.IndexFunc(n.free, func(free int64) bool { return free >= int64(milli) }); device >= 0 {
			c.Answered(aPod(int64(100*r.IntN(20)), 1, milli, fmt.Sprint(device)), nodes[i].Name)
		}
		want := 0.0
		for _, n := range c.nodes {
			for _, p := range typical {
				all, small, enough := 0.0, 0.0, 0
				for _, free := range n.free {
					all += float64(free)
					if free < p.MilliGPU {
						small += float64(free)
					} else {
						enough++
					}
				}
				fits := p.GPUs > 0 && enough >= int(p.GPUs) && n.cpu >= p.MilliCPU && (p.Models == nil || slices.Contains(p.Models, n.model))
				if fits {
					all = small
				}
				want += float64(float64(p.Count) / 6 * all)
			}
		}
		if got := float64(c.fragment) / c.weight; math.Abs(got-want) > 1e-6 {
			t.Fatalf("the fragment is %v, by definition %v", got, want)
		}
	}
	if c.blind || c.used == 0 {
		t.Errorf("%d milli-GPU are used, blind: %v", c.used, c.blind)
	}
}

// A cluster without GPUs has no curve.
func TestNoGPUs(t *testing.T) {
	c := New([]*v1.Node{aNode("a", 8000, 0, "")}, fourTypical())
	c.Answered(aPod(100, 0, 0, ""), "a")
	if points := c.Points(); len(points) != 0 {
		t.Errorf("the curve is %v", points)
	}
}
