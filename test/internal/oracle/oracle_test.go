package oracle_test

import (
	"testing"
	"time"

	"github.com/berth-scheduler/berth/test/internal/compare"
	"github.com/berth-scheduler/berth/test/internal/oracle"
)

// TestRunEnds: after the budget, only subjects that lack answers are run; a number of cases is a bound.
func TestRunEnds(t *testing.T) {
	for _, test := range []struct {
		name       string
		config     oracle.Config
		poor, rich func(cases int) bool
	}{
		{
			"no time", oracle.Config{Budget: time.Nanosecond},
			func(n int) bool { return n == 0 }, func(n int) bool { return n == 0 },
		},
		{
			"no time, but a number of answers", oracle.Config{Budget: time.Nanosecond, Least: 50},
			func(n int) bool { return n == 50 }, func(n int) bool { return n == 5 },
		},
		{
			"a number of answers", oracle.Config{Least: 50},
			func(n int) bool { return n == 50 }, func(n int) bool { return n == 5 },
		},
		{
			"cases", oracle.Config{Count: 7, Least: 50},
			func(n int) bool { return n == 7 }, func(n int) bool { return n == 7 },
		},
		{
			"cases, but no time", oracle.Config{Count: 7, Budget: time.Nanosecond},
			func(n int) bool { return n == 0 }, func(n int) bool { return n == 0 },
		},
		{
			"time", oracle.Config{Budget: time.Millisecond, Least: 50},
			func(n int) bool { return n > 50 && n < 1000 }, func(n int) bool { return n > 5 && n < 1000 },
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			now := time.Unix(0, 0)
			test.config.Now = func() time.Time {
				now = now.Add(time.Microsecond) // from case to case
				return now
			}
			subject := func(name string, each int) oracle.Subject {
				return oracle.Subject{
					Name:    name,
					Answers: func(n *compare.Counts) int { return n.Verdicts },
					Case: func(_ int, n *compare.Counts) ([]compare.Difference, error) {
						n.Cases, n.Verdicts = 1, each
						return nil, nil
					},
				}
			}
			test.config.Workers = 1
			results := oracle.Run(t.Context(), test.config, []oracle.Subject{subject("poor", 1), subject("rich", 10)})
			for i, want := range []func(int) bool{test.poor, test.rich} {
				if got := results[i].Counts.Cases; !want(got) {
					t.Errorf("%s ran %d cases", results[i].Name, got)
				}
			}
		})
	}
}
