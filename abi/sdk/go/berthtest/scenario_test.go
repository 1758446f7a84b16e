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
		berthtest.Scenario(n, file, []byte(frailManifest), plugin, false)
	}()
	<-done
	clean := func(all []string) string { return strings.ReplaceAll(strings.Join(all, "\n"), file, "nodes.txt") }
	return clean(n.errors), clean(n.notes)
}

// TestScenarioMistakes: a line that cannot be read is reported with its number, the word, and what
// to write.
func TestScenarioMistakes(t *testing.T) {
	const commands = "config, delete, hint, namespace, node, nominated, pending, pod, pre_enqueue, published, queue_key, schedule, timeout, try"
	for line, want := range map[string]string{
		"frobnicate":                        "unknown command: frobnicate; known are " + commands,
		"tray default/web":                  `unknown command: tray; did you mean "try"?`,
		"node a label=x:y":                  `unknown field of a node: label; did you mean "labels"?`,
		"node a colour=x":                   "unknown field of a node: colour; known are allocatable, annotations, capacity, conditions, createdAt, feeds, images, labels, requestedSince, stale, taints, unschedulable",
		"node a allocatable=memory:8Gi":     `allocatable: memory: "8Gi" is not a whole number of 64 bits: write milli-CPU, bytes or a count, such as cpu:500 or memory:1073741824`,
		"try default/web requests=cpu:500m": `requests: cpu: "500m" is not a whole number of 64 bits: write milli-CPU, bytes or a count, such as cpu:500 or memory:1073741824`,
		"try default/web request=cpu:500":   `unknown field of a pod: request; did you mean "requests"?`,
		"try default/web withuot=a/b":       `unknown field of a pod: withuot; did you mean "without"?`,
		"try default/web priority=high":     `priority: "high" is not a whole number of 32 bits`,
		"try default/web hostPorts=http":    "hostPorts: http: want a port number",
		"namespace a label=x:y":             `unknown field of a namespace: label; did you mean "labels"?`,
		"hint Node UpdateNodeLabels":        `unknown action: UpdateNodeLabels; did you mean "UpdateNodeLabel"?`,
		"hint Nodes Add":                    `unknown resource: Nodes; did you mean "Node"?`,
		"hint Node Add\n  - a":              "an event has old and new, not -; leave out what it does not have",
		"node a taints=x":                   `taints: "" is none of NoSchedule, PreferNoSchedule, NoExecute`,
		"node a taints=x:y:Never":           `taints: "Never" is none of NoSchedule, PreferNoSchedule, NoExecute`,
		"node a conditions=Ready:true":      `conditions: "true" is none of True, False, Unknown`,
		"try a/b tolerations=x:y:Never":     `tolerations: "Never" is none of NoSchedule, PreferNoSchedule, NoExecute`,
		"node a labels=app=web":             "labels: app=web: want key:value",
		"namespace a labels=app=web":        "labels: app=web: want key:value",
		"schedule a/b on=x":                 `there is no node "x"`,
		"try a/b rejected=x":                `there is no node "x"`,
		"try a/b without=a/x":               "there is no pod a/x on a node",
		"---":                               "---: answers begin with ----, directly below a line that has some",
		"config {":                          "configuration refused: invalid JSON: the text ends too early\nif that is right, write it below ----",
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
