package berthtest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/berthtest"
)

// noting is a testing.TB that keeps notes, too.
type noting struct {
	recorder
	notes []string
}

func (n *noting) Logf(format string, args ...any) {
	n.notes = append(n.notes, fmt.Sprintf(format, args...))
}

// played runs a scenario, and returns its failures and notes without the folder of the file.
func played(t *testing.T, text string, plugin berthtest.Factory) (failed, noted string) {
	file := filepath.Join(t.TempDir(), "nodes.txt")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	n, done := &noting{recorder: recorder{TB: t}}, make(chan struct{})
	go func() {
		defer close(done)
		berthtest.Scenario(n, file, []byte(frailManifest), plugin, berthtest.Options{})
	}()
	<-done
	clean := func(all []string) string { return strings.ReplaceAll(strings.Join(all, "\n"), file, "nodes.txt") }
	return clean(n.errors), clean(n.notes)
}

// TestScenarioMistakes: a line that cannot be read is reported with its number, the word, and what
// to write.
func TestScenarioMistakes(t *testing.T) {
	const commands = "change, config, delete, hint, namespace, node, nominated, now, pending, pod, pre_enqueue, published, queue_key, schedule, timeout, try"
	for line, want := range map[string]string{
		"frobnicate":                             "unknown command: frobnicate; known are " + commands,
		"tray default/web":                       `unknown command: tray; did you mean "try"?`,
		"node a label=x:y":                       `unknown field of a node: label; did you mean "labels"?`,
		"node a colour=x":                        "unknown field of a node: colour; known are allocatable, annotations, capacity, conditions, createdAt, feeds, images, labels, object, objects, requestedSince, stale, taints, unschedulable",
		"node a allocatable=memory:8Gi":          `allocatable: memory: "8Gi" is not a whole number of 64 bits: write milli-CPU, bytes or a count, such as cpu:500 or memory:1073741824`,
		"try default/web requests=cpu:500m":      `requests: cpu: "500m" is not a whole number of 64 bits: write milli-CPU, bytes or a count, such as cpu:500 or memory:1073741824`,
		"try default/web request=cpu:500":        `unknown field of a pod: request; did you mean "requests"?`,
		"try default/web withuot=a/b":            `unknown field of a pod: withuot; did you mean "without"?`,
		"try default/web priority=high":          `priority: "high" is not a whole number of 32 bits`,
		"try default/web hostPorts=http":         "hostPorts: http: want a port number",
		"now":                                    "now needs a time, in seconds since 1970",
		"now -1":                                 "now needs a time in seconds since 1970, not -1",
		"now soon":                               "now needs a time in seconds since 1970, not soon",
		"try a/b containers=\"a app\"":           `containers: "a app": want name, kind and image`,
		"try a/b containers=\"a job x\"":         `containers: "job" is none of app, init, sidecar`,
		"try a/b containers=\"a app x cpu\"":     `containers: "cpu": want resource:request/limit`,
		"try a/b containers=\"a app x cpu:1/y\"": `containers: "y" is not a whole number of 64 bits`,
		"namespace a label=x:y":                  `unknown field of a namespace: label; did you mean "labels"?`,
		"hint Node UpdateNodeLabels":             `unknown action: UpdateNodeLabels; did you mean "UpdateNodeLabel"?`,
		"hint Nodes Add":                         `unknown resource: Nodes; did you mean "Node"?`,
		"hint Node Add\n  - a":                   "an event has old and new, not -; leave out what it does not have",
		"node a taints=x":                        `taints: "" is none of NoSchedule, PreferNoSchedule, NoExecute`,
		"node a taints=x:y:Never":                `taints: "Never" is none of NoSchedule, PreferNoSchedule, NoExecute`,
		"node a conditions=Ready:true":           `conditions: "true" is none of True, False, Unknown`,
		"try a/b tolerations=x:y:Never":          `tolerations: "Never" is none of NoSchedule, PreferNoSchedule, NoExecute`,
		"node a labels=app=web":                  "labels: app=web: want key:value",
		"namespace a labels=app=web":             "labels: app=web: want key:value",
		"schedule a/b on=x":                      `there is no node "x"`,
		"try a/b rejected=x":                     `there is no node "x"`,
		"change a":                               "change needs the name of a node or a pod, and fields",
		"change a labels=":                       `there is no node "a"`,
		"change a/b labels=":                     "there is no pod a/b",
		"change a/b node=c":                      "the node of a pod does not change: delete the pod, and add it again",
		"delete a":                               "there is no node a",
		"node a unschedulable=no":                `unschedulable: "no" is neither true nor false`,
		"try a/b without=a/x":                    "there is no pod a/x on a node",
		"---":                                    "---: answers begin with ----, directly below a line that has some",
		"config {":                               "configuration refused: invalid JSON: the text ends too early\nif that is right, write it below ----",
	} {
		if failed, _ := played(t, line+"\n", berthtest.Native(newFrail(""))); failed != "nodes.txt:1: "+want {
			t.Errorf("%s: got %s, want %s", line, failed, want)
		}
	}
}

