package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/berth-scheduler/berth/runtime/sim"
	"github.com/berth-scheduler/berth/runtime/whatif"
	"github.com/berth-scheduler/berth/test/internal/cluster"
	"github.com/berth-scheduler/berth/test/internal/controllers"
)

// grounds is the cluster of answersProjects: room for some projects and not for others, a tainted control plane, a node
// with a GPU, and requests for containers that have none.
const grounds = `
{apiVersion: v1, kind: Node, metadata: {name: control, labels: {kubernetes.io/os: linux, kubernetes.io/hostname: control,
    node-role.kubernetes.io/control-plane: ""}},
 spec: {taints: [{key: node-role.kubernetes.io/control-plane, effect: NoSchedule}]}, status: {capacity: {cpu: "2", memory: 4Gi,
    pods: "110"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: worker-a, labels: {kubernetes.io/os: linux, kubernetes.io/hostname: worker-a,
    topology.kubernetes.io/zone: a}},
 status: {capacity: {cpu: "2", memory: 8Gi, pods: "110"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: worker-b, labels: {kubernetes.io/os: linux, kubernetes.io/hostname: worker-b,
    topology.kubernetes.io/zone: b}},
 status: {capacity: {cpu: 1500m, memory: 4Gi, pods: "110"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: gpu, labels: {kubernetes.io/os: linux, kubernetes.io/hostname: gpu}},
 spec: {taints: [{key: nvidia.com/gpu, effect: NoSchedule}]}, status: {capacity: {cpu: "8", memory: 16Gi, pods: "110",
    nvidia.com/gpu: "1"}}}
---
{apiVersion: v1, kind: LimitRange, metadata: {name: requests, namespace: default}, spec: {limits: [{type: Container,
    defaultRequest: {cpu: 600m}}]}}
`

