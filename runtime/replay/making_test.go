package replay_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/internal/wat"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/state"
)

// guestBy returns a module that acts by the priority of the pod.
func guestBy(t *testing.T, name, points, functions string) []byte {
	t.Helper()
	return guestWith(t, name, points, "", "", functions)
}

// guestWith returns a module that calls the host, too.
func guestWith(t *testing.T, name, points, host, imports, functions string) []byte {
	t.Helper()
	return wat.Compile(t, `(module `+imports+`
		(memory (export "memory") 40)
		(func (export "berth_abi") (result i32) (i32.const 0x10000))
		(func (export "berth_alloc") (param i32 i32) (result i32) (i32.const 65536))
		(func $priority (param $call i32) (result i32) (local $pod i32)
			(local.set $pod (i32.load offset=4 (local.get $call)))
			(i32.wrap_i64 (i64.load (i32.add (local.get $pod) (i32.load offset=16 (local.get $pod))))))
		`+functions+`)`,
		`{"name": "`+name+`", "version": "1.0.0", "abi": "1.0", "points": `+points+`, "reads": {"node": ["flags"], "pod": ["priority"]}`+host+`}`)
}

// keeping are the points of a module that keeps the priority of a pod from Reserve on, and whether its binding cycle has begun. Unreserve
// traps unless it finds what the pod kept; the number of such calls, which the breaker counts, says what it found.
const keeping = `(data (i32.const 1024) "kb")
	(func (export "berth_reserve") (param i32) (result i32)
		(i32.store (i32.const 1040) (call $priority (local.get 0)))
		(drop (call $set (i32.const 1024) (i32.const 1) (i32.const 1040) (i32.const 4))) (i32.const 0))
	(func (export "berth_permit") (param i32) (result i32)
		(i64.store offset=96 (local.get 0) (i64.const 1500))
		(select (i32.const 4) (i32.const 0) (i32.lt_s (i32.rem_s (call $priority (local.get 0)) (i32.const 5)) (i32.const 2))))
	(func (export "berth_pre_bind") (param i32) (result i32)
		(if (i32.ne (i32.rem_s (call $priority (local.get 0)) (i32.const 3)) (i32.const 0)) (then (return (i32.const 0))))
		(drop (call $set (i32.const 1025) (i32.const 1) (i32.const 1040) (i32.const 4))) (i32.const 2))
	(func (export "berth_unreserve") (param i32) (result i32)
		(if (i32.ne (call $get (i32.const 1024) (i32.const 1) (i32.const 1056) (i32.const 4)) (i32.const 4)) (then unreachable))
		(if (i32.ne (i32.load (i32.const 1056)) (call $priority (local.get 0))) (then unreachable))
		(if (i32.eq (call $get (i32.const 1025) (i32.const 1) (i32.const 1056) (i32.const 4)) (i32.const 4)) (then unreachable)) (i32.const 0))`

// everyModule returns modules of the platform by name, and two versions of one that a tenant attaches.
func everyModule(t *testing.T, modules *assembly.Modules) (map[string]*assembly.Module, []assembly.Attached) {
	t.Helper()
	trap := func(n int) string {
		return `(func (export "berth_filter") (param i32 i32 i32) (result i32)
			(if (i32.eq (i32.rem_s (call $priority (local.get 0)) (i32.const ` + fmt.Sprint(n) + `)) (i32.const 1)) (then unreachable)) (i32.const 0))`
	}
	var attached []assembly.Attached
	for i, name := range []string{"a/own", "a/own.next"} {
		m := loaded(t, modules, guestBy(t, "own", `{"filter": {"scope": "node"}}`, trap(4+i)), module.Reference{Name: name, Namespaces: []string{"a"}, Tenant: "a", HideSeed: true, HideGeneration: true})
		attached = append(attached, assembly.Attached{Name: name, Module: m, Holds: true, Namespaces: []string{"a"}})
	}
	return map[string]*assembly.Module{
		"moody": loaded(t, modules, guestBy(t, "moody", `{"filter": {"scope": "node"}}`, trap(3)), module.Reference{}),
		"often": loaded(t, modules, guestBy(t, "often", `{"filter": {"scope": "node"}, "reserve": {}, "unreserve": {}}`, trap(8)+
			`(func (export "berth_reserve") (param i32) (result i32) (select (i32.const 2) (i32.const 0) (i32.eq (call $priority (local.get 0)) (i32.const 4))))
			(func (export "berth_unreserve") (param i32) (result i32) (i32.const 0))`), module.Reference{}),
		"holder": loaded(t, modules, guestBy(t, "holder", `{"permit": {}}`,
			`(func (export "berth_permit") (param i32) (result i32)
			(i64.store offset=96 (local.get 0) (i64.const 700))
			(select (i32.const 4) (i32.const 0) (i32.eq (i32.rem_s (call $priority (local.get 0)) (i32.const 5)) (i32.const 2))))`), module.Reference{}),
		"keeper": loaded(t, modules, guestWith(t, "keeper", `{"reserve": {}, "permit": {}, "preBind": {}, "unreserve": {}}`, `, "host": ["state_get", "state_set"]`,
			`(import "berth" "state_get" (func $get (param i32 i32 i32 i32) (result i32))) (import "berth" "state_set" (func $set (param i32 i32 i32 i32) (result i32)))`, keeping), module.Reference{}),
		"binder": loaded(t, modules, guestBy(t, "binder", `{"preBind": {}}`,
			`(func (export "berth_pre_bind") (param i32) (result i32)
			(if (i32.eq (i32.rem_s (call $priority (local.get 0)) (i32.const 4)) (i32.const 3)) (then unreachable)) (i32.const 0))`), module.Reference{}),
	}, attached
}

