package input

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	someNodes = "sn,cpu_milli,memory_mib,gpu,model\nn-b,64000,1024,2,T4\nn-a,32000,2048,8,G2\nn-c,8000,512,0,\n"
	somePods  = `qos,name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time
LS,p2,1000,10,1,500,,100,150
BE,p1,2000,20,2,1000,T4|G2,40,
,p3,500,5,0,0,,100,100
`
)

func someTrace(t *testing.T, o TraceOptions) *Trace {
	t.Helper()
	trace, err := buildTrace(t.Context(), source{"nodes.csv", []byte(someNodes)}, source{"pods.csv", []byte(somePods)}, o)
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

func TestTraceWithoutOptionsIsSorted(t *testing.T) {
	trace := someTrace(t, TraceOptions{Inflate: 1})
	if got := podNames(trace); !slices.Equal(got, []string{"p1", "p2", "p3"}) {
		t.Errorf("arrivals are %v", got)
	}
	for _, a := range trace.Arrivals {
		if a.At != 0 || a.Until != 0 {
			t.Errorf("%s has times without departures", a.Pod.Name)
		}
	}
}

func TestTraceDepartures(t *testing.T) {
	trace := someTrace(t, TraceOptions{Departures: true})
	want := []struct {
		name      string
		at, until time.Duration
	}{{"p1", 0, 0}, {"p2", 60 * time.Second, 110 * time.Second}, {"p3", 60 * time.Second, 60*time.Second + 1}}
	for i, a := range trace.Arrivals {
		if w := want[i]; a.Pod.Name != w.name || a.At != w.at || a.Until != w.until {
			t.Errorf("arrival %d is %s at %v until %v, want %v", i, a.Pod.Name, a.At, a.Until, w)
		}
	}
}

// Clones come after the originals, have their times, and stop before the target.
func TestTraceInflate(t *testing.T) {
	trace := someTrace(t, TraceOptions{Seed: 7, Inflate: 0.9, Departures: true})
	var milli int64
	times := map[string]time.Duration{}
	clones := 0
	for _, a := range trace.Arrivals {
		milli += a.Pod.Spec.Containers[0].Resources.Requests.Name(GPUResource, "").Value()
		if !strings.Contains(a.Pod.Name, "-tuned-") {
			times[a.Pod.Name] = a.At
		}
	}
	for _, a := range trace.Arrivals {
		if name, _, clone := strings.Cut(a.Pod.Name, "-tuned-"); clone {
			clones++
			if a.At != times[name] {
				t.Errorf("%s arrives at %v, its original at %v", a.Pod.Name, a.At, times[name])
			}
		}
	}
	// the stop test counts one device, so the sum may exceed the target by the others
	if clones == 0 || milli > 9000+1000 {
		t.Errorf("%d clones, %d milli-GPU, target 9000", clones, milli)
	}
}

func TestTraceAboveTargetLosesPods(t *testing.T) {
	trace := someTrace(t, TraceOptions{Seed: 1, Inflate: 0.06}) // 600 of 10,000
	var milli int64
	for _, a := range trace.Arrivals {
		milli += a.Pod.Spec.Containers[0].Resources.Requests.Name(GPUResource, "").Value()
	}
	if milli > 600 {
		t.Errorf("%d milli-GPU are left, target 600", milli)
	}
	if !slices.IsSorted(podNames(trace)) {
		t.Error("removal changed the order of those left")
	}
}

func TestTraceSameSeedSameTrace(t *testing.T) {
	o := TraceOptions{Seed: 3, Inflate: 1.2, Shuffle: true}
	a, b := someTrace(t, o), someTrace(t, o)
	if !slices.Equal(podNames(a), podNames(b)) {
		t.Error("two loads with one seed differ")
	}
	for name, rank := range a.NodeRank {
		if b.NodeRank[name] != rank {
			t.Errorf("rank of %s is %d and %d", name, rank, b.NodeRank[name])
		}
	}
}

func TestTraceRefusesOptions(t *testing.T) {
	nodes, pods := filepath.Join(t.TempDir(), "n"), filepath.Join(t.TempDir(), "p")
	for name, err := range map[string]error{
		"format":  second(LoadTrace(t.Context(), "swf", nodes, pods, TraceOptions{})),
		"inflate": second(LoadTrace(t.Context(), "openb", nodes, pods, TraceOptions{Inflate: -1})),
		"slots":   second(LoadTrace(t.Context(), "openb", nodes, pods, TraceOptions{PodSlots: -1})),
		"file":    second(LoadTrace(t.Context(), "openb", nodes, pods, TraceOptions{})),
	} {
		if err == nil {
			t.Errorf("a bad %s is accepted", name)
		}
	}
	cpuOnly := "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos\na,1,1,0,0,,\n"
	_, err := buildTrace(t.Context(), source{"n.csv", []byte(someNodes)}, source{"p.csv", []byte(cpuOnly)}, TraceOptions{Inflate: 2})
	if err == nil || !strings.Contains(err.Error(), "asks for a GPU") {
		t.Errorf("inflating a trace without GPU pods gives %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestErrorsAreCutAndCounted(t *testing.T) {
	rows := "sn,cpu_milli,memory_mib,gpu,model\n" + strings.Repeat("n,x,1,1,\n", 30)
	_, err := buildTrace(t.Context(), source{"n.csv", []byte(rows)}, source{"p.csv", []byte(somePods)}, TraceOptions{})
	var all *Errors
	if !errors.As(err, &all) || len(all.List) != MaxErrors || all.Omitted == 0 || !strings.Contains(err.Error(), "more; fix these first") {
		t.Errorf("got %v", err)
	}
	var one *Error
	if !errors.As(err, &one) || one.Line != 2 || one.Path != "cpu_milli" {
		t.Errorf("first error is %+v", one)
	}
}
