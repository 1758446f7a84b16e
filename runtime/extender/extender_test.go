package extender_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/golden"
	"github.com/berth-scheduler/berth/runtime/extender"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// TestRequests compares the requests with testdata/requests.txt: every verb, for an extender
// with a node cache and for one without.
func TestRequests(t *testing.T) {
	answers := map[string]string{
		"api/filter": `{"NodeNames": ["a"], "Nodes": {"items": [{"metadata": {"name": "a"}}]}}`, "api/prioritize": `[]`,
		"api/preempt": `{"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "uid-v1"}]}}}`, "api/bind": `{}`,
	}
	var got strings.Builder
	for _, knows := range []bool{false, true} {
		s := serve(t, answers)
		e := create(t, configv1.Extender{
			URLPrefix: s.URL + "/api/", FilterVerb: "filter", PrioritizeVerb: "prioritize", PreemptVerb: "preempt", BindVerb: "bind",
			Weight: 1, NodeCacheCapable: knows,
		})
		c := cycleOf(t, pod("p", ""))
		if _, _, err := e.Filter(c, []uint32{0, 2}); err != nil {
			t.Error(err)
		}
		e.Prioritize(c, []uint32{1})
		if _, err := e.ProcessPreemption(c, victims(c)); err != nil {
			t.Error(err)
		}
		placement := &plugin.Placement{Context: t.Context(), Pod: pod("p", "a"), Node: state.NewNode(node("a"))}
		if _, status := e.Binder().Bind(placement); !status.Success() {
			t.Error(status.Message())
		}
		fmt.Fprintf(&got, "# nodeCacheCapable: %v\n%s\n", knows, strings.Join(s.asked, "\n"))
	}
	golden.Check(t, "testdata/requests.txt", []byte(got.String()))
}

