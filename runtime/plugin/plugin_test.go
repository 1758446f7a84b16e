package plugin_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/fake"
)

func TestStatus(t *testing.T) {
	cause := errors.New("cause")
	for _, c := range []struct {
		status             *plugin.Status
		code               abi.Code
		success, rejected  bool
		message, err, text string
	}{
		{nil, abi.Success, true, false, "", "", "Success"},
		{plugin.NewStatus(abi.Success), abi.Success, true, false, "", "", "Success"},
		{plugin.NewStatus(abi.Unschedulable, "a", "b"), abi.Unschedulable, false, true, "a, b", "a, b", "Unschedulable"},
		{plugin.NewStatus(abi.UnschedulableAndUnresolvable), abi.UnschedulableAndUnresolvable, false, true, "", "", "UnschedulableAndUnresolvable"},
		{plugin.NewStatus(abi.Pending, "later"), abi.Pending, false, true, "later", "later", "Pending"},
		{plugin.NewStatus(abi.Wait, "5s"), abi.Wait, false, false, "5s", "", "Wait"},
		{plugin.NewStatus(abi.Skip), abi.Skip, false, false, "", "", "Skip"},
		{plugin.Fail(cause), abi.Error, false, false, "cause", "cause", "Error"},
		{&plugin.Status{Code: abi.Error, Err: cause, Reasons: []string{"and"}}, abi.Error, false, false, "cause, and", "cause", "Error"},
	} {
		s := c.status
		if s.CodeOf() != c.code || !s.Is(c.code) || s.Success() != c.success || s.Rejected() != c.rejected || s.Message() != c.message {
			t.Errorf("%+v: code %v, success %v, rejected %v, message %q", s, s.CodeOf(), s.Success(), s.Rejected(), s.Message())
		}
		err := s.AsError()
		bad := !c.success && c.code != abi.Wait && c.code != abi.Skip
		if (err != nil) != bad || err != nil && err.Error() != c.err {
			t.Errorf("%+v: error %v, want %q", s, err, c.err)
		}
	}
	if plugin.Fail(nil) != nil {
		t.Error("no error is a failure")
	}
	if !errors.Is(plugin.Fail(fmt.Errorf("x: %w", cause)).AsError(), cause) {
		t.Error("the cause is lost")
	}
	s := plugin.NewStatus(abi.Unschedulable).By("A").By("B")
	if s.Plugin != "A" || (*plugin.Status)(nil).By("A") != nil {
		t.Errorf("by %q", s.Plugin)
	}
}

func TestVerdicts(t *testing.T) {
	var v plugin.Verdicts
	v.Reset(3)
	v.Reject(1, abi.Unschedulable, v.Reason("a", "b"))
	v.Reject(2, abi.Pending, 0)
	if v.Codes[0] != abi.Success || v.Texts(0) != nil || !slices.Equal(v.Texts(1), []string{"a", "b"}) || v.Texts(2) != nil {
		t.Errorf("%+v", v)
	}
	v.Reset(2)
	if v.Codes[1] != abi.Success || v.Texts(1) != nil || len(v.Table) != 0 || len(v.Codes) != 2 {
		t.Errorf("after Reset: %+v", v)
	}
	for i := range 70000 {
		if n, want := v.Reason("x"), min(i+1, 65535); int(n) != want {
			t.Fatalf("reason %d has number %d, want %d", i, n, want)
		}
	}
}

// TestPerNodeFilter: equal reasons share a number; every row has its own verdict.
func TestPerNodeFilter(t *testing.T) {
	var v plugin.Verdicts
	rows := []uint32{2, 3, 5, 7, 8}
	v.Reset(len(rows))
	plugin.PerNodeFilter(nil, rows, &v, func(_ *plugin.Cycle, row uint32) *plugin.Status {
		switch row {
		case 2:
			return nil
		case 5:
			return plugin.NewStatus(abi.UnschedulableAndUnresolvable, "odd")
		case 7:
			return plugin.Fail(errors.New("broken"))
		case 8:
			return plugin.NewStatus(abi.Unschedulable)
		}
		return plugin.NewStatus(abi.Unschedulable, "odd")
	})
	want := []abi.Code{abi.Success, abi.Unschedulable, abi.UnschedulableAndUnresolvable, abi.Error, abi.Unschedulable}
	if !slices.Equal(v.Codes, want) || len(v.Table) != 2 || v.Reasons[1] != v.Reasons[2] || v.Texts(3)[0] != "broken" || v.Texts(4) != nil {
		t.Errorf("%+v", v)
	}
}

