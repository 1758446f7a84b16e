package strictyaml

import "testing"

// TestFit: nodes are numbers. Each looks into a table for its parts.
func TestFit(t *testing.T) {
	for _, test := range []struct {
		name  string
		parts map[int][]int
		most  int
		want  bool
	}{
		{"one node", nil, 1, true},
		{"one node that is too large", nil, 0, false},
		{"three nodes", map[int][]int{0: {1, 2}}, 3, true},
		{"three nodes and one byte too few", map[int][]int{0: {1, 2}}, 2, false},
		{"the same node twice counts twice", map[int][]int{0: {1, 1}}, 2, false},
		{"a node that contains itself", map[int][]int{0: {0}}, 100, false},
		{"two nodes that contain each other", map[int][]int{0: {1}, 1: {0}}, 100, false},
		{"a thousand doublings", doublings(1000), 1 << 40, false},
		{"ten doublings", doublings(10), 1<<11 - 1, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			looks := 0
			got := fit(0, func(n int) (int, []int) { looks++; return 1, test.parts[n] }, test.most)
			if got != test.want || looks > len(test.parts)+2 {
				t.Errorf("got %v after %d looks, want %v", got, looks, test.want)
			}
		})
	}
}

func doublings(n int) map[int][]int {
	parts := map[int][]int{}
	for i := range n {
		parts[i] = []int{i + 1, i + 1}
	}
	return parts
}
