package whatif_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/runtime/sim/input"
	"github.com/berth-scheduler/berth/runtime/whatif"
)

// TestNodeName: pods that name their node are there without a scheduler, in a question and in the files of a cluster, whoever makes them.
// Node a is full, and the scheduler that they name does not exist.
func TestNodeName(t *testing.T) {
	const spec = "{nodeName: a, schedulerName: nobody, restartPolicy: RESTART, " +
		"containers: [{name: c, image: i, resources: {requests: {cpu: '1'}}}]}"
	const pods = "selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, spec: " + spec + "}"
	for kind, text := range map[string]string{
		"Pod":         "{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: " + spec + "}",
		"Deployment":  "{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}, spec: {" + pods + "}}",
		"ReplicaSet":  "{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: x}, spec: {" + pods + "}}",
		"StatefulSet": "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: x}, spec: {serviceName: x, " + pods + "}}",
		"DaemonSet":   "{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: x}, spec: {" + pods + "}}",
		"ReplicationController": "{apiVersion: v1, kind: ReplicationController, metadata: {name: x}, spec: {" +
			strings.Replace(pods, "{matchLabels: {app: x}}", "{app: x}", 1) + "}}",
		"Job": "{apiVersion: batch/v1, kind: Job, metadata: {name: x}, spec: {template: {spec: " + spec + "}}}",
		"CronJob": "{apiVersion: batch/v1, kind: CronJob, metadata: {name: x}, spec: {schedule: '* * * * *', jobTemplate: {spec: {template: {spec: " +
			spec + "}}}}}",
	} {
		t.Run(kind, func(t *testing.T) {
			restart := "Always"
			if strings.HasSuffix(kind, "Job") {
				restart = "Never"
			}
			dir := t.TempDir()
			path := filepath.Join(dir, "x.yaml")
			text = strings.Replace(text, "RESTART", restart, 1)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			templates, err := input.LoadTemplates(t.Context(), []string{path}, nil, false)
			if err != nil {
				t.Fatal(err)
			}
			a := ask(t, full(), whatif.NewRequest(templates))
			if len(a.Pods) != 1 || a.Pods[0].Code != whatif.Bound || a.Pods[0].Node != "a" || a.Summary.Bound != 1 || a.Summary.Fit != 0 {
				t.Errorf("%s, %+v", told(a), a.Summary)
			}
			gone := whatif.NewRequest(templates)
			gone.RemoveNodes = []string{"a"}
			if a = ask(t, full(), gone); kind == "DaemonSet" && len(a.Pods) > 0 ||
				kind != "DaemonSet" && (a.Pods[0].Code != whatif.DoesNotFit || !strings.Contains(a.Pods[0].Message, `there is no node "a"`)) {
				t.Errorf("without the node: %+v", a.Pods)
			}

			nodes := "\n---\n{apiVersion: v1, kind: Node, metadata: {name: a}}\n---\n{apiVersion: v1, kind: Node, metadata: {name: b}}\n"
			if err := os.WriteFile(path, []byte(text+nodes), 0o600); err != nil {
				t.Fatal(err)
			}
			o, err := input.LoadCluster(t.Context(), []string{dir}, true)
			if err != nil {
				t.Fatal(err)
			}
			if len(o.Pods) != 1 || o.Pods[0].Spec.NodeName != "a" {
				t.Errorf("in the cluster: %d pods, %+v", len(o.Pods), o.Pods)
			}
		})
	}
}

// TestNodeNameTakesRoom: pods of a question that name their node count there, and may be preempted.
func TestNodeNameTakesRoom(t *testing.T) {
	a := ask(t, full(), &whatif.Request{Pods: []whatif.Pods{{Pod: pod("other", "3", 0)}, {Pod: pod("bound", "4", 0, on("b"))}}})
	if got := told(a); !strings.HasPrefix(got, "other DoesNotFit (") || !strings.HasSuffix(got, "; bound Bound b") {
		t.Error(got)
	}
	a = ask(t, full(), &whatif.Request{Pods: []whatif.Pods{{Pod: pod("bound", "4", 0, on("b"))}, {Pod: pod("other", "3", 9)}}})
	if got := told(a); got != "bound DoesNotFit; other FitsAfterPreemption b for [ns/bound]" {
		t.Error(got)
	}
	exists := func(p *v1.Pod) { p.ResourceVersion, p.CreationTimestamp = "7", metav1.Unix(1, 0) }
	a = ask(t, full(), &whatif.Request{Pods: []whatif.Pods{{Pod: pod("dumped", "1", 0, on("a"), exists)}}})
	if got := told(a); got != "dumped Fits b" {
		t.Errorf("the node of an existing pod was a scheduler's choice: %s", got)
	}
}
