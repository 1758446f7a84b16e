package app

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/runtime/shadow"
	"github.com/berth-scheduler/berth/runtime/whatif"
)

// TestPrintTrials prints differences of every kind, and finds the trials of a plugin.
func TestPrintTrials(t *testing.T) {
	all := trials{
		{Profile: "a", Plugin: "next", Replaces: "pool", Attempts: 5, Same: 1, Elsewhere: 1, Placed: 1, Pending: 1, Preemption: 1, Missed: 2, Differences: []shadow.Difference{
			{Sequence: 9, Namespace: "x", Pod: "p-4", Kind: shadow.Preemption, Was: shadow.Outcome{Message: "no"},
				Would: shadow.Outcome{Message: "no", Nominated: "n-1", Victims: []string{"x/v", "x/w"}}, Why: "no"},
			{Sequence: 8, Namespace: "x", Pod: "p-3", Kind: shadow.Pending, Was: shadow.Outcome{Node: "n-1"}, Would: shadow.Outcome{Message: "no"}, Why: "next rejects n-1: full"},
		}},
		{Profile: "b", Plugin: "other", Attempts: 1, Failed: 1},
	}
	var out bytes.Buffer
	p := &printer{w: &out, width: 150}
	p.trials("IN SHADOW", all, 10)
	const want = `IN SHADOW      PROFILE  DECISIONS  SAME  ELSEWHERE  PLACED  PENDING  PREEMPTION  FAILED  MISSED
next for pool  a                5     1          1       1        1           1       0       2
other          b                1     0          0       0        0           0       1       0

The last differences of next in a, the latest first:
ATTEMPT  POD    WAS      WOULD BE                           WHY
      9  x/p-4  pending  pending, preempts x/v, x/w on n-1  no
      8  x/p-3  n-1      pending                            next rejects n-1: full

`
	if diff := cmp.Diff(want, out.String()); diff != "" || p.err != nil {
		t.Errorf("%v (-want +got):\n%s", p.err, diff)
	}
	for _, c := range []struct {
		all  trials
		args []string
		want int
		err  string
	}{
		{all, nil, 2, ""},
		{all, []string{"other"}, 1, ""},
		{all, []string{"pool"}, 0, `no plugin "pool" is in shadow, only next, other`},
		{nil, []string{"pool"}, 0, "no plugin is in shadow; set the mode of one to Shadow"},
	} {
		got, err := c.all.of(c.args)
		if len(got) != c.want || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("%q: %d trials, %v", c.args, len(got), err)
		}
	}
}

// TestPrintAgain: what is printed says how many pods were left out, and what was tried.
func TestPrintAgain(t *testing.T) {
	var out bytes.Buffer
	p := &printer{w: &out, width: 150}
	p.again(&whatif.Again{Plugin: "pool@canary", Pods: 2, Gone: 3, Gated: 1, Trials: []shadow.Report{{
		Profile: "a", Plugin: "pool@canary", Replaces: "pool", Attempts: 2, Same: 1, Elsewhere: 1,
		Differences: []shadow.Difference{{Sequence: 9, Namespace: "x", Pod: "p", Was: shadow.Outcome{Node: "n-1"}, Would: shadow.Outcome{Node: "n-2"}, Why: "pool@canary rejects n-1: full"}},
	}}})
	const want = `2 pods of the last attempts decided again; 3 no longer in the cluster; 1 gated.

TRIED                 PROFILE  DECISIONS  SAME  ELSEWHERE  PLACED  PENDING  PREEMPTION  FAILED  MISSED
pool@canary for pool  a                2     1          1       0        0           0       0       0

The last differences of pool@canary in a, the latest first:
ATTEMPT  POD  WAS  WOULD BE  WHY
      9  x/p  n-1  n-2       pool@canary rejects n-1: full

`
	if diff := cmp.Diff(want, out.String()); diff != "" || p.err != nil {
		t.Errorf("%v (-want +got):\n%s", p.err, diff)
	}
}