func TestPerNodeScore(t *testing.T) {
	out := make([]int64, 3)
	rate := func(_ *plugin.Cycle, row uint32) (int64, *plugin.Status) {
		if row == 9 {
			return 0, plugin.Fail(errors.New("broken"))
		}
		return int64(row) * 10, nil
	}
	if s := plugin.PerNodeScore(nil, []uint32{1, 2, 4}, out, rate); s != nil || !slices.Equal(out, []int64{10, 20, 40}) {
		t.Errorf("%v, %v", out, s.Message())
	}
	if s := plugin.PerNodeScore(nil, []uint32{1, 9, 4}, out, rate); s.Message() != "broken" {
		t.Errorf("status %v", s.Message())
	}
}

// TestNormalizeMax: the order is kept or inverted, and the range is kept.
func TestNormalizeMax(t *testing.T) {
	seeded.Check(t, func(r *rapid.T) {
		raw := rapid.SliceOfN(rapid.Int64Range(0, 1<<40), 1, 20).Draw(r, "scores")
		reverse := rapid.Bool().Draw(r, "reverse")
		got := slices.Clone(raw)
		plugin.NormalizeMax(got, reverse)
		for i, g := range got {
			if g < abi.MinScore || g > abi.MaxScore {
				r.Fatalf("%d becomes %d", raw[i], g)
			}
			for j := range got {
				if raw[i] < raw[j] && (reverse && g < got[j] || !reverse && g > got[j]) {
					r.Fatalf("%v becomes %v", raw, got)
				}
			}
		}
		if best := slices.Max(raw); best > 0 {
			end := abi.MaxScore
			if reverse {
				end = abi.MinScore
			}
			if got[slices.Index(raw, best)] != end {
				r.Fatalf("the highest of %v becomes %d, want %d", raw, got[slices.Index(raw, best)], end)
			}
		}
	})
	zeros := []int64{0, 0}
	plugin.NormalizeMax(zeros, true)
	if !slices.Equal(zeros, []int64{abi.MaxScore, abi.MaxScore}) {
		t.Errorf("zeros reversed are %v", zeros)
	}
	plugin.NormalizeMax(nil, false)
}

func TestRegistry(t *testing.T) {
	r := plugin.Registry{
		"B": func(any) (plugin.Plugin, error) { return fake.Declare("B", scenario.MustParse("filter="), fake.Deps{}) },
		"A": func(args any) (plugin.Plugin, error) { return nil, fmt.Errorf("bad arguments %v", args) },
	}
	if p, err := r.New("B", nil); err != nil || p.Info().Name != "B" {
		t.Errorf("%v, %v", p, err)
	}
	if _, err := r.New("A", 7); err == nil || err.Error() != "plugin A: bad arguments 7" {
		t.Errorf("error %v", err)
	}
	if _, err := r.New("C", nil); err == nil || !strings.Contains(err.Error(), "registered are A, B") {
		t.Errorf("error %v", err)
	}
}

// TestPoints: a plugin with all points has them in the order of a pod's path.
func TestPoints(t *testing.T) {
	p, err := fake.Declare("A", scenario.MustParse("filter="), fake.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	want := []abi.Point{
		abi.PreEnqueue, abi.QueueSort, abi.PreFilter, abi.Filter, abi.PostFilter, abi.PreScore, abi.Score,
		abi.Reserve, abi.Permit, abi.PreBind, abi.Bind, abi.PostBind,
	}
	if got := plugin.Points(p); !slices.Equal(got, want) {
		t.Errorf("points %v, want %v", got, want)
	}
	if got := plugin.Points(onlyInfo{}); got != nil {
		t.Errorf("a plugin without points has %v", got)
	}
}

type onlyInfo struct{}

func (onlyInfo) Info() *plugin.Info { return &plugin.Info{} }