// TestFilter: how answers are understood, from an extender with a node cache and from one
// without.
func TestFilter(t *testing.T) {
	for name, test := range map[string]struct {
		knows        bool
		answer, want string
	}{
		"some":               {true, `{"NodeNames": ["c", "a"], "FailedNodes": {"b": "too hot"}, "FailedAndUnresolvableNodes": {"d": "on fire"}}`, "a c; b Unschedulable too hot; d UnschedulableAndUnresolvable on fire"},
		"lower case":         {true, `{"nodenames": ["a"], "failednodes": {"b": "no", "c": "no", "d": "no"}}`, "a; b Unschedulable no; c Unschedulable no; d Unschedulable no"},
		"in both maps":       {true, `{"NodeNames": ["a", "c", "d"], "FailedNodes": {"b": "x"}, "FailedAndUnresolvableNodes": {"b": "y"}}`, "a c d; b UnschedulableAndUnresolvable y"},
		"no reasons":         {true, `{"NodeNames": ["a", "b", "c"]}`, "a b c; d UnschedulableAndUnresolvable "},
		"twice":              {true, `{"NodeNames": ["a", "a", "b", "c", "d"]}`, "a b c d"},
		"none":               {true, `{"NodeNames": [], "FailedNodes": {"e": "who?"}}`, "; a UnschedulableAndUnresolvable ; b UnschedulableAndUnresolvable ; c UnschedulableAndUnresolvable ; d UnschedulableAndUnresolvable "},
		"nodes not names":    {true, `{"Nodes": {"items": [{"metadata": {"name": "b"}}]}, "FailedNodes": {"a": "", "c": "", "d": ""}}`, "b; a Unschedulable ; c Unschedulable ; d Unschedulable "},
		"names not nodes":    {false, `{"NodeNames": ["a", "b", "c", "d"], "FailedNodes": {"a": "", "b": "", "c": "", "d": ""}}`, "; a Unschedulable ; b Unschedulable ; c Unschedulable ; d Unschedulable "},
		"nodes":              {false, `{"Nodes": {"kind": "NodeList", "items": [{"metadata": {"name": "d"}, "spec": 7}, {"metadata": {"name": "a"}}]}, "FailedNodes": {"b": "x", "c": "y"}}`, "a d; b Unschedulable x; c Unschedulable y"},
		"an error":           {true, `{"NodeNames": ["a"], "Error": "database is down"}`, "error database is down"},
		"other nodes":        {true, `{"NodeNames": ["a", "z", "y"]}`, `error extender URL: filter: the answer has the node "y", which was not in the request`},
		"not JSON":           {true, `<html>`, "error extender URL: filter: invalid answer: invalid character '<' looking for beginning of value"},
		"other types":        {true, `{"NodeNames": "a"}`, "error extender URL: filter: invalid answer: json: cannot unmarshal string into Go struct field filterResult.NodeNames of type []string"},
		"an empty answer":    {true, ``, "error extender URL: filter: the answer is empty"},
		"cut off":            {true, `{"NodeNames": ["a"`, "error extender URL: filter: invalid answer: unexpected EOF"},
		"more than asked":    {true, `{"NodeNames": ["a", "b", "c", "d"]} and so on`, "a b c d"},
		"null":               {true, `null`, "; a UnschedulableAndUnresolvable ; b UnschedulableAndUnresolvable ; c UnschedulableAndUnresolvable ; d UnschedulableAndUnresolvable "},
		"duplicates of keys": {true, `{"NodeNames": ["a"], "NodeNames": ["b"], "FailedNodes": {"a": "1", "a": "2", "c": "", "d": ""}}`, "b; a Unschedulable 2; c Unschedulable ; d Unschedulable "},
	} {
		s := serve(t, map[string]string{"filter": test.answer})
		e := create(t, configv1.Extender{URLPrefix: s.URL, FilterVerb: "filter", NodeCacheCapable: test.knows})
		c := cycleOf(t, pod("p", ""))
		if got := strings.ReplaceAll(filtered(e, c), s.URL, "URL"); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

func filtered(e *extender.Extenders, c *plugin.Cycle) string {
	rows, rejected, err := e.Filter(c, []uint32{0, 1, 2, 3})
	if err != nil {
		return "error " + err.Error()
	}
	got := names(c, rows)
	for _, r := range rejected {
		got += fmt.Sprintf("; %s %s %s", c.Snapshot.Name(r.Row), r.Code, r.Reason)
	}
	return got
}

// TestOrder: extenders are called one after the other with the nodes that are left, ignorable
// ones last. Their failures are ignored or not accordingly.
func TestOrder(t *testing.T) {
	s := serve(t, map[string]string{
		"ab": `{"NodeNames": ["a", "b"], "FailedNodes": {"c": "ab", "d": "ab"}}`, "a": `{"NodeNames": ["a"], "FailedNodes": {"b": "a"}}`,
		"none": `{"NodeNames": []}`, "broken": `{"Error": "broken"}`,
	})
	make := func(verbs string) *extender.Extenders {
		var configs []configv1.Extender
		for _, verb := range strings.Fields(verbs) {
			verb, ignorable := strings.CutSuffix(verb, "?")
			configs = append(configs, configv1.Extender{URLPrefix: s.URL, FilterVerb: verb, NodeCacheCapable: true, Ignorable: ignorable})
		}
		return create(t, configs...)
	}
	for verbs, want := range map[string]string{
		"ab a":           "/ab /a: a; c Unschedulable ab; d Unschedulable ab; b Unschedulable a",
		"a? ab":          "/ab /a: a; c Unschedulable ab; d Unschedulable ab; b Unschedulable a",
		"broken? ab":     "/ab /broken: a b; c Unschedulable ab; d Unschedulable ab",
		"broken ab":      "/broken: error broken",
		"ab broken a":    "/ab /broken: error broken",
		"broken? broken": "/broken: error broken",
		"none ab": "/none: ; a UnschedulableAndUnresolvable ; b UnschedulableAndUnresolvable ; c UnschedulableAndUnresolvable ; " +
			"d UnschedulableAndUnresolvable ",
	} {
		c := cycleOf(t, pod("p", ""))
		s.paths()
		result := filtered(make(verbs), c)
		if got := strings.Join(s.paths(), " ") + ": " + result; got != want {
			t.Errorf("%s: got %q, want %q", verbs, got, want)
		}
	}
	var none *extender.Extenders
	if got := filtered(none, cycleOf(t, pod("p", ""))); got != "a b c d" || none.Filters() || none.Prioritizes() {
		t.Errorf("without extenders: %s", got)
	}
}

// TestManagedResources: extenders are called for pods that use one of their resources in any
// container.
func TestManagedResources(t *testing.T) {
	s := serve(t, map[string]string{"filter": `{"NodeNames": []}`, "rate": `[]`, "preempt": `{}`, "bind": `{}`})
	e := create(t, configv1.Extender{
		URLPrefix: s.URL, FilterVerb: "filter", PrioritizeVerb: "rate", PreemptVerb: "preempt", BindVerb: "bind", NodeCacheCapable: true,
		ManagedResources: []configv1.ExtenderManagedResource{{Name: "example.com/foo"}, {Name: "example.com/bar", IgnoredByScheduler: true}},
	})
	list := v1.ResourceList{"example.com/bar": resource.MustParse("0")}
	for name, test := range map[string]struct {
		change func(p *v1.Pod)
		asked  bool
	}{
		"nothing":  {func(*v1.Pod) {}, false},
		"another":  {requests("example.com/other"), false},
		"requests": {requests("example.com/foo"), true},
		"limits":   {func(p *v1.Pod) { p.Spec.Containers[0].Resources.Limits = list }, true},
		"of an init container": {func(p *v1.Pod) {
			p.Spec.InitContainers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: list}}}
		}, true},
	} {
		p := pod("p", "", test.change)
		c := cycleOf(t, p)
		s.paths()
		rows, _, _ := e.Filter(c, []uint32{0})
		e.Prioritize(c, []uint32{0})
		candidates, _ := e.ProcessPreemption(c, victims(c))
		_, status := e.Binder().Bind(&plugin.Placement{Context: t.Context(), Pod: p, Node: state.NewNode(node("a"))})
		got := s.paths()
		slices.Sort(got)
		want := ""
		if test.asked {
			want = "/bind /filter /preempt /rate"
		}
		if strings.Join(got, " ") != want || test.asked != (len(rows) == 0) || test.asked != (len(candidates) == 0) || test.asked != status.Success() {
			t.Errorf("%s: asked %v, rows %v, candidates %v, bind %v", name, got, rows, candidates, status.CodeOf())
		}
	}
	if got := extender.Ignored([]configv1.Extender{{}, {ManagedResources: []configv1.ExtenderManagedResource{{Name: "a"}, {Name: "b", IgnoredByScheduler: true}}}}); !slices.Equal(got, []string{"b"}) {
		t.Errorf("ignored are %v", got)
	}
}

