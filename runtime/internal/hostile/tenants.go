package hostile

import (
	"encoding/json"
	"fmt"
	"strings"
)

// How the plugins of an attack on other tenants run.
const (
	AsTenant   = "tenant"   // as a TenantPlugin of namespace evil, under a PluginGrant
	AsAttached = "attached" // as a plugin of the platform for namespace evil
	AsPlatform = "platform" // as a plugin of the platform for all namespaces
)

// tenants are attacks on the pods of other tenants: those of namespace good must all be placed.
func tenants() ([]Attack, error) {
	l := &list{}
	// rejects is a filter that rejects all nodes.
	const rejects = `(memory.fill (i32.load offset=24 (local.get $call)) (i32.const 2) (i32.sub (local.get 2) (local.get 1))) (i32.const 0)`
	// gates admits pods in the first call, and holds all back from then on.
	const gates = `(if (i64.gt_u (global.get $n) (i64.const 1)) (then
		(memory.fill (i32.load offset=24 (local.get $call)) (i32.const 2) (i32.sub (local.get 2) (local.get 1)))))
		(global.set $n (i64.add (global.get $n) (i64.const 1))) (i32.const 0)`
	const success = "(i32.const 0)"
	asks := fmt.Sprintf("(i32.store offset=88 (local.get $call) (i32.const %d)) (i32.store offset=92 (local.get $call) (i32.const 1)) ", answersAt)
	const traps = `(if (i32.gt_u (i32.load offset=8 (local.get $call)) (i32.const 200)) (then (unreachable))) (i32.const 0)`
	attack := func(name, about, as string, objects []object, declarations string, set fields, functions ...string) *Attack {
		a := l.add(at(name, about, declarations, set, functions...))
		a.Name, a.As, a.Cluster = "tenants/"+name, as, cluster(objects)
		return a
	}
	nominates := fields{"directives": fields{"nominate": true}}
	nominate := table([]directive{{3, "node", ""}})
	attack("nomination-gated", "a pod preempts a bait, and is gated when the bait has left", AsTenant, append([]object{
		node(nil), placed(pod("evil", "bait", 0, "7000m", nil), "node"), pod("evil", "waits", 100, "7000m", nil),
	}, attached("preEnqueue", "filter")...), "", fields{"reads": fields{"pod": []string{"priority"}}}, "pre_enqueue", gates)
	taint := []object{{"key": "good", "effect": "NoSchedule"}}
	attack("nomination-tainted", "nominates a node whose taint forbids the pod", AsAttached,
		[]object{node(taint), pod("evil", "waits", 100, "8000m", nil)}, nominate, nominates, "filter", rejects, "post_filter", asks+success)
	attack("nomination-large", "nominates a node for a pod that is larger", AsAttached,
		[]object{node(nil), pod("evil", "waits", 100, "100", nil)}, nominate, nominates, "filter", rejects, "post_filter", asks+success)
	const bars = `(if (call $bad (local.get $call)) (then) (else (i32.store offset=80 (local.get $call) (i32.const 1)))) (i32.const 0)`
	barred, err := at("bars", "", "", fields{"name": "bars"}, "pre_filter", bars)
	if err != nil {
		return nil, err
	}
	outside := attack("nomination-outside", "nominates the node that a plugin of the platform leaves out at preFilter", AsAttached,
		[]object{node(nil), pod("evil", "waits", 100, "1", nil)}, nominate, nominates, "post_filter", asks+success)
	outside.Barred, outside.Plugins = "waits", append(outside.Plugins, barred.Plugins...)
	var evil []object
	for i := range 20 {
		evil = append(evil, pod("evil", fmt.Sprintf("%s-%d", strings.Repeat("long", 50), i), 100, "1m", nil))
	}
	attack("trapping-pods", "no plugin, but pods with which one of the platform traps", AsPlatform,
		append(evil, node(nil)), "", fields{"reads": fields{"pod": []string{"name"}}}, "filter", traps)
	attack("strings-of-pods", "no plugin, but pods whose names of other objects and limits are huge, empty, or not valid", AsPlatform,
		append(strange(), oddNode(), oddPlaced()), "", fields{"abi": "1.1", "reads": fields{
			"pod": []string{"createdAt", "priorityClass", "serviceAccount", "preemptionPolicy", "group", "limits", "qos", "claims", "now",
				"containers"},
			"resolution": []string{"1s"},
			"resources":  []string{"cpu", "memory", "example.com/gpu"},
			"node":       []string{"capacity", "createdAt", "pods"},
			"pods":       []string{"limits", "qos", "assignedAt", "createdAt", "state"},
		}}, "filter", success)
	attack("nominated", "no plugin, but 2,000 pods that say they are nominated: to the node, to nodes that are not there, and to no name",
		AsPlatform, append(nominated(), node(nil)), "", fields{"abi": "1.1", "reads": fields{
			"node": []string{"pods", "nominated", "requested"}, "pods": []string{"name", "requests"}, "resources": []string{"cpu", "pods"},
		}}, "filter", success)
	return l.all()
}