// answersProjects asks what-if and simulate about manifests of well-known projects, as they are, and holds the answers
// against what becomes of the pods that kube-controller-manager's controllers make of them.
func answersProjects(t *testing.T) {
	c := own(t)
	client, err := c.Client(cluster.Admin)
	if err != nil {
		t.Fatal(err)
	}
	for _, own := range []string{"monitoring", "kube-flannel", "local-path-storage", "ingress-nginx"} { // which the API server then has
		if _, err := client.CoreV1().Namespaces().Create(t.Context(), &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: own}},
			metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	// The controllers would make its pods, too.
	if err := client.AppsV1().Deployments(metav1.NamespaceSystem).Delete(t.Context(), "berth", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	folders, err := filepath.Glob(filepath.Join("testdata", "projects", "*", ""))
	if err != nil || len(folders) < 10 {
		t.Fatal(folders, err)
	}
	placed, waits, compared := 0, 0, 0
	for _, folder := range folders {
		if filepath.Ext(folder) == ".md" {
			continue
		}
		t.Run(filepath.Base(folder), func(t *testing.T) {
			p := &project{T: t, Cluster: c, client: client, folder: folder}
			p.prepare()
			question := p.answer("whatif", "--pods", folder)
			simulated := p.answer("simulate", "--cluster", folder)
			got := p.create()
			for name, answer := range map[string]outcome{"whatif": question, "simulate": simulated} {
				if !maps.EqualFunc(p.grouped(answer), got, (*tally).equal) {
					t.Errorf("%s says\n%v\nthe cluster\n%v", name, p.grouped(answer), got)
				}
			}
			compared += p.compared
			for _, w := range got {
				placed += w.placed
				waits += w.waits
			}
			t.Logf("%v", got)
		})
	}
	t.Logf("%d pods are placed, %d wait, %d are compared", placed, waits, compared)
	if placed < 20 || waits < 3 || compared < 20 {
		t.Error("too few pods")
	}
}

// outcome is the node of each pod, by namespace and name; empty if it stays pending.
type outcome map[string]string

// tally counts the pods of one controller. on are the nodes of a DaemonSet's pods: where others go is a choice.
type tally struct {
	placed, waits int
	on            []string
}

func (w *tally) equal(o *tally) bool {
	return w.placed == o.placed && w.waits == o.waits && slices.Equal(w.on, o.on)
}

func (w *tally) String() string {
	return fmt.Sprintf("%d placed %v, %d pending", w.placed, w.on, w.waits)
}

type project struct {
	*testing.T
	*cluster.Cluster
	client   kubernetes.Interface
	folder   string
	cluster  string         // the file of the cluster before
	daemons  []string       // namespace/name of DaemonSets
	others   []string       // of the other workloads
	ordered  map[string]int // replicas of StatefulSets whose pods are made one after the other
	compared int            // pods of shapes
}

// prepare makes the cluster, and writes it to a file.
func (p *project) prepare() {
	p.Helper()
	objects := p.objects()
	p.Cleanup(func() {
		ctx := context.WithoutCancel(p.Context())
		for _, d := range p.deployments(ctx) {
			if err := p.client.AppsV1().Deployments(d.Namespace).Delete(ctx, d.Name, metav1.DeleteOptions{}); err != nil {
				p.Error(err)
			}
		}
		if err := p.objects().Clear(ctx); err != nil {
			p.Error(err)
		}
	})
	if err := objects.Apply(p.Context(), []byte(grounds)); err != nil {
		p.Fatal(err)
	}
	dump, err := objects.Dump(p.Context(), "nodes", "namespaces", "pods", "priorityclasses", "limitranges", "storageclasses")
	if err != nil {
		p.Fatal(err)
	}
	p.cluster = filepath.Join(p.TempDir(), "cluster.json")
	if err := os.WriteFile(p.cluster, dump, 0o600); err != nil {
		p.Fatal(err)
	}
}

func (p *project) objects() *cluster.Objects {
	p.Helper()
	objects, err := p.Objects("default")
	if err != nil {
		p.Fatal(err)
	}
	return objects
}

// answer returns what a command says of each pod.
func (p *project) answer(command string, args ...string) outcome {
	p.Helper()
	var stderr strings.Builder
	cmd := exec.CommandContext(p.Context(), p.Binaries().Berth, append([]string{command, "--cluster", p.cluster, "-o", "json"}, args...)...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		p.Fatalf("%s: %v\n%s", command, err, &stderr)
	}
	p.Logf("%s: %s", command, strings.TrimSpace(stderr.String()))
	var read struct {
		Pods          []whatif.Pod    `json:"pods"`
		Placements    []sim.Placement `json:"placements"`
		Unschedulable []sim.Pending   `json:"unschedulable"`
	}
	if err := json.Unmarshal(out, &read); err != nil {
		p.Fatal(err)
	}
	got := make(outcome)
	for _, pod := range read.Pods {
		got[pod.Namespace+"/"+pod.Name] = pod.Node
	}
	for _, pod := range read.Placements {
		got[pod.Namespace+"/"+pod.Pod] = pod.Node
	}
	for _, pod := range read.Unschedulable {
		got[pod.Namespace+"/"+pod.Pod] = ""
	}
	return got
}

// create creates the objects, has controllers make the pods and Berth place them, and returns what became of them.
func (p *project) create() map[string]*tally {
	p.Helper()
	p.apply()
	run(p.T, p.Cluster, cluster.Scheduler{Config: profile, User: cluster.KubeScheduler})
	end, err := controllers.Run(p.client)
	if err != nil {
		p.Fatal(err)
	}
	defer end()
	expected := p.workloads()
	for until := time.Now().Add(2 * patience); ; time.Sleep(100 * time.Millisecond) {
		got, ready := p.pods()
		p.later(got)
		if ready && len(got) >= expected {
			p.compared = p.shapes()
			return p.grouped(got)
		}
		if time.Now().After(until) {
			p.Fatalf("of %d pods or more: %v", expected, got)
		}
	}
}

// later adds the pods that StatefulSets have not made, since the one before is pending: it will not be ready.
func (p *project) later(got outcome) {
	for set, replicas := range p.ordered {
		for i := 1; i < replicas; i++ {
			if node, ok := got[fmt.Sprintf("%s-%d", set, i-1)]; ok && node == "" {
				got[fmt.Sprintf("%s-%d", set, i)] = ""
			}
		}
	}
}

// apply creates what the API server has kinds for.
func (p *project) apply() {
	p.Helper()
	files, err := filepath.Glob(filepath.Join(p.folder, "*.yaml"))
	if err != nil {
		p.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			p.Fatal(err)
		}
		for document := range strings.SplitSeq("\n"+string(text), "\n---") {
			if err := p.objects().Apply(p.Context(), []byte(document)); err != nil && !meta.IsNoMatchError(err) {
				p.Fatalf("%s: %v", file, err)
			}
		}
	}
}