// TestPrioritize: a score counts with the weight and the ratio of the scales; an extender that
// fails gives no scores.
func TestPrioritize(t *testing.T) {
	s := serve(t, map[string]string{
		"one": `[{"Host": "a", "Score": 3}, {"host": "c", "score": 10}, {"Host": "z", "Score": 9}, {"Host": "a", "Score": 1}]`,
		"two": `[{"Host": "b", "Score": -2}]`, "bad": `{"Host": "a"}`, "empty": `[]`, "null": `null`,
	})
	var configs []configv1.Extender
	for i, verb := range []string{"one", "two", "bad", "", "empty", "null"} {
		configs = append(configs, configv1.Extender{URLPrefix: s.URL, PrioritizeVerb: verb, Weight: int64(i + 1), NodeCacheCapable: i%2 == 0})
	}
	e := create(t, configs...)
	c := cycleOf(t, pod("p", ""))
	var got []string
	for _, scores := range e.Prioritize(c, []uint32{0, 1, 2}) {
		if scores.Name != s.URL {
			t.Errorf("the name is %s", scores.Name)
		}
		got = append(got, fmt.Sprintf("%d%v", scores.Weight, scores.Scores))
	}
	if want := "10[4 0 10] 20[0 -2 0] 50[0 0 0] 60[0 0 0]"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if !e.Prioritizes() || e.Filters() {
		t.Error("they prioritize and do not filter")
	}
}

// TestPreemption: which of the candidates b:w/0 and a:v1+v2/1 are left.
func TestPreemption(t *testing.T) {
	answers := map[string]string{
		"same":   `{"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "uid-v1"}, {"UID": "uid-v2"}], "NumPDBViolations": 1}, "b": {"Pods": [{"UID": "uid-w"}]}}}`,
		"less":   `{"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "uid-v2"}], "NumPDBViolations": 0}}}`,
		"other":  `{"NodeNameToMetaVictims": {"c": {"Pods": []}, "a": {"Pods": [{"UID": "uid-v2"}]}}}`,
		"order":  `{"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "uid-v2"}, {"UID": "uid-v1"}], "NumPDBViolations": 7}}}`,
		"nobody": `{"NodeNameToMetaVictims": {}}`,
		"where":  `{"NodeNameToMetaVictims": {"z": {"Pods": [{"UID": "uid-w"}]}}}`,
		"who":    `{"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "uid-w"}]}}}`,
		"null":   `{"NodeNameToMetaVictims": {"a": null}}`,
		"nulls":  `{"NodeNameToMetaVictims": {"a": {"Pods": [null]}}}`,
		"bad":    `[]`,
	}
	s := serve(t, answers)
	const notUsable = "error extender URL: bad: invalid answer: json: cannot unmarshal array into Go value of type v1.ExtenderPreemptionResult"
	for verbs, want := range map[string]string{
		"same":          "b:w/0 a:v1+v2/1",
		"less":          "a:v2/0",
		"order":         "a:v2+v1/7",
		"other":         `error expected at least one victim pod on node "c"`,
		"other?":        "a:v2/0",
		"nobody":        "",
		"nobody bad":    "",
		"less same":     "a:v1+v2/1 b:w/0", // it may add a node that another one removed
		"where":         `error extender URL: where: there is no node "z"`,
		"where?":        "b:w/0 a:v1+v2/1",
		"who":           `error extender URL: who: there is no pod with UID "uid-w" on node "a"`,
		"null":          `error expected at least one victim pod on node "a"`,
		"null?":         "",
		"nulls":         `error extender URL: nulls: there is no pod with UID "" on node "a"`,
		"bad less":      notUsable,
		"bad? less":     "a:v2/0",
		"less bad":      notUsable,
		"less bad?":     "a:v2/0",
		"notfound? bad": notUsable,
	} {
		var configs []configv1.Extender
		for i, verb := range strings.Fields(verbs) {
			verb, ignorable := strings.CutSuffix(verb, "?")
			configs = append(configs, configv1.Extender{URLPrefix: s.URL, PreemptVerb: verb, Ignorable: ignorable, NodeCacheCapable: i%2 == 0})
		}
		c := cycleOf(t, pod("p", ""))
		candidates, err := create(t, configs...).ProcessPreemption(c, victims(c))
		got := tell(c, candidates)
		if err != nil {
			got = "error " + strings.ReplaceAll(err.Error(), s.URL, "URL")
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", verbs, got, want)
		}
	}
	var none *extender.Extenders
	c := cycleOf(t, pod("p", ""))
	if candidates, err := none.ProcessPreemption(c, victims(c)); err != nil || len(candidates) != 2 {
		t.Errorf("without extenders: %v, %v", candidates, err)
	}
}