// TestScenarioClusters: what is twice in a cluster, and a file that tests nothing, are mistakes.
func TestScenarioClusters(t *testing.T) {
	for text, want := range map[string]string{
		"node a\nnode a\n":                         `nodes.txt:2: there is a node "a" already`,
		"node a\npod x/y node=a\npod x/y node=a\n": "nodes.txt:3: there is a pod x/y already",
		"":                                       "nodes.txt: nothing is tested: write lines such as try default/web, and the answers below ----",
		"config {}\nnode a\n# try default/web\n": "nodes.txt: nothing is tested: write lines such as try default/web, and the answers below ----",
	} {
		if failed, _ := played(t, text, berthtest.Native(newFrail(""))); failed != want {
			t.Errorf("%q: got %s, want %s", text, failed, want)
		}
	}
}

// TestScenarioRewrites: what a file gets as its answers passes afterwards, also where a command follows at once.
func TestScenarioRewrites(t *testing.T) {
	file := filepath.Join(t.TempDir(), "nodes.txt")
	if err := os.WriteFile(file, []byte("node a\ntry default/web\ntry default/db\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, rewrite := range []bool{true, false} {
		berthtest.Scenario(t, file, []byte(frailManifest), berthtest.Native(newFrail("")), berthtest.Options{Rewrite: rewrite})
	}
	want := "node a\ntry default/web\n----\na Success 0\n\ntry default/db\n----\na Success 0\n"
	if text, err := os.ReadFile(file); err != nil || string(text) != want {
		t.Errorf("got %q, %v", text, err)
	}
}

// TestScenarioOfOtherEditors: a byte order mark and carriage returns at the ends of lines mean nothing.
func TestScenarioOfOtherEditors(t *testing.T) {
	text := "\ufeffconfig {}\nnode a\ntry default/web\n----\na Success 0\n"
	if failed, _ := played(t, strings.ReplaceAll(text, "\n", "\r\n"), berthtest.Native(newFrail(""))); failed != "" {
		t.Error(failed)
	}
}

// TestRetryAtFilter: a request for another attempt at a point where a host does not look for it is told.
func TestRetryAtFilter(t *testing.T) {
	failed, _ := played(t, "node a\ntry default/web\n----\na Success 0\n", berthtest.Native(newFrail("retries at filter")))
	if !strings.Contains(failed, "call RetryAfter at preEnqueue, preFilter, reserve or permit (ABI-5.22)") {
		t.Errorf("got %q", failed)
	}
}

// TestNoTime: a file that does not say the time is noted once if the manifest reads it.
func TestNoTime(t *testing.T) {
	const manifest = `{"name": "timed", "version": "1.0.0", "abi": "1.1", "points": {"filter": {}}, "reads": {"pod": ["now"], "resolution": ["1s"]}}`
	for text, want := range map[string]string{
		"node a\ntry default/web\n----\na Success 0\n\ntry default/db\n----\na Success 0\n": "nodes.txt:2: the manifest reads pod: now, and the time is 0, " +
			"in 1970: set it below config by a line such as now 1767323045",
		"now 1767323045\nnode a\ntry default/web\n----\na Success 0\n": "",
	} {
		file := filepath.Join(t.TempDir(), "nodes.txt")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		n := &noting{recorder: recorder{TB: t}}
		berthtest.Scenario(n, file, []byte(manifest), berthtest.Native(func() *timed { return &timed{berth.Load([]byte(manifest))} }), berthtest.Options{})
		if noted := strings.ReplaceAll(strings.Join(n.notes, "\n"), file, "nodes.txt"); noted != want || len(n.errors) > 0 {
			t.Errorf("noted %q, want %q; %v", noted, want, n.errors)
		}
	}
}

// timed is a plugin whose manifest reads the time.
type timed struct{ berth.Base }

// Filter accepts every node.
func (*timed) Filter(berth.Pod, berth.Node) berth.Status { return berth.Success }

// TestScenarioNotes: a key that is almost one of the manifest's is noted once, and others are not.
func TestScenarioNotes(t *testing.T) {
	_, noted := played(t, `config {}
node a labels=rack:r,zone:z allocatable=cpu:1000
node b labels=rak:r allocatable=cpus:1000
node c labels=k:r,example.com/a:r,exmaple.com/zone:z
pod default/a node=a labels=ap:x,tier:y
try default/web labels=ap:x requests=cpus:500
----
a Success 0
b Success 0
c Success 0
`, berthtest.Native(newFrail("")))
	want := `nodes.txt:3: the manifest's reads.nodeLabels does not list rak, so the plugin does not see it; did you mean "rack"?
nodes.txt:3: the manifest's reads.resources does not list cpus, so the plugin does not see it; did you mean "cpu"?
nodes.txt:4: the manifest's reads.nodeLabels does not list exmaple.com/zone, so the plugin does not see it; did you mean "example.com/zone"?
nodes.txt:5: the manifest's reads.podLabels does not list ap, so the plugin does not see it; did you mean "app"?`
	if noted != want {
		t.Errorf("got\n%s\nwant\n%s", noted, want)
	}
}

// TestResourcesNoNodeHas: a resource that no node has is noted if any pod requests it, or if the manifest reads its capacity.
func TestResourcesNoNodeHas(t *testing.T) {
	const tried = "try default/web\n----\na Success 0\n"
	for text, want := range map[string]string{
		"node a\npod default/on node=a requests=a/b:1\n" + tried:                                    "",
		"node a allocatable=cpu:9\npod default/on node=a requests=a/b:1\n" + tried:                  "nodes.txt:3: default/on requests a/b, and no node has it",
		"node a allocatable=cpu:9\nnominated default/soon node=a requests=a/b:1\n" + tried:          "nodes.txt:3: default/soon requests a/b, and no node has it",
		"node a allocatable=memory:9\n" + tried:                                                     "nodes.txt: the plugin reads allocatable of cpu, and no node has it",
		"node a allocatable=memory:9\n" + tried + "\nconfig {}\nnode a allocatable=cpu:9\n" + tried: "",
	} {
		if failed, noted := played(t, text, berthtest.Native(newFrail(""))); noted != want || failed != "" {
			t.Errorf("%s: noted %q, want %q; %s", text, noted, want, failed)
		}
	}
}

// TestTrapAtStart: a plugin that traps before the first line is read is not reported as line 0.
func TestTrapAtStart(t *testing.T) {
	failed, _ := played(t, "config {}\n", func(berth.Host) berthtest.Guest { panic(&berthtest.Trap{Err: fmt.Errorf("no manifest")}) })
	if failed != "nodes.txt: the plugin trapped at its start: no manifest" {
		t.Error(failed)
	}
}

// TestDifferencesAreToldOnce: a plugin that keeps something between calls is told what it must not
// do, once for each way to ask it.
func TestDifferencesAreToldOnce(t *testing.T) {
	failed, _ := played(t, "node a labels=rack:r\nnode b labels=rack:r\nnode c labels=rack:r\ntry default/web\n----\na Success 0\nb Unschedulable: no\nc Unschedulable: no\n",
		berthtest.Native(newFrail("remembers")))
	if n := strings.Count(failed, "rows split over calls, each in a fresh instance"); n != 1 {
		t.Errorf("told %d times: %s", n, failed)
	}
	if !strings.Contains(failed, ": keep nothing between calls that changes an answer (ABI-2.8)") && !strings.Contains(failed, "a point of scope node judges a node by nothing but") {
		t.Errorf("no rule: %s", failed)
	}
}

// careful is a plugin that requires a feed of two that it reads.
type careful struct {
	berth.Base
	load berth.Feed
}

const carefulManifest = `{
	"name": "careful", "version": "1.0.0", "abi": "1.1", "points": {"filter": {"scope": "node"}, "preEnqueue": {}},
	"reads": {"feeds": ["heat:x", "load:x"], "requiredFeeds": ["load:x"]}
}`

func newCareful() *careful {
	b := berth.Load([]byte(carefulManifest))
	return &careful{b, b.Feed("load:x")}
}

// Filter fails where the feed says nothing: it is not called while no node has a value of it.
func (p *careful) Filter(_ berth.Pod, node berth.Node) berth.Status {
	if node.FeedState(p.load) != berth.FeedFresh {
		return berth.Error(p.Reason("called without a value"))
	}
	return berth.Success
}

// PreEnqueue admits all pods.
func (*careful) PreEnqueue(berth.Pod) berth.Status { return berth.Success }

// TestRequiredFeeds: pods are held back while no node has a fresh value of a required feed, and of that only.
func TestRequiredFeeds(t *testing.T) {
	const held = "held back: no node has a fresh value of the required feed load:x"
	for nodes, want := range map[string][3]string{
		"": {held, held, held},
		"node a feeds=heat:x:1\nnode b feeds=load:x:1 stale=load:x": {held, held, held},
		"node a feeds=load:x:0 stale=heat:x":                        {"a Success 0", "default/web Success", "a Success 0\nbound to a"},
		"node a feeds=load:x:0\nnode b":                             {"a Success 0\nb Error: called without a value", "default/web Success", ""},
	} {
		for i, command := range []string{"try default/web", "pre_enqueue", "schedule default/web"} {
			if want[i] == "" {
				continue
			}
			text := fmt.Sprintf("config {}\n%s\npending default/web\n\n%s\n----\n%s\n", nodes, command, want[i])
			file := filepath.Join(t.TempDir(), "nodes.txt")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			berthtest.Scenario(t, file, []byte(carefulManifest), berthtest.Native(newCareful), berthtest.Options{})
		}
	}
}

// TestScenarioChanges: nodes and pods change and go, and other fields stay.
func TestScenarioChanges(t *testing.T) {
	const text = `node a feeds=load:x:1 labels=zone:a
node b
pending default/job

try default/job
----
a Success 0
b Error: called without a value

change b feeds=load:x:2
change a labels=
change default/job labels=app:web priority=7

try default/job
----
a Success 0
b Success 0

change a stale=load:x
change a stale=
schedule default/job on=a
----
a Success 0
b Success 0
bound to a

change default/job running
delete a
try default/web
----
b Success 0
`
	file := filepath.Join(t.TempDir(), "nodes.txt")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	trial, _ := berthtest.Scenario(t, file, []byte(carefulManifest), berthtest.Native(newCareful), berthtest.Options{})
	if len(trial.Nodes) != 1 || trial.Nodes[0].Feeds["load:x"] != 2 || len(trial.Pending) != 0 {
		t.Errorf("nodes %+v, pending %+v", trial.Nodes, trial.Pending)
	}
}

// TestScenarioWithoutFiles: what only berth plugin test can read is left out, up to the next configuration, with a note.
func TestScenarioWithoutFiles(t *testing.T) {
	const text = "node a\ntry default/web\n----\na Success 0\n\nconfig {}\nnode a object=node.yaml\ntry default/web\n----\nwrong\n\n" +
		"config {}\nnode b\ntry default/web\n----\nb Success 0\n"
	const want = "nodes.txt:7: only berth plugin test reads object=FILE: the lines to the next config are left out"
	if failed, noted := played(t, text, berthtest.Native(newFrail(""))); noted != want || failed != "" {
		t.Errorf("noted %q, want %q; %s", noted, want, failed)
	}
}

// TestScenarioAmounts: an amount in another unit than the others, and a verdict without a reason, are noted.
func TestScenarioAmounts(t *testing.T) {
	const try = "try default/web\n----\n"
	for text, want := range map[string]string{
		"node a allocatable=cpu:1\nnode b allocatable=cpu:4000\n" + try + "a Success 0\nb Success 0\n": "nodes.txt:1: allocatable=cpu:1 is 1 milli-CPU, " +
			"and all other amounts of cpu in the file are at least 4000; one CPU is cpu:1000",
		"node a allocatable=cpu:2\npod default/db node=a requests=cpu:500\n" + try + "a Success 0\n": "nodes.txt:1: allocatable=cpu:2 is 2 milli-CPU, " +
			"and all other amounts of cpu in the file are at least 500; one CPU is cpu:1000",
		"node a allocatable=cpu:1000,memory:16\nnode b allocatable=memory:16777216\n" + try + "a Success 0\nb Success 0\n": "nodes.txt:1: " +
			"allocatable=memory:16 is 16 bytes, and all other amounts of memory in the file are at least 16777216; 1 GiB is memory:1073741824",
		"node a allocatable=cpu:41\nnode b allocatable=cpu:4000\n" + try + "a Success 0\nb Success 0\n":          "",
		"node a allocatable=cpu:1000,pods:1\nnode b allocatable=pods:900\n" + try + "a Success 0\nb Success 0\n": "",
	} {
		if failed, noted := played(t, text, berthtest.Native(newFrail(""))); noted != want || failed != "" {
			t.Errorf("%s: noted %q, want %q; %s", text, noted, want, failed)
		}
	}
}

// TestScenarioReasons: a verdict that rejects without a reason is noted once.
func TestScenarioReasons(t *testing.T) {
	want := "nodes.txt:4: the plugin says Unschedulable of a without a reason, so nobody learns why the pod waits: give one"
	text := "node a allocatable=cpu:1000\nnode b allocatable=cpu:1000\n\ntry default/web\n----\na Unschedulable\nb Unschedulable\n\ntry default/web\n----\na Unschedulable\nb Unschedulable\n"
	if failed, noted := played(t, text, berthtest.Native(newFrail("mute"))); noted != want || failed != "" {
		t.Errorf("noted %q, want %q; %s", noted, want, failed)
	}
}

// TestScenarioInstances: a plugin that answers otherwise in another instance is told so once, and not what follows from that.
func TestScenarioInstances(t *testing.T) {
	made := 0
	plugin := func(host berth.Host) berthtest.Guest {
		mistake := ""
		if made++; made > 3 {
			mistake = "mute"
		}
		return berth.NewNative(newFrail(mistake)(), host)
	}
	const want = `nodes.txt:2: frail: one call in one instance gives "a Success 0", but with another instance it gives "a Unschedulable": ` +
		"ask no clock, draw no random numbers, and keep nothing that other instances have too: a host has many, whose clocks tell nothing (ABI-1.4, ABI-2.8)"
	if failed, _ := played(t, "node a\ntry default/web\n----\na Success 0\n", plugin); failed != want {
		t.Errorf("got %s, want %s", failed, want)
	}
}

// TestScenarioPanics: a plugin that panics natively is told with its own part of the stack.
func TestScenarioPanics(t *testing.T) {
	failed, _ := played(t, "node a\ntry default/web\n----\na Success 0\n", berthtest.Native(newFrail("panics")))
	lines := strings.Split(strings.TrimSpace(failed), "\n")
	if len(lines) != 3 || lines[0] != "nodes.txt:2: the plugin trapped: panic: panics" || !strings.Contains(lines[1], "berthtest_test.(*frail).Filter(") ||
		!strings.Contains(lines[2], "hostile_test.go:") {
		t.Errorf("got %s", failed)
	}
}

// TestScenarioAlone: a plugin of scope node that looks at other nodes is told so, and not what follows from that.
func TestScenarioAlone(t *testing.T) {
	const want = `nodes.txt:3: frail: one call in one instance gives "a Unschedulable: no", but with an instance that has no other node it gives "a Success": ` +
		"a point of scope node judges a node by nothing but the pod, this node and the configuration; one that compares nodes has scope cluster (ABI-5.4)"
	if failed, _ := played(t, "node a\nnode b\ntry default/web\n----\na Success 0\nb Success 0\n", berthtest.Native(newFrail("compares"))); failed != want {
		t.Errorf("got %s, want %s", failed, want)
	}
}
