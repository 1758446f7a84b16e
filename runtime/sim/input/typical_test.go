package input

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// Groups ignore memory and service class, and are ordered as in FGD: of equal groups the one
// with more CPU comes first, then more of each GPU, then more GPUs.
func TestTypicalPods(t *testing.T) {
	rows := "qos,name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n"
	pods := 0
	add := func(n int, fields string) {
		for range n {
			memory, rest, _ := strings.Cut(fields, "|")
			rows += fmt.Sprintf("LS,p%d,%s,%d,%s\n", pods, memory, 10*pods, rest)
			pods++
		}
	}
	add(2, "1000|1,500,")
	add(2, "1000|2,1000,")
	add(2, "1000|1,1000,")
	add(2, "2000|0,0,")
	add(3, "1000|1,500,T4|A10")
	add(1, "1000|1,500,A10|T4") // the same
	add(28, "500|0,0,")
	trace, err := buildTrace(t.Context(), source{"nodes.csv", []byte(someNodes)}, source{"pods.csv", []byte(rows)}, TraceOptions{Inflate: 3})
	if err != nil {
		t.Fatal(err)
	}
	// 95 % of 40 are 38: the first five groups have 38, and the sixth is left out.
	want := []TypicalPod{
		{MilliCPU: 500, Count: 28},
		{MilliCPU: 1000, GPUs: 1, MilliGPU: 500, Models: []string{"A10", "T4"}, Count: 4},
		{MilliCPU: 2000, Count: 2},
		{MilliCPU: 1000, GPUs: 2, MilliGPU: 1000, Count: 2},
		{MilliCPU: 1000, GPUs: 1, MilliGPU: 1000, Count: 2},
	}
	if !reflect.DeepEqual(trace.Typical, want) {
		t.Errorf("typical pods are %+v", trace.Typical)
	}
	if none := typicalPods(nil); none != nil {
		t.Errorf("without pods %v is typical", none)
	}
}

// The typical pods of the published experiment (35 groups with 95.26 % of the pods).
func TestOpenBTypicalPods(t *testing.T) {
	typical, err := LoadTypicalPods(t.Context(), "openb", filepath.Join(openbDir(t), "openb_pod_list_default.csv"))
	if err != nil {
		t.Fatal(err)
	}
	var sum, cpuOnly int64
	for _, p := range typical {
		sum += p.Count
		if p.GPUs == 0 {
			cpuOnly += p.Count
		}
		if p.GPUs > 1 || p.Models != nil {
			t.Errorf("%+v is typical", p)
		}
	}
	if len(typical) != 35 || sum != 7766 || typical[0].MilliCPU != 3152 {
		t.Errorf("%d kinds with %d pods, the first is %+v; want 35 with 7766", len(typical), sum, typical[0])
	}
	if share := 100 * float64(cpuOnly) / float64(sum); share < 13.5 || share > 13.7 {
		t.Errorf("%.2f %% ask for no GPU, want 13.6 %%", share)
	}
	if last := typical[34]; last.MilliCPU != 4152 || last.MilliGPU != 810 || last.Count != 31 {
		t.Errorf("the last kind is %+v", last)
	}
}
