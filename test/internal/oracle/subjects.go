package oracle

import (
	"sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/test/internal/compare"
	"github.com/berth-scheduler/berth/test/internal/configs"
	"github.com/berth-scheduler/berth/test/internal/decide"
	"github.com/berth-scheduler/berth/test/internal/generate"
	"github.com/berth-scheduler/berth/test/internal/native"
	"github.com/berth-scheduler/berth/test/internal/queues"
	"github.com/berth-scheduler/berth/test/internal/scenario"
)

// Subjects returns all that is compared.
func Subjects(seed uint64) []Subject {
	var out []Subject
	for _, name := range Plugins() {
		out = append(out, OfPlugin(seed, name, compare.Options{}))
	}
	verdicts := func(n *compare.Counts) int { return n.Verdicts }
	trials := func(n *compare.Counts) int { return n.Trials }
	whole, full := drawn(seed, generate.Decisions), drawn(seed, generate.Preemption)
	either := func(n int) *scenario.Scenario {
		if n%4 == 0 {
			return full(n / 4)
		}
		return whole(n - n/4 - 1)
	}
	if native.Resizes() {
		out = append(out, decisions(generate.Resizes, decide.Options{}, drawn(seed, generate.Resizes), verdicts))
	}
	return append(out,
		decisions(generate.Decisions, decide.Options{}, whole, verdicts),
		decisions(generate.Preemption, decide.Options{}, full, trials),
		decisions("Bridge", decide.Options{Hosted: true}, either, verdicts),
		queue(seed), configuration(seed))
}

// decisions is a subject of whole decisions. Their configuration is kept when they are shrunk:
// without it other plugins decide.
func decisions(name string, o decide.Options, draw func(n int) *scenario.Scenario, answers func(n *compare.Counts) int) Subject {
	subject := ofScenarios(name, []string{"config"}, draw, func(_ int, s *scenario.Scenario, counts *compare.Counts) ([]compare.Difference, error) {
		return decide.Scenario(s, o, counts)
	})
	subject.Answers = answers
	return subject
}

func queue(seed uint64) Subject {
	return Subject{
		Name: queues.Name, Keep: []string{"maxBackoff"},
		Case: func(n int, counts *compare.Counts) ([]compare.Difference, error) {
			return queues.Run(queues.Draw(seed, n), counts)
		},
		Tree: func(n int) (map[string]any, error) { return queues.Draw(seed, n).Tree() },
		Replay: func(file []byte, counts *compare.Counts) ([]compare.Difference, error) {
			t, err := queues.Parse(file)
			if err != nil {
				return nil, err
			}
			return queues.Run(t, counts)
		},
	}
}

func configuration(seed uint64) Subject {
	return Subject{
		Name: configs.Name, Keep: []string{"apiVersion", "kind"},
		Case: func(n int, counts *compare.Counts) ([]compare.Difference, error) {
			return configs.Tree(configs.Draw(seed, n), counts), nil
		},
		Tree: func(n int) (map[string]any, error) { return configs.Draw(seed, n), nil },
		Replay: func(file []byte, counts *compare.Counts) ([]compare.Difference, error) {
			var tree map[string]any
			if err := yaml.Unmarshal(file, &tree); err != nil {
				return nil, err
			}
			delete(tree, "found") // how it differed when it was shrunk
			return configs.Tree(tree, counts), nil
		},
	}
}