// TestBind: the extender that manages the pod binds it, after the pod is patched; a failure
// undoes the patch.
func TestBind(t *testing.T) {
	s := serve(t, map[string]string{"good": `{}`, "bad": `{"Error": "no such pod"}`})
	down := errors.New("api server is down")
	for name, test := range map[string]struct {
		verb      string
		ignorable bool
		patch     bool
		patcher   *patcher
		status    string
		log       string
	}{
		"bound":                  {verb: "good", status: "Success"},
		"fails":                  {verb: "bad", status: "Error no such pod"},
		"is ignored":             {verb: "bad", ignorable: true, status: "Skip"},
		"does not bind":          {status: "Skip"},
		"patched and bound":      {verb: "good", patch: true, patcher: &patcher{}, status: "Success", log: "patch p map[gpu:1]"},
		"patched and not bound":  {verb: "bad", patch: true, patcher: &patcher{}, status: "Error no such pod", log: "patch p map[gpu:1], undo, ended false"},
		"stays patched":          {verb: "bad", patch: true, patcher: &patcher{stay: down}, status: "Error no such pod\nundo the patch: api server is down", log: "patch p map[gpu:1], undo, ended false"},
		"not patched":            {verb: "good", patch: true, patcher: &patcher{fail: down}, status: "Error patch before the binding: api server is down", log: "patch p map[gpu:1]"},
		"no patcher":             {verb: "good", patch: true, status: "Error no patcher is configured, so an extender cannot bind a pod that plugins patch"},
		"ignored, patch is back": {verb: "bad", ignorable: true, patch: true, patcher: &patcher{}, status: "Skip", log: "patch p map[gpu:1], undo, ended false"},
	} {
		deps := extender.Deps{}
		if test.patcher != nil {
			deps.Patcher = test.patcher
		}
		e, err := extender.New([]configv1.Extender{{URLPrefix: s.URL, BindVerb: test.verb, Ignorable: test.ignorable}}, deps)
		if err != nil {
			t.Fatal(err)
		}
		placement := &plugin.Placement{Context: t.Context(), Pod: pod("p", "a"), Node: state.NewNode(node("a"))}
		if test.patch {
			placement.Patch.Annotations = map[string]string{"gpu": "1"}
		}
		_, status := e.Binder().Bind(placement)
		if got := strings.TrimSpace(fmt.Sprintf("%v %s", status.CodeOf(), status.Message())); got != test.status {
			t.Errorf("%s: status %q, want %q", name, got, test.status)
		}
		if test.patcher != nil && strings.Join(test.patcher.log, ", ") != test.log {
			t.Errorf("%s: patches %q, want %q", name, test.patcher.log, test.log)
		}
	}
}

// TestBinder: it provides the events for pods that extenders rejected: all of them.
func TestBinder(t *testing.T) {
	info := create(t, configv1.Extender{URLPrefix: "http://x"}).Binder().Info()
	if info.Name != extender.Name || len(info.Events) != 1 {
		t.Fatalf("it is %+v", info)
	}
	for resource, action := range map[state.EventResource]state.Action{
		state.NodeResource: state.Add, state.AssignedPodResource: state.Delete, state.UnscheduledPodResource: state.UpdateOther, state.CSINodeResource: state.Update,
	} {
		if !info.Events[0].Matches(state.ClusterEvent{Resource: resource, Action: action}) {
			t.Errorf("%s %d does not help", resource, action)
		}
	}
	if got := plugin.Points(create(t, configv1.Extender{URLPrefix: "http://x"}).Binder()); !slices.Equal(got, []abi.Point{abi.Bind}) {
		t.Errorf("it is at %v", got)
	}
}
