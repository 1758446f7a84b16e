package shrink_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/test/internal/generate"
	"github.com/berth-scheduler/berth/test/internal/scenario"
	"github.com/berth-scheduler/berth/test/internal/shrink"
)

// TestShrink: what is left is small, still shows the difference, and is a scenario file.
func TestShrink(t *testing.T) {
	for n := range 5 {
		s := generate.New(1, "TaintToleration", n).Scenario()
		tried := 0
		shows := func(s *scenario.Scenario) bool {
			tried++
			for _, step := range s.Steps {
				for _, node := range step.Set.Nodes {
					if len(node.Spec.Taints) > 0 && node.Name == "n2" {
						return true
					}
				}
			}
			return false
		}
		if !shows(s) {
			continue
		}
		inTree := func(tree map[string]any) bool {
			s, err := scenario.FromTree(tree)
			return err == nil && shows(s)
		}
		tree, err := s.Tree()
		if err != nil {
			t.Fatal(err)
		}
		shrink.Tree(tree, []string{"plugin"}, inTree, 5000)
		got, err := yaml.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(string(got), "\n"); lines > 12 || !strings.Contains(string(got), "n2") || !strings.Contains(string(got), "plugin: TaintToleration") {
			t.Errorf("case %d: %d lines are left:\n%s", n, lines, got)
		}
		tree, _ = s.Tree()
		tried = 0
		if shrink.Tree(tree, nil, inTree, 10); tried > 10 {
			t.Errorf("%d tries, 10 were allowed", tried)
		}
	}
}
