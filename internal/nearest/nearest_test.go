package nearest_test

import (
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/internal/nearest"
)

func TestOf(t *testing.T) {
	plugins := []string{"NodeName", "NodePorts", "NodeAffinity", "ImageLocality"}
	for _, test := range []struct{ name, want string }{
		{"NodeNam", "NodeName"},
		{"nodeports", "NodePorts"},
		{"NodeAfinity", "NodeAffinity"},
		{"Node", ""},
		{"Gravity", ""},
		{"nodenames", "NodeName"},
		{"", ""},
		{strings.Repeat("NodeName", 1000), ""},
	} {
		if got, ok := nearest.Of(test.name, plugins); got != test.want || ok != (test.want != "") {
			t.Errorf("Of(%.20q) = %q, %v, want %q", test.name, got, ok, test.want)
		}
	}
}
