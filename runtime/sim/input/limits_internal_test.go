package input

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestUnits: admission compares a request, a limit and what a LimitRange says in the same unit, and rounds up to it. Amounts beyond an
// int64 are what they are there.
func TestUnits(t *testing.T) {
	const large = "9300000000000000" // above resource.MaxMilliValue
	list := func(q string) v1.ResourceList {
		return v1.ResourceList{v1.ResourceCPU: resource.MustParse(q)}
	}
	for _, c := range []struct {
		about          string
		item           v1.LimitRangeItem
		request, limit string
		want           string
	}{
		{"thousandths", v1.LimitRangeItem{Min: list("1")}, "100u", "1", "requests 100u"},
		{"whole units, for the limit is large", v1.LimitRangeItem{Min: list("1")}, "100u", large, ""},
		{"whole units are rounded up", v1.LimitRangeItem{Min: list("2")}, "100u", large, "requests 100u"},
		{"less than a thousandth", v1.LimitRangeItem{Min: list("1m")}, "100u", "1", ""},
		{"at most, whole units", v1.LimitRangeItem{Max: list(large)}, "1", large, ""},
		{"beyond an int64, an amount is 0", v1.LimitRangeItem{Max: list("1")}, "1", "1e20", ""},
		{"ratio of thousandths, rounded up", v1.LimitRangeItem{MaxLimitRequestRatio: list("2")}, "100u", "2m", ""},
		{"ratio above", v1.LimitRangeItem{MaxLimitRequestRatio: list("1500m")}, "100u", "2m", "a ratio of at most 1500m"},
	} {
		got := strings.Join(violations(&c.item, list(c.request), list(c.limit)), "; ")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.about, got, c.want)
		}
	}
}

// TestSumsWrap: limits that add up beyond an int64 wrap.
func TestSumsWrap(t *testing.T) {
	limits := v1.ResourceRequirements{Limits: v1.ResourceList{v1.ResourceMemory: resource.MustParse("9223372036854775807")}}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default"}, Spec: v1.PodSpec{Containers: []v1.Container{
		{Name: "a", Resources: limits}, {Name: "b", Resources: limits},
	}}}
	known := &Known{LimitRanges: []*v1.LimitRange{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "l"}, Spec: v1.LimitRangeSpec{
		Limits: []v1.LimitRangeItem{{Type: v1.LimitTypePod, Max: v1.ResourceList{v1.ResourceMemory: resource.MustParse("4")}}},
	}}}}
	if why := known.Refusal(pod); why != "" {
		t.Errorf("2^64 - 2 is -2, but the pod is refused: %s", why)
	}
}

// TestPodLevelLimits: the API server refuses pods whose resources at pod level do not fit each other, or those of containers. Limits of init
// containers may be above that of the pod.
func TestPodLevelLimits(t *testing.T) {
	list := func(q string) v1.ResourceList { return v1.ResourceList{v1.ResourceMemory: resource.MustParse(q)} }
	for _, c := range []struct{ request, limit, container, init, want string }{
		{"1", "2", "2", "2", ""},
		{"1", "2", "2", "3", ""},
		{"1", "2", "3", "2", "container c has a limit of 3 of memory, the pod one of 2"},
		{"3", "2", "2", "2", "the pod requests 3 of memory and has a limit of 2"},
	} {
		pod := &v1.Pod{Spec: v1.PodSpec{
			Resources:      &v1.ResourceRequirements{Requests: list(c.request), Limits: list(c.limit)},
			Containers:     []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Limits: list(c.container)}}},
			InitContainers: []v1.Container{{Name: "i", Resources: v1.ResourceRequirements{Limits: list(c.init)}}},
		}}
		if got := few(aboveOwnLimits(pod)); got != c.want {
			t.Errorf("%+v: got %q", c, got)
		}
	}
}

// TestThousandths: the API server rounds amounts up to thousandths before it compares them.
func TestThousandths(t *testing.T) {
	list := func(q string) v1.ResourceList { return v1.ResourceList{v1.ResourceCPU: resource.MustParse(q)} }
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: v1.PodSpec{Containers: []v1.Container{
		{Name: "c", Image: "i", Resources: v1.ResourceRequirements{Requests: list("100u"), Limits: list("1n")}},
	}}}
	if err := Prepare("pod", v1.SchemeGroupVersion.WithKind("Pod"), pod); err != nil {
		t.Fatal(err)
	}
	if got := pod.Spec.Containers[0].Resources.Requests[v1.ResourceCPU]; got.String() != "1m" {
		t.Errorf("the request is %s", &got)
	}
}
