package whatif_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/sim/input"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/whatif"
)

func node(name, cpu string) *v1.Node {
	all := v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse("64Gi"), v1.ResourcePods: resource.MustParse("110")}
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{v1.LabelHostname: name}},
		Status:     v1.NodeStatus{Capacity: all, Allocatable: all},
	}
}

func pod(name, cpu string, priority int32, change ...func(*v1.Pod)) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}}
	p.Spec.Priority = &priority
	p.Spec.SchedulerName = v1.DefaultSchedulerName
	p.Spec.Containers = []v1.Container{{Name: "c", Image: "i", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}}}}
	for _, c := range change {
		c(p)
	}
	return p
}

func on(node string) func(*v1.Pod) { return func(p *v1.Pod) { p.Spec.NodeName = node } }

func ownedBy(kind string) func(*v1.Pod) {
	return func(p *v1.Pod) {
		controls := true
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: "owner", UID: "owner", Controller: &controls}}
	}
}

// full is a cluster of two nodes of 4 cores, the first of which is taken.
func full() *whatif.Cluster {
	c := &whatif.Cluster{
		Scheduler: assembly.Config{Scheduler: assembly.Default(), Seed: 1},
		Nodes:     []*v1.Node{node("a", "4"), node("b", "4")},
		Known:     input.Known{Kinds: input.KnownKinds()},
	}
	for _, p := range []*v1.Pod{
		pod("set", "2", 0, on("a"), ownedBy("ReplicaSet")), pod("agent", "1", 0, on("a"), ownedBy("DaemonSet")),
		pod("bare", "1", 0, on("a")), pod("foreign", "0", 0, on("a"), ownedBy("Job"), func(p *v1.Pod) { p.Spec.SchedulerName = "other" }),
	} {
		c.Bound = append(c.Bound, state.NewPod(p))
	}
	return c
}

