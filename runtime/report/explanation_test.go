package report_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/report/reporttest"
)

// TestSchema: the published schema has the fields of the types, the required ones among them.
func TestSchema(t *testing.T) {
	s := reporttest.Schema(t)
	check := func(s *jsonschema.Schema, of any) {
		t.Helper()
		var all, required []string
		typ := reflect.TypeOf(of)
		for i := range typ.NumField() {
			name, options, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			all = append(all, name)
			if options == "" {
				required = append(required, name)
			}
		}
		slices.Sort(all)
		if got := slices.Sorted(maps.Keys(s.Properties)); !slices.Equal(got, all) {
			t.Errorf("%s: the schema has %v, the type %v", typ, got, all)
		}
		if !slices.Equal(s.Required, required) {
			t.Errorf("%s: the schema requires %v, the type %v", typ, s.Required, required)
		}
	}
	check(s, report.Explanation{})
	check(s.Properties["change"], report.Change{})
	check(s.Defs["reason"], report.Reason{})
	check(s.Defs["toleration"], report.Toleration{})
	check(s.Defs["selector"], report.Selector{})
	check(s.Defs["request"], report.Request{})
	check(s.Defs["label"], report.Label{})
}

// TestExplain: the code and the dominant reason follow from the attempt.
func TestExplain(t *testing.T) {
	rejected := []report.Rejection{
		{Plugin: "A", Code: abi.UnschedulableAndUnresolvable, Reasons: []string{"few"}, Count: 1, Nodes: []string{"n"}},
		{Plugin: "B", Code: abi.Unschedulable, Count: 4},
	}
	for _, c := range []struct {
		attempt  report.Attempt
		code     report.Outcome
		dominant string
	}{
		{report.Attempt{Node: "n", Rejections: rejected}, report.Fits, ""},
		{report.Attempt{Code: abi.Unschedulable, Nominated: "n", Victims: []string{"ns/v"}, Rejections: rejected}, report.FitsAfterPreemption, "B"},
		{report.Attempt{Code: abi.UnschedulableAndUnresolvable, Rejections: rejected, Message: "no"}, report.DoesNotFit, "B"},
		{report.Attempt{Code: abi.Error, Message: "broken"}, report.Failed, ""},
	} {
		c.attempt.Namespace, c.attempt.Pod, c.attempt.Nodes = "ns", "p", 5
		e := report.Explain(&c.attempt)
		dominant := ""
		if e.Dominant != nil {
			dominant = e.Dominant.Plugin
		}
		if e.Code != c.code || dominant != c.dominant || len(e.Reasons) != len(c.attempt.Rejections) {
			t.Errorf("%+v", e)
		}
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		reporttest.Validate(t, text)
	}
}