func (p *project) deployments(ctx context.Context) []appsv1.Deployment {
	list, err := p.client.AppsV1().Deployments("").List(ctx, metav1.ListOptions{})
	if err != nil {
		p.Fatal(err)
	}
	return list.Items
}

// workloads lists the workloads, and returns the least number of pods that they have.
func (p *project) workloads() (pods int) {
	for _, d := range p.deployments(p.Context()) {
		p.others = append(p.others, d.Namespace+"/"+d.Name)
		pods += int(*d.Spec.Replicas)
	}
	sets, err := p.client.AppsV1().StatefulSets("").List(p.Context(), metav1.ListOptions{})
	if err != nil {
		p.Fatal(err)
	}
	p.ordered = make(map[string]int)
	for _, s := range sets.Items {
		name := s.Namespace + "/" + s.Name
		p.others = append(p.others, name)
		if s.Spec.PodManagementPolicy == appsv1.OrderedReadyPodManagement {
			p.ordered[name] = int(*s.Spec.Replicas)
		}
		pods += int(*s.Spec.Replicas)
	}
	jobs, err := p.client.BatchV1().Jobs("").List(p.Context(), metav1.ListOptions{})
	if err != nil {
		p.Fatal(err)
	}
	for _, j := range jobs.Items {
		p.others = append(p.others, j.Namespace+"/"+j.Name)
		pods += int(*j.Spec.Parallelism)
	}
	daemons, err := p.client.AppsV1().DaemonSets("").List(p.Context(), metav1.ListOptions{})
	if err != nil {
		p.Fatal(err)
	}
	for _, d := range daemons.Items {
		p.daemons = append(p.daemons, d.Namespace+"/"+d.Name)
		pods++
	}
	return pods
}

// pods returns the pods, and whether all of them are decided. Those that are placed become ready, as with a kubelet, and
// claims get volumes.
func (p *project) pods() (got outcome, ready bool) {
	if err := controllers.Provision(p.Context(), p.client); err != nil {
		p.Fatal(err)
	}
	list, err := p.client.CoreV1().Pods("").List(p.Context(), metav1.ListOptions{})
	if err != nil {
		p.Fatal(err)
	}
	sets, err := p.client.AppsV1().DaemonSets("").List(p.Context(), metav1.ListOptions{})
	if err != nil {
		p.Fatal(err)
	}
	classes, err := p.client.StorageV1().StorageClasses().List(p.Context(), metav1.ListOptions{})
	if err != nil {
		p.Fatal(err)
	}
	got, ready = make(outcome), true
	for _, d := range sets.Items {
		ready = ready && d.Status.ObservedGeneration == d.Generation && d.Status.CurrentNumberScheduled == d.Status.DesiredNumberScheduled
	}
	for _, pod := range list.Items {
		got[pod.Namespace+"/"+pod.Name] = pod.Spec.NodeName
		if pod.Spec.NodeName == "" {
			// With a class the claims will be bound.
			ready = ready && unschedulable(&pod, "") && (len(classes.Items) == 0 || !unschedulable(&pod, "unbound immediate PersistentVolumeClaims"))
		} else if pod.Status.Phase == v1.PodPending {
			status := []byte(`{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`)
			if _, err := p.client.CoreV1().Pods(pod.Namespace).Patch(p.Context(), pod.Name, types.StrategicMergePatchType, status,
				metav1.PatchOptions{}, "status"); err != nil &&
				!apierrors.IsNotFound(err) {
				p.Fatal(err)
			}
			ready = false
		}
	}
	return got, ready
}

// unschedulable reports whether a pod was not placed, with some words in its reasons.
func unschedulable(pod *v1.Pod, words string) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c v1.PodCondition) bool {
		return c.Type == v1.PodScheduled && c.Status == v1.ConditionFalse && strings.Contains(c.Message, words)
	})
}

// grouped counts pods by the workloads whose names theirs begin with.
func (p *project) grouped(pods outcome) map[string]*tally {
	groups := make(map[string]*tally)
	for pod, node := range pods {
		name := ""
		for _, w := range slices.Concat(p.others, p.daemons) {
			if strings.HasPrefix(pod, w+"-") && len(w) > len(name) {
				name = w
			}
		}
		g := groups[name]
		if g == nil {
			g = &tally{}
			groups[name] = g
		}
		if node == "" {
			g.waits++
			continue
		}
		g.placed++
		if slices.Contains(p.daemons, name) {
			g.on = append(g.on, node)
			slices.Sort(g.on)
		}
	}
	return groups
}