func ask(t *testing.T, c *whatif.Cluster, r *whatif.Request) *whatif.Answer {
	t.Helper()
	r.APIVersion, r.Kind = whatif.APIVersion, whatif.RequestKind
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if r, err = whatif.Decode(t.Context(), text); err != nil {
		t.Fatal(err)
	}
	a, err := c.Ask(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// told writes an answer in a line.
func told(a *whatif.Answer) string {
	var out []string
	for _, list := range [][]whatif.Pod{a.Pods, a.Displaced} {
		for _, p := range list {
			line := strings.TrimSpace(fmt.Sprintf("%s %s %s", p.Name, p.Code, p.Node))
			if len(p.Victims) > 0 {
				line += fmt.Sprint(" for ", p.Victims)
			}
			for _, r := range p.Reasons {
				line += fmt.Sprintf(" (%d: %s by %s)", r.Nodes, strings.Join(r.Reasons, ", "), r.Plugin)
			}
			out = append(out, line)
		}
	}
	return strings.Join(out, "; ")
}

func TestAsk(t *testing.T) {
	for name, c := range map[string]struct {
		ask    whatif.Request
		change func(*whatif.Cluster)
		want   string
	}{
		"fits": {ask: whatif.Request{Pods: []whatif.Pods{{Pod: pod("p", "2", 0), Count: 2}}}, want: "p-0 Fits b; p-1 Fits b"},
		"does not fit": {
			ask:  whatif.Request{Pods: []whatif.Pods{{Pod: pod("p", "5", 0)}}},
			want: "p DoesNotFit (2: Insufficient cpu by NodeResourcesFit)",
		},
		"preempts": {
			ask:  whatif.Request{Pods: []whatif.Pods{{Pod: pod("p", "4", 5), Count: 2}}},
			want: "p-0 Fits b; p-1 FitsAfterPreemption a for [ns/agent ns/bare ns/set]",
		},
		"gated": {
			ask:  whatif.Request{Pods: []whatif.Pods{{Pod: pod("p", "1", 0, func(p *v1.Pod) { p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/g"}} })}}},
			want: "p Gated",
		},
		"added nodes": {
			ask:  whatif.Request{Pods: []whatif.Pods{{Pod: pod("p", "7", 0), Count: 2}}, AddNodes: []whatif.Nodes{{Node: node("large", "8"), Count: 2}}},
			want: "p-0 Fits large-0; p-1 Fits large-1", // each beside a pod of the DaemonSet
		},
		"a removed node's pods": {ask: whatif.Request{RemoveNodes: []string{"a"}}, want: "set Fits b"},
		"a nominated pod has its place": {
			ask: whatif.Request{Pods: []whatif.Pods{{Pod: pod("p", "2", 0)}}},
			change: func(c *whatif.Cluster) {
				c.Nominated = []*v1.Pod{pod("earlier", "4", 1, func(p *v1.Pod) { p.Status.NominatedNodeName = "b" })}
			},
			want: "p DoesNotFit (2: Insufficient cpu by NodeResourcesFit)",
		},
		"the nominated node is gone": {
			ask: whatif.Request{Pods: []whatif.Pods{{Pod: pod("p", "2", 0)}}, RemoveNodes: []string{"b"}, AddNodes: []whatif.Nodes{{Node: node("b", "3")}}}, // a core is the DaemonSet's
			change: func(c *whatif.Cluster) {
				c.Nominated = []*v1.Pod{pod("earlier", "4", 1, func(p *v1.Pod) { p.Status.NominatedNodeName = "b" })}
			},
			want: "p Fits b",
		},
		"a pod that ran is as good as new": {
			ask: whatif.Request{Pods: []whatif.Pods{{Pod: pod("p", "2", 0, on("a"), func(p *v1.Pod) {
				p.Status.Phase, p.DeletionTimestamp = v1.PodSucceeded, &metav1.Time{}
			})}}},
			want: "p Fits b",
		},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := full()
			if c.change != nil {
				c.change(cluster)
			}
			if got := told(ask(t, cluster, &c.ask)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestSummary: each pod of a removed node counts, and extenders are named but not asked.
func TestSummary(t *testing.T) {
	asked := false
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer server.Close()
	c := full()
	c.Scheduler.Scheduler.Extenders = []configv1.Extender{{URLPrefix: strings.Replace(server.URL, "://", "://user:secret@", 1), FilterVerb: "filter", Weight: 1}}
	a := ask(t, c, &whatif.Request{RemoveNodes: []string{"a"}, Pods: []whatif.Pods{{Pod: pod("p", "4", 0)}}})
	want := whatif.Summary{Pods: 2, Fit: 1, DoNotFit: 1, NodesUsed: 1, Lost: 2, OfOtherSchedulers: 1}
	if a.Summary != want || a.Nodes != 1 {
		t.Errorf("summary %+v of %d nodes, want %+v of 1", a.Summary, a.Nodes, want)
	}
	if asked || len(a.NotAsked) != 1 || strings.Contains(a.NotAsked[0], "secret") {
		t.Errorf("the extender was asked: %t; named: %q", asked, a.NotAsked)
	}
}

// TestUnchanged: a question changes nothing of the cluster.
func TestUnchanged(t *testing.T) {
	c, same := full(), full()
	for range 2 {
		ask(t, c, &whatif.Request{RemoveNodes: []string{"b"}, Pods: []whatif.Pods{{Pod: pod("p", "4", 5), Count: 3}}, AddNodes: []whatif.Nodes{{Node: node("new", "4"), Count: 2}}})
	}
	for i := range c.Nodes {
		if !reflect.DeepEqual(c.Nodes[i], same.Nodes[i]) {
			t.Errorf("node %s has changed", c.Nodes[i].Name)
		}
	}
	for i := range c.Bound {
		if !reflect.DeepEqual(c.Bound[i].Object, same.Bound[i].Object) {
			t.Errorf("pod %s has changed", c.Bound[i].Name)
		}
	}
}

func TestRefused(t *testing.T) {
	const head = `{"apiVersion":"berth.dev/v1alpha1","kind":"WhatIfRequest",`
	const template = `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}`
	for text, want := range map[string]string{
		`{}`:               "apiVersion and kind are \"\" and \"\"",
		head + `"pod":[]}`: `unknown field "pod"`,
		head + `"pods":[{"pod":` + template + `}]} {}`:                                                 "more text follows the value",
		head + `"pods":[{"count":1}]}`:                                                                 "pods[0].pod: it is missing",
		head + `"pods":[{"pod":` + template + `,"count":-1}]}`:                                         "pods[0].count: -1 is negative",
		head + `"pods":[{"pod":` + template + `,"count":9000},{"pod":` + template + `,"count":9000}]}`: "pods[1].count: with 9000 there are more than 10000",
		head + `"pods":[{"pod":` + template + `}],"addNodes":[{"node":{"metadata":{"name":"n","annotations":{"a":"` + strings.Repeat("a", 30<<10) + `"}}},"count":9000}]}`: "with their counts, the pods and nodes have 27",
		head + `"pods":[{"pod":` + strings.Replace(template, `"name":"p"`, `"name":"p","annotations":{"a":"`+strings.Repeat("a", 30<<10)+`"}`, 1) + `,"count":9000}]}`:     "with their counts, the pods and nodes have 27",
		head + `"services":[{}` + strings.Repeat(",{}", 500_000) + `],"pods":[{"pod":` + template + `}]}`:                                                                  "the values up to here take more than 128 MiB of memory",
		head + `"pods":[{"pod":{"metadata":{"name":"P"},"spec":{"containers":[{"name":"c"}]}}}]}`:                                                                          `pods[0].pod: metadata.name: "P" is not a valid name`,
		head + `"pods":[{"pod":` + strings.Replace(template, `"spec":{`, `"spec":{"priorityClassName":"x",`, 1) + `}]}`:                                                    "pods[0].pod: spec.priorityClassName: there is no priorityclass \"x\"",
		head + `"pods":[{"pod":` + template + `}],"removeNodes":["z"]}`:                                                                                                    `removeNodes[0]: the cluster has no node "z"`,
		head + `"pods":[{"pod":` + template + `}],"addNodes":[{"node":{"metadata":{"name":"a"}}}]}`:                                                                        `addNodes[0]: there is a node "a" already`,
		head + `"pods":[{"pod":` + strings.Replace(template, `"spec":{`, `"spec":{"schedulerName":"x",`, 1) + `}]}`:                                                        `pods[0].pod: pod default/p: spec.schedulerName: no profile is named "x"`,
		head + `"persistentVolumeClaims":[null],"pods":[{"pod":` + template + `}]}`:                                                                                        "persistentVolumeClaims[0]: it is missing",
	} {
		r, err := whatif.Decode(t.Context(), []byte(text))
		if err == nil {
			_, err = full().Ask(t.Context(), r)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.1000s: got %v, want %s", text, err, want)
		}
	}
}

// TestMistakes: no more mistakes are named, and looked for, than somebody reads.
func TestMistakes(t *testing.T) {
	for _, list := range []string{`"pods":[{}`, `"addNodes":[{}`, `"services":[null`, `"pods":[{"pod":{}}`} {
		_, item, _ := strings.Cut(list, "[")
		const head = `{"apiVersion":"berth.dev/v1alpha1","kind":"WhatIfRequest",`
		_, err := whatif.Decode(t.Context(), []byte(head+list+strings.Repeat(","+item, whatif.MaxPods+10)+"]}"))
		if err == nil || strings.Count(err.Error(), "\n") > 50 {
			t.Errorf("%s: %.300v", list, err)
		}
	}
}

// TestHandler: one question at a time, and each mistake has its status.
func TestHandler(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	h := whatif.Handler(func(ctx context.Context, r *whatif.Request) (*whatif.Answer, error) {
		switch r.Pods[0].Pod.Name {
		case "slow":
			close(begun)
			<-release
		case "broken":
			return nil, fmt.Errorf("no plugin\x1b could be made")
		case "panics":
			return (&whatif.Cluster{}).Ask(ctx, r) // it has no profiles at all
		}
		return full().Ask(ctx, r)
	})
	post := func(text string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(text)))
		return w
	}
	question := func(name, more string) string {
		return `{"apiVersion":"berth.dev/v1alpha1","kind":"WhatIfRequest",` + more + `"pods":[{"pod":{"metadata":{"name":"` + name + `"},"spec":{"containers":[{"name":"c","image":"i"}]}}}]}`
	}
	done := make(chan *httptest.ResponseRecorder)
	go func() { done <- post(question("slow", "")) }()
	<-begun
	if w := post(question("p", "")); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" {
		t.Errorf("a second question: status %d", w.Code)
	}
	close(release)
	var a whatif.Answer
	if w := <-done; w.Code != http.StatusOK || json.Unmarshal(w.Body.Bytes(), &a) != nil || told(&a) != "slow Fits b" {
		t.Errorf("the first question: status %d, %s", w.Code, w.Body)
	}
	for text, want := range map[string]int{
		question("p", ""):                     http.StatusOK,
		question("p", `"removeNodes":["z"],`): http.StatusBadRequest,
		"{":                                   http.StatusBadRequest,
		strings.Repeat(" ", whatif.MaxSize+1): http.StatusRequestEntityTooLarge,
		question("broken", ""):                http.StatusServiceUnavailable,
		question("panics", ""):                http.StatusServiceUnavailable,
		strings.Replace(question("p", ""), `"spec":{`, `"spec":{"schedulerName":"unknown",`, 1): http.StatusBadRequest,
	} {
		if w := post(text); w.Code != want || strings.Contains(w.Body.String(), "\x1b") {
			t.Errorf("%.90s: status %d, want %d: %s", text, w.Code, want, w.Body)
		}
	}
}

// TestTooLarge: a client that sends too much over a connection sees the answer, although it is still sending when the handler knows.
func TestTooLarge(t *testing.T) {
	server := httptest.NewServer(whatif.Handler(full().Ask))
	defer server.Close()
	for _, size := range []int64{whatif.MaxSize + 1, 3 * whatif.MaxSize} {
		body := io.LimitReader(spaces{}, size)
		response, err := server.Client().Post(server.URL, "application/json", body)
		if err != nil {
			t.Errorf("%d bytes: %v", size, err)
			continue
		}
		said, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(string(said), "ask about fewer pods at a time") {
			t.Errorf("%d bytes: status %d, %q, %v", size, response.StatusCode, said, err)
		}
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
	}
}

// spaces are without end.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// deadlined is a response whose request has a deadline.
type deadlined struct {
	*httptest.ResponseRecorder
	lifted bool
}

func (d *deadlined) SetReadDeadline(at time.Time) error {
	d.lifted = at.IsZero()
	return nil
}

// TestSlowQuestion: a client that sends a question slowly does not block others, and has no more time than the server allows. The answer
// may take longer.
func TestSlowQuestion(t *testing.T) {
	cluster := full()
	handler := whatif.Handler(cluster.Ask)
	const question = `{"apiVersion":"berth.dev/v1alpha1","kind":"WhatIfRequest","removeNodes":["a"]}`
	body, sent := io.Pipe()
	slow, done := &deadlined{ResponseRecorder: httptest.NewRecorder()}, make(chan struct{})
	go func() {
		defer close(done)
		handler.ServeHTTP(slow, httptest.NewRequest(http.MethodPost, "/", body))
	}()
	if _, err := io.WriteString(sent, question[:9]); err != nil {
		t.Fatal(err)
	}
	quick := &deadlined{ResponseRecorder: httptest.NewRecorder()}
	if handler.ServeHTTP(quick, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(question))); quick.Code != http.StatusOK || !quick.lifted || slow.lifted {
		t.Errorf("status %d, deadline lifted: %v, of the slow one: %v", quick.Code, quick.lifted, slow.lifted)
	}
	if _, err := io.WriteString(sent, question[9:]); err != nil {
		t.Fatal(err)
	}
	if err := sent.Close(); err != nil {
		t.Fatal(err)
	}
	if <-done; slow.Code != http.StatusOK || !slow.lifted {
		t.Errorf("status %d, deadline lifted: %v", slow.Code, slow.lifted)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"apiVersion":"berth.dev/v1alpha1","kind":"WhatIfRequest","removeNodes":["b"],"pods":[{"pod":{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"2"}}}]}},"count":2}],"addNodes":[{"node":{"metadata":{"name":"n"},"status":{"capacity":{"cpu":"4","pods":"9"}}},"count":2}]}`))
	f.Add([]byte(`{"apiVersion":"berth.dev/v1alpha1","kind":"WhatIfRequest","pods":[{"pod":{"metadata":{"name":"p"},"spec":{"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c"}}],"containers":[{"name":"c","image":"i"}]}}}],"persistentVolumeClaims":[{"metadata":{"name":"c"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := whatif.Decode(t.Context(), text)
		if err != nil {
			return
		}
		pods, nodes := 0, 0
		for _, p := range r.Pods {
			pods += p.Count
		}
		for _, n := range r.AddNodes {
			nodes += n.Count
		}
		if pods > whatif.MaxPods || nodes > whatif.MaxNodes {
			t.Fatalf("%d pods and %d nodes are too many", pods, nodes)
		}
		if pods+nodes > 200 {
			return // only slow
		}
		a, err := full().Ask(t.Context(), r)
		if err != nil {
			return
		}
		if s := a.Summary; s.Pods != len(a.Pods)+len(a.Displaced) || s.Pods != s.Fit+s.FitAfterPreemption+s.DoNotFit+s.Gated+s.Bound || len(a.Pods) != pods {
			t.Fatalf("%d pods were asked about: %+v", pods, s)
		}
		for _, p := range a.Pods {
			if (p.Node != "") != (p.Code == whatif.Fits || p.Code == whatif.FitsAfterPreemption) || p.Node == "" && p.Message == "" {
				t.Fatalf("%+v contradicts itself", p)
			}
		}
	})
}