// nominated are pods with nominated nodes that no scheduler chose.
func nominated() (out []object) {
	for i := range 2000 {
		p := pod("evil", fmt.Sprint("pod-", i), 0, "1m", nil)
		to := []string{"node", fmt.Sprint("none-", i), evil, strings.Repeat("long", 1000)}[i%4]
		p["status"] = object{"nominatedNodeName": to}
		out = append(out, p)
	}
	return out
}

// strange are pods that no API server would accept: names of a MiB, empty ones, and ones with control characters, times of creation at
// both ends, and limits below 0 and beyond any amount.
func strange() (out []object) {
	for i := range 40 {
		name := []string{"", fmt.Sprint(i, evil), fmt.Sprint(i, strings.Repeat("long", 1<<18))}[i%3]
		p := pod("evil", fmt.Sprint("pod-", i), 100, "1m", nil)
		p["metadata"].(object)["creationTimestamp"] = []string{"0001-01-01T00:00:01Z", "9999-12-31T23:59:59Z"}[i%2]
		spec := p["spec"].(object)
		spec["priorityClassName"], spec["serviceAccountName"], spec["schedulingGroup"] = name, name+"1", object{"podGroupName": name + "2"}
		p["status"] = object{"qosClass": name + "3"}
		limits := []object{{"cpu": "-1", "memory": "9223372036854775807"}, {"cpu": "1e30", "memory": "-8E", "example.com/gpu": "1n"}}[i%2]
		spec["containers"].([]object)[0]["resources"].(object)["limits"] = limits
		spec["volumes"] = []object{{"name": "v", "persistentVolumeClaim": object{"claimName": name + "4"}}}
		out = append(out, p)
	}
	return out
}

// object is one of the API.
type object = map[string]any

// attached are a TenantPlugin of namespace evil, and a PluginGrant of points.
func attached(points ...string) []object {
	return []object{
		{
			"apiVersion": "berth.dev/v1alpha1", "kind": "PluginGrant", "metadata": object{"name": "all"},
			"spec": object{"namespaces": []string{"evil"}, "modules": []object{{"repositories": []string{"REPOSITORY"}}}, "points": points},
		},
		{
			"apiVersion": "berth.dev/v1alpha1", "kind": "TenantPlugin", "metadata": object{"namespace": "evil", "name": "plugin"},
			"spec": object{"module": object{"image": "IMAGE"}},
		},
	}
}

// cluster returns a cluster file of objects and the pods of another tenant.
func cluster(objects []object) []byte {
	data, err := json.Marshal(object{"apiVersion": "v1", "kind": "List", "items": append(objects, others()...)})
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return data
}

// others are the pods of another tenant. They tolerate the taint good.
func others() (out []object) {
	for i := range 6 {
		out = append(out, pod("good", fmt.Sprintf("pod-%d", i), 1, "1", []object{{"key": "good", "operator": "Exists"}}))
	}
	return out
}

func node(taints []object) object {
	return object{
		"apiVersion": "v1", "kind": "Node", "metadata": object{"name": "node"}, "spec": object{"taints": taints},
		"status": object{"allocatable": object{"cpu": "8", "memory": "32Gi", "pods": "110"}},
	}
}

// oddNode is a node whose capacity and time of creation no kubelet would write.
func oddNode() object {
	n := node(nil)
	n["metadata"].(object)["creationTimestamp"] = "0001-01-01T00:00:01Z"
	n["status"].(object)["capacity"] = object{"cpu": "9223372036854775807", "memory": "9223372036854775807", "example.com/gpu": "9223372036854775807"}
	return n
}

// oddPlaced is a pod on the node with limits, times and a state that neither the API server nor a kubelet would write.
func oddPlaced() object {
	p := placed(pod("evil", "placed", 1, "1m", nil), "node")
	p["metadata"].(object)["creationTimestamp"] = "0001-01-01T00:00:01Z"
	p["spec"].(object)["containers"].([]object)[0]["resources"].(object)["limits"] = object{"cpu": "-1", "memory": "1e30", "example.com/gpu": "1n"}
	p["status"] = object{"qosClass": "Best\x00Effort", "phase": "Running", "conditions": []object{
		{"type": "PodScheduled", "status": "True", "lastTransitionTime": "9999-12-31T23:59:59Z"},
		{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "true"},
	}}
	return p
}

func pod(namespace, name string, priority int, cpu string, tolerations []object) object {
	return object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"namespace": namespace, "name": name}, "spec": object{
		"priority": priority, "tolerations": tolerations, "containers": []object{{"name": "c", "resources": object{"requests": object{"cpu": cpu}}}},
	}}
}

func placed(pod object, node string) object {
	pod["spec"].(object)["nodeName"] = node
	return pod
}
