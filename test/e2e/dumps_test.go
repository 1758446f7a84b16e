package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/kube"
	"github.com/berth-scheduler/berth/runtime/sim"
	"github.com/berth-scheduler/berth/runtime/sim/input"
	pods "github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/test/internal/cluster"
	"github.com/berth-scheduler/berth/test/internal/controllers"
	"github.com/berth-scheduler/berth/test/internal/dumps"
)

// How much readsDumps draws.
const (
	drawnClusters = 8
	drawnPods     = 32 // of each cluster
	drawnNodes    = 6
)

// ties is how many seeds are tried for a node among equally good ones.
const ties = 200

// readsDumps draws objects by structure, odd values included, and creates them on the API server. What it accepts, simulate reads from
// the cluster's dump before each pod, and decides about the pod as berth run has.
func readsDumps(t *testing.T) {
	c := start(t)
	counts := &drawnCounts{accepted: make(map[string]int), drawn: make(map[string]int)}
	for seed := range uint64(drawnClusters) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			d := newDumped(t, c, seed, counts)
			for i := range drawnPods {
				d.pod(i)
			}
		})
	}
	refused := 0
	for _, kind := range dumps.Kinds() {
		refused += counts.drawn[kind] - counts.accepted[kind]
		if counts.drawn[kind] > 0 && counts.accepted[kind] == 0 {
			t.Errorf("of %d drawn %s objects none is accepted", counts.drawn[kind], kind)
		}
	}
	t.Logf("drawn: %v, accepted: %v", counts.drawn, counts.accepted)
	t.Logf("%d pods are placed, %d are not", counts.placed, counts.pending)
	if counts.placed < 20 || counts.pending < 20 || refused < 20 {
		t.Errorf("too few; %d objects are refused", refused)
	}
}

type drawnCounts struct {
	drawn, accepted map[string]int
	placed, pending int
}

// dumped is a drawn cluster on the API server.
type dumped struct {
	*testing.T
	client  kubernetes.Interface
	objects *cluster.Objects
	draws   *dumps.Drawer
	counts  *drawnCounts
	nodes   []string
	settled string // the file with what pods do not change
	yaml    bool
}

func newDumped(t *testing.T, c *cluster.Cluster, seed uint64, counts *drawnCounts) *dumped {
	d := &dumped{T: t, draws: dumps.NewDrawer(seed, []int{2, 5, 15}[seed%3]), counts: counts, yaml: seed%2 == 0}
	var err error
	if d.client, err = c.Client(cluster.Admin); err != nil {
		t.Fatal(err)
	}
	if d.objects, err = c.Objects("default"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.objects.Clear(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	// A pod of this class preempts none, so that one decision does not concern another pod.
	class := &schedulingv1.PriorityClass{
		ObjectMeta: metav1.ObjectMeta{Name: "of-the-cluster"}, Value: 1000, PreemptionPolicy: ptr.To(v1.PreemptNever),
	}
	if _, err := d.client.SchedulingV1().PriorityClasses().Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, kind := range dumps.Kinds() {
		n := map[string]int{"Node": drawnNodes, "Pod": 0, "LimitRange": 0, "ResourceQuota": 0} // the API server applies these two
		count, ok := n[kind]
		if !ok {
			count = 2
		}
		for i := range count {
			d.create(kind, i)
		}
	}
	end, err := controllers.RunVolumes(d.client)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	d.claims()
	run(t, c, cluster.Scheduler{Config: profile, Flags: []string{fmt.Sprintf("--seed=%d", seed+1), "--held-pod-writes=100"}})
	d.settled = d.dump("settled", "nodes", "namespaces", "priorityclasses", "storageclasses", "csistoragecapacities", "csidrivers", "csinodes",
		"deviceclasses", "resourceslices")
	return d
}

// create draws an object and creates it, if the API server accepts it.
func (d *dumped) create(kind string, i int) {
	d.counts.drawn[kind]++
	object := d.draws.Object(kind, i)
	text, err := json.Marshal(object)
	if err != nil {
		d.Fatal(err)
	}
	if kind == "CSINode" && *skew != "" { // v1.37 added the status, and an older API server refuses a field that it does not know
		text = bytes.Replace(text, []byte(`,"status":{}`), nil, 1)
	}
	node, isNode := object.(*v1.Node)
	switch err := d.objects.Apply(d.Context(), text); {
	case err == nil:
		d.counts.accepted[kind]++
		if isNode {
			d.nodes = append(d.nodes, node.Name)
		}
	case !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err):
		d.Fatal(err)
	case isNode: // its status may be what is refused
		if err := d.objects.Delete(d.Context(), "node", node.Name); err != nil && !apierrors.IsNotFound(err) {
			d.Fatal(err)
		}
	}
}

// claims waits until the controller of volumes has bound the claims that do not wait for a pod, or has said why it cannot.
func (d *dumped) claims() {
	for until := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if err := controllers.Provision(d.Context(), d.client); err != nil {
			d.Fatal(err)
		}
		claims, err := d.client.CoreV1().PersistentVolumeClaims("").List(d.Context(), metav1.ListOptions{})
		if err != nil {
			d.Fatal(err)
		}
		waits := 0
		for _, claim := range claims.Items {
			if claim.Status.Phase != v1.ClaimBound && !d.reported(&claim) {
				waits++
			}
		}
		if waits == 0 {
			return
		}
		if time.Now().After(until) {
			d.Fatalf("%d claims are not decided", waits)
		}
	}
}