// TestBombs: a question of the most bytes whose objects take much memory is refused before they are made.
func TestBombs(t *testing.T) {
	const head = `{"apiVersion":"berth.dev/v1alpha1","kind":"WhatIfRequest",`
	for name, parts := range map[string][2]string{
		"claims that are numbers":     {head + `"pods":[],"daemonSets":[{"spec":{"template":{"spec":{"containers":[`, `0,`},
		"containers that are nothing": {head + `"pods":[{"pod":{"spec":{"containers":[`, `null,`},
		"claims of nothing":           {head + `"resourceClaims":[`, `{},`},
		"claims of null":              {head + `"pods":[{"pod":{"spec":{"volumes":[`, `null,`},
		"pods of nothing":             {head + `"pods":[{"pod":{}},{"pod":`, `{}},{"pod":`},
		"labels":                      {head + `"pods":[{"pod":{"metadata":{"managedFields":[`, `{},`},
	} {
		t.Run(name, func(t *testing.T) {
			text := parts[0] + strings.Repeat(parts[1], (whatif.MaxSize-len(parts[0]))/len(parts[1]))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := whatif.Decode(t.Context(), []byte(text))
			runtime.ReadMemStats(&after)
			if err == nil {
				t.Error("the question is accepted")
			}
			// Tokens are garbage at once, and are no more than some 40 bytes for each of the text's.
			if made := after.TotalAlloc - before.TotalAlloc; made > 2*whatif.MaxDecoded+32<<20 {
				t.Errorf("%d MiB are allocated for a question of %d", made>>20, len(text)>>20)
			}
		})
	}
}

// TestManyCopies: what copies of a pod have in common is not made for each of them.
func TestManyCopies(t *testing.T) {
	const copies, terms = 2000, 480
	template := pod("p", "1", 0)
	anti := &v1.PodAntiAffinity{}
	for i := range terms {
		anti.RequiredDuringSchedulingIgnoredDuringExecution = append(anti.RequiredDuringSchedulingIgnoredDuringExecution, v1.PodAffinityTerm{
			TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": fmt.Sprint(i)}},
		})
	}
	template.Spec.Affinity = &v1.Affinity{PodAntiAffinity: anti}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	answer := ask(t, full(), &whatif.Request{Pods: []whatif.Pods{{Pod: template, Count: copies}}})
	runtime.ReadMemStats(&after)
	if len(answer.Pods) != copies {
		t.Errorf("%d answers", len(answer.Pods))
	}
	// A term takes some 500 bytes.
	if made := (after.TotalAlloc - before.TotalAlloc) / copies; made > terms*100 {
		t.Errorf("%d KiB are allocated for each copy", made>>10)
	}
}
