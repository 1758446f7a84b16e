package extender_test

import (
	"net/http"
	"runtime/metrics"
	"slices"
	"testing"

	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/runtime/extender"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// FuzzAnswer: for any answer of an extender, each row of the request is either accepted or
// rejected, victims are existing pods, and memory is bounded.
func FuzzAnswer(f *testing.F) {
	for _, answer := range []string{
		`{"NodeNames": ["c", "a"], "FailedNodes": {"b": "too hot"}, "FailedAndUnresolvableNodes": {"d": "on fire"}}`,
		`{"Nodes": {"kind": "NodeList", "items": [{"metadata": {"name": "d"}, "spec": 7}, {"metadata": {"name": "a"}}]}}`,
		`{"NodeNames": ["a", "a", "z"]}`, `{"Error": "database is down"}`, `null`, ``, `[]`, `{"NodeNames": ["a"`, `<html>`,
		`[{"Host": "a", "Score": 10}, {"Host": "a", "Score": 9223372036854775807}, {"Host": "z", "Score": -1}]`,
		`{"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "uid-v1"}], "NumPDBViolations": -7}, "b": null}}`,
		`{"NodeNameToMetaVictims": {"a": {"Pods": [null, {"UID": ""}]}, "z": {}}}`,
	} {
		f.Add(uint16(http.StatusOK), answer)
	}
	f.Add(uint16(http.StatusInternalServerError), `{}`)
	f.Add(uint16(http.StatusFound), `{}`)
	s := serve(f, map[string]string{})
	var all []*extender.Extenders
	for _, knows := range []bool{false, true} {
		all = append(all, create(f, configv1.Extender{
			URLPrefix: s.URL, FilterVerb: "filter", PrioritizeVerb: "prioritize", PreemptVerb: "preempt", BindVerb: "bind",
			Weight: 1, NodeCacheCapable: knows,
		}))
	}
	f.Fuzz(func(t *testing.T, status uint16, answer string) {
		if status < 200 || status > 599 {
			return // not an HTTP status
		}
		s.mu.Lock()
		s.status, s.asked = int(status), nil
		for _, verb := range []string{"filter", "prioritize", "preempt", "bind"} {
			s.answers[verb] = answer
		}
		s.mu.Unlock()
		counter := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
		metrics.Read(counter)
		before := counter[0].Value.Uint64()
		for _, e := range all {
			askAll(t, e)
		}
		metrics.Read(counter)
		if n := counter[0].Value.Uint64() - before; n > uint64(4<<20+1000*len(answer)) {
			t.Errorf("%d bytes were allocated for an answer of %d", n, len(answer))
		}
	})
}

// askAll calls all verbs of the extenders.
func askAll(t *testing.T, e *extender.Extenders) {
	t.Helper()
	c := cycleOf(t, pod("p", ""))
	rows := []uint32{0, 1, 3}
	standing, rejected, err := e.Filter(c, rows)
	if err == nil {
		var seen []uint32
		for _, r := range rejected {
			seen = append(seen, r.Row)
		}
		seen = append(seen, standing...)
		slices.Sort(seen)
		if !slices.Equal(seen, rows) || !slices.IsSorted(standing) {
			t.Errorf("of %v stand %v, and are rejected %v", rows, standing, rejected)
		}
	}
	for _, scores := range e.Prioritize(c, rows) {
		if len(scores.Scores) != len(rows) {
			t.Errorf("%d scores for %d rows", len(scores.Scores), len(rows))
		}
	}
	candidates, err := e.ProcessPreemption(c, victims(c))
	for i := range candidates {
		if err != nil || len(candidates[i].Victims) == 0 || slices.Contains(candidates[i].Victims, nil) {
			t.Errorf("candidates %v, error %v", tell(c, candidates), err)
		}
	}
	placement := &plugin.Placement{Context: t.Context(), Pod: pod("p", "a"), Node: state.NewNode(node("a"))}
	e.Binder().Bind(placement)
}