// reported says whether the controller has said that a claim has to wait.
func (d *dumped) reported(claim *v1.PersistentVolumeClaim) bool {
	of := metav1.ListOptions{FieldSelector: "involvedObject.uid=" + string(claim.UID)}
	events, err := d.client.CoreV1().Events(claim.Namespace).List(d.Context(), of)
	if err != nil {
		d.Fatal(err)
	}
	for _, e := range events.Items {
		if e.Reason == "WaitForFirstConsumer" || e.Reason == "FailedBinding" || e.Reason == "ProvisioningFailed" {
			return true
		}
	}
	return false
}

// dump writes all objects of kinds to a file.
func (d *dumped) dump(name string, kinds ...string) string {
	text, err := d.objects.Dump(d.Context(), kinds...)
	if err == nil && d.yaml {
		text, err = yaml.JSONToYAML(text)
	}
	path := filepath.Join(d.TempDir(), name+".yaml")
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		d.Fatal(err)
	}
	return path
}

// pod draws a pod, and compares what berth run decides about it with what simulate does.
func (d *dumped) pod(i int) {
	d.counts.drawn["Pod"]++
	pod := d.draws.Object("Pod", i).(*v1.Pod)
	d.draws.Admit(pod, d.nodes)
	if pod.Spec.PriorityClassName == "system-node-critical" {
		pod.Spec.PriorityClassName = "of-the-cluster"
	}
	pod.Spec.Priority, pod.Spec.PreemptionPolicy = nil, nil
	if i%2 == 0 { // so that not only requests decide
		for _, containers := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
			for c := range containers {
				containers[c].Resources = v1.ResourceRequirements{}
			}
		}
		pod.Spec.Overhead = nil
	}
	before := d.dump("before", "pods", "persistentvolumes", "persistentvolumeclaims", "resourceclaims")
	stored, err := d.client.CoreV1().Pods(pod.Namespace).Create(d.Context(), pod, metav1.CreateOptions{})
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) {
		return
	}
	if err != nil {
		d.Fatal(err)
	}
	d.counts.accepted["Pod"]++
	if stored.Spec.NodeName != "" {
		return
	}
	live := d.decided(stored)
	stored.TypeMeta = pod.TypeMeta
	text, err := json.Marshal(stored)
	if err != nil {
		d.Fatal(err)
	}
	path := filepath.Join(d.TempDir(), "pod.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		d.Fatal(err)
	}
	if simulated := d.simulated(live, d.settled, before, path); simulated != live {
		d.Errorf("pod %d: berth run: %s\nsimulate: %s\n%s", i, live, simulated, text)
	}
	if strings.HasPrefix(live, "on ") {
		d.counts.placed++
		return
	}
	d.counts.pending++
	if err := d.objects.Delete(d.Context(), "pod", pod.Name); err != nil { // later pods shall be decided alone
		d.Fatal(err)
	}
}

// decided waits for berth run's decision: "on NODE", or the message.
func (d *dumped) decided(pod *v1.Pod) string {
	for until := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if len(pod.Spec.Volumes) > 0 {
			if err := controllers.Provision(d.Context(), d.client); err != nil {
				d.Fatal(err)
			}
		}
		now, err := d.client.CoreV1().Pods(pod.Namespace).Get(d.Context(), pod.Name, metav1.GetOptions{})
		if err != nil {
			d.Fatal(err)
		}
		if now.Spec.NodeName != "" {
			return "on " + now.Spec.NodeName
		}
		for _, condition := range now.Status.Conditions {
			switch {
			case condition.Type != v1.PodScheduled || condition.Status != v1.ConditionFalse:
			case condition.Reason == kube.ReasonHeld:
				_, why, _ := strings.Cut(condition.Message, ": ") // after the plugin's name
				return why
			default:
				return condition.Message
			}
		}
		if time.Now().After(until) {
			d.Fatalf("nothing is decided about %s: %v", pod.Name, now.Status)
		}
	}
}

// simulated returns what simulate decides about the pending pod of files. Ties are broken by the seed, so it tries seeds until
// one decides as berth run did, which is live. If none does, it returns what the last one decided.
func (d *dumped) simulated(live string, files ...string) (said string) {
	o, err := input.LoadCluster(d.Context(), files, false)
	if err != nil {
		d.Fatal(err)
	}
	for _, w := range o.Warnings {
		if !strings.Contains(w.Detail, "does not exist") { // a claim, or a class
			d.Errorf("%v", w)
		}
	}
	if o.LeftOut != "" {
		d.Errorf("left out: %s", o.LeftOut)
	}
	for seed := range uint64(ties) {
		c := sim.Config{
			Assembly: assembly.Config{Seed: seed, Workers: 1, Scheduler: assembly.Default()}, Attempts: 1,
			Nodes: o.Nodes, Namespaces: o.Namespaces, Storage: o.Storage(), Owners: o.Owners(),
		}
		for _, pod := range o.Pods {
			if pod.Spec.NodeName != "" {
				c.Bound = append(c.Bound, pods.NewPod(pod))
			} else {
				c.Arrivals = append(c.Arrivals, input.Arrival{Pod: pod})
			}
		}
		s, err := sim.New(c)
		if err != nil {
			d.Fatal(err)
		}
		result, err := s.Run(d.Context())
		if err != nil {
			d.Fatal(err)
		}
		switch {
		case len(result.Placements) == 1:
			said = "on " + result.Placements[0].Node
		case len(result.Unschedulable) == 1:
			said = result.Unschedulable[0].Message
		default:
			d.Fatalf("%d pods are placed and %d are not", len(result.Placements), len(result.Unschedulable))
		}
		if said == live || !strings.HasPrefix(live, "on ") || len(result.Placements) == 0 {
			return said
		}
	}
	return said
}
