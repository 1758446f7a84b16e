package input

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestUnits: admission compares a request, a limit and what a LimitRange says in the same unit, and rounds up to it.
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
		{"ratio of thousandths, rounded up", v1.LimitRangeItem{MaxLimitRequestRatio: list("2")}, "100u", "2m", ""},
		{"ratio above", v1.LimitRangeItem{MaxLimitRequestRatio: list("1500m")}, "100u", "2m", "a ratio of at most 1500m"},
	} {
		got := strings.Join(violations(&c.item, list(c.request), list(c.limit)), "; ")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.about, got, c.want)
		}
	}
}