func (w *world) pod(i int) *v1.Pod {
	priority := int32(w.n(10))
	name := fmt.Sprint("p-", i)
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: []string{"a", "b", "c"}[w.n(3)], Name: name, UID: types.UID(name), Labels: map[string]string{"app": fmt.Sprint(w.n(3))}}}
	p.Spec.SchedulerName = []string{"default-scheduler", "second"}[w.n(2)]
	p.Spec.Priority = &priority
	p.Spec.Containers = []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: request(fmt.Sprint(1 + w.n(3)))}}}
	switch w.n(9) {
	case 0:
		p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "g"}}
	case 1:
		p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels}}}
	case 2, 3:
		w.mu.Lock()
		claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: "claim-" + name, UID: types.UID("claim-" + name)}}
		class := "late"
		claim.Spec.StorageClassName = &class
		claim.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
		claim.Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}
		claim.Status.Phase = v1.ClaimPending
		w.put(claim)
		w.mu.Unlock()
		p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name}}}}
	case 4, 5:
		w.mu.Lock()
		claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: "gpu-" + name, UID: types.UID("gpu-" + name)}}
		claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1}}}
		w.put(claim)
		w.mu.Unlock()
		p.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "r", ResourceClaimName: &claim.Name}}
	case 6:
		p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
			TopologyKey: v1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels}, NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "x"}},
		}}}}
	}
	return p
}

func (w *world) node(i int) {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n-", i)}}
	n.Labels = map[string]string{v1.LabelHostname: n.Name, v1.LabelTopologyZone: fmt.Sprint("z", i%3)}
	n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: *resource.NewQuantity(int64(4+w.n(8)), resource.DecimalSI), v1.ResourcePods: resource.MustParse("20")}
	if w.one(5) {
		n.Spec.Unschedulable = true
	}
	w.mu.Lock()
	w.objects[key(n)] = n
	w.mu.Unlock()
	w.scheduler.SetNode(state.NewNode(n))
}

func (w *world) namespace(name string) {
	n := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": []string{"x", "y"}[w.n(2)]}}}
	w.scheduler.SetNamespace(state.NewNamespace(n))
}

// extending answers as an HTTP extender does that is moody, slow, or down.
func (w *world) extending(out http.ResponseWriter, r *http.Request) {
	switch w.n(10) {
	case 0:
		http.Error(out, "no", http.StatusInternalServerError)
		return
	case 1:
		time.Sleep(30 * time.Millisecond)
	}
	var answer any
	switch r.URL.Path {
	case "/preempt":
		var asked extenderv1.ExtenderPreemptionArgs
		_ = json.NewDecoder(r.Body).Decode(&asked)
		maps.DeleteFunc(asked.NodeNameToMetaVictims, func(string, *extenderv1.MetaVictims) bool { return w.one(4) })
		answer = extenderv1.ExtenderPreemptionResult{NodeNameToMetaVictims: asked.NodeNameToMetaVictims}
	case "/prioritize":
		var asked extenderv1.ExtenderArgs
		_ = json.NewDecoder(r.Body).Decode(&asked)
		list := extenderv1.HostPriorityList{}
		for _, name := range *asked.NodeNames {
			list = append(list, extenderv1.HostPriority{Host: name, Score: int64(w.n(11))})
		}
		answer = list
	default:
		var asked extenderv1.ExtenderArgs
		_ = json.NewDecoder(r.Body).Decode(&asked)
		result := extenderv1.ExtenderFilterResult{NodeNames: &[]string{}, FailedNodes: extenderv1.FailedNodesMap{}}
		for _, name := range *asked.NodeNames {
			if w.one(6) {
				result.FailedNodes[name] = "no mood"
			} else {
				*result.NodeNames = append(*result.NodeNames, name)
			}
		}
		answer = result
	}
	_ = json.NewEncoder(out).Encode(answer)
}
