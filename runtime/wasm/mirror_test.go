package wasm_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/state"
)

// mirror says what guests must see. It uses the API's objects alone.
type mirror struct {
	reads      wire.ManifestReads
	namespaces []string
}

func (m *mirror) sees(namespace string) bool {
	return len(m.namespaces) == 0 || slices.Contains(m.namespaces, namespace)
}

func text(s string) string { return strconv.Quote(s) }

func lookup(m map[string]string, key string) string {
	if v, ok := m[key]; ok {
		return text(v)
	}
	return "-"
}

func list(entries []string) string {
	slices.Sort(entries)
	return "[" + strings.Join(entries, " ") + "]"
}

func pairs(m map[string]string) string {
	var out []string
	for k, v := range m {
		out = append(out, text(k)+"="+text(v))
	}
	return list(out)
}

func amount(r *state.Resources, name string) int64 {
	switch v1.ResourceName(name) {
	case v1.ResourceCPU:
		return r.MilliCPU
	case v1.ResourceMemory:
		return r.Memory
	case v1.ResourceEphemeralStorage:
		return r.EphemeralStorage
	case v1.ResourcePods:
		return r.Pods
	}
	return r.Scalar(v1.ResourceName(name))
}

// node is a row of the nodes table; its pods are under "pods", sorted.
func (m *mirror) node(node *state.Node, on, nominated []*state.Pod) map[string]string {
	out := map[string]string{}
	object := node.Object
	declared := func(name string) bool { return slices.Contains(m.reads.Node, name) }
	scalar := func(name string, id abi.ColumnID, value string) {
		if declared(name) {
			out[fmt.Sprintf("%d.0", id)] = value
		}
	}
	scalar("name", abi.NodeName, text(node.Name))
	flags := "0"
	if object.Spec.Unschedulable {
		flags = "1"
	}
	scalar("flags", abi.NodeFlags, flags)
	scalar("labels", abi.NodeLabels, pairs(object.Labels))
	var taints, ports, images []string
	for _, t := range object.Spec.Taints {
		taints = append(taints, text(t.Key)+"="+text(t.Value)+":"+string(t.Effect))
	}
	scalar("taints", abi.NodeTaints, list(taints))
	for _, i := range node.Images {
		images = append(images, fmt.Sprintf("%s:%d", text(i.Name), i.Size))
	}
	scalar("images", abi.NodeImages, list(images))
	var cpu, memory int64
	for _, pod := range on {
		cpu, memory = cpu+pod.NonZeroCPU, memory+pod.NonZeroMemory
		for _, p := range pod.HostPorts {
			ports = append(ports, fmt.Sprintf("%s:%d/%s", text(p.IP), p.Port, [...]string{"", "TCP", "UDP", "SCTP"}[p.Protocol]))
		}
	}
	scalar("ports", abi.NodePorts, list(ports))
	zone := lookup(object.Labels, v1.LabelTopologyZone)
	if zone == "-" {
		zone = lookup(object.Labels, v1.LabelFailureDomainBetaZone)
	}
	scalar("zone", abi.NodeZone, zone)
	for i, name := range m.reads.Resources {
		var sum int64
		for _, pod := range on {
			sum += amount(&pod.Requests, name)
		}
		if declared("allocatable") {
			out[fmt.Sprintf("3.%d", i)] = fmt.Sprint(amount(&node.Allocatable, name))
		}
		if declared("requested") {
			out[fmt.Sprintf("4.%d", i)] = fmt.Sprint(sum)
		}
	}
	if declared("nonZeroRequested") {
		out["5.0"], out["5.1"] = fmt.Sprint(cpu), fmt.Sprint(memory)
	}
	for i, key := range m.reads.NodeAnnotations {
		out[fmt.Sprintf("7.%d", i)] = lookup(object.Annotations, key)
	}
	for i, key := range m.reads.NodeLabels {
		out[fmt.Sprintf("14.%d", i)] = lookup(object.Labels, key)
	}
	for i, kind := range m.reads.NodeConditions {
		value := "0"
		for _, c := range object.Status.Conditions {
			if string(c.Type) == kind {
				value = map[v1.ConditionStatus]string{v1.ConditionTrue: "1", v1.ConditionFalse: "2"}[c.Status]
				if value == "" {
					value = "3"
				}
			}
		}
		out[fmt.Sprintf("11.%d", i)] = value
	}
	if declared("nominated") {
		var pods []string
		for _, pod := range nominated {
			if m.sees(pod.Namespace) {
				pods = append(pods, flat(m.pod(pod)))
			}
		}
		slices.Sort(pods)
		out["nominated"] = strings.Join(pods, "\n")
	}
	if declared("pods") {
		var pods []string
		for _, pod := range on {
			if m.sees(pod.Namespace) {
				pods = append(pods, flat(m.pod(pod)))
			}
		}
		slices.Sort(pods)
		out["pods"] = strings.Join(pods, "\n")
	}
	return out
}

// pod is a row of the pods table.
func (m *mirror) pod(pod *state.Pod) map[string]string {
	out := map[string]string{}
	scalar := func(name string, id abi.ColumnID, value string) {
		if slices.Contains(m.reads.Pods, name) {
			out[fmt.Sprintf("%d.0", id)] = value
		}
	}
	scalar("namespace", abi.PodNamespace, text(pod.Namespace))
	scalar("priority", abi.PodPriority, fmt.Sprint(pod.Priority))
	scalar("labels", abi.PodLabels, pairs(pod.Object.Labels))
	owner := "-"
	for _, o := range pod.Object.OwnerReferences {
		if o.Controller != nil && *o.Controller {
			owner = text(o.Kind + "/" + o.Name)
		}
	}
	scalar("owner", abi.PodOwner, owner)
	flags := "0"
	if pod.Object.DeletionTimestamp != nil {
		flags = "1"
	}
	scalar("flags", abi.PodFlags, flags)
	scalar("uid", abi.PodUID, text(string(pod.UID)))
	scalar("name", abi.PlacedPodName, text(pod.Name))
	if slices.Contains(m.reads.Pods, "requests") {
		for i, name := range m.reads.Resources {
			out[fmt.Sprintf("66.%d", i)] = fmt.Sprint(amount(&pod.Requests, name))
		}
	}
	for i, key := range m.reads.PodAnnotations {
		out[fmt.Sprintf("68.%d", i)] = lookup(pod.Object.Annotations, key)
	}
	for i, key := range m.reads.PodLabels {
		out[fmt.Sprintf("70.%d", i)] = lookup(pod.Object.Labels, key)
	}
	return out
}

// flat is a row as one line, with its lists sorted, since their order means nothing.
func flat(row map[string]string) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(row)) {
		out = append(out, key+": "+sorted(row[key]))
	}
	return strings.Join(out, "; ")
}

func sorted(value string) string {
	if inner, ok := strings.CutPrefix(value, "["); ok {
		return list(strings.Fields(strings.TrimSuffix(inner, "]")))
	}
	return value
}

// decoded is a row of a guest's snapshot in the form of mirror.node.
func decoded(t failer, s *wire.Snapshot, row uint32) map[string]string {
	t.Helper()
	out, err := s.Row(abi.TableNodes, row)
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range out {
		out[key] = sorted(value)
	}
	delete(out, "13.0")
	for key, name := range map[string]string{"12.0": "pods", "167.0": "nominated"} {
		slots, ok := out[key]
		if !ok {
			continue
		}
		delete(out, key)
		var pods []string
		for _, slot := range strings.Fields(strings.Trim(slots, "[]")) {
			n, err := strconv.ParseUint(slot, 10, 32)
			if err != nil {
				t.Fatal(err)
			}
			pod, err := s.Row(abi.TablePods, uint32(n))
			if err != nil {
				t.Fatal(err)
			}
			pods = append(pods, flat(pod))
		}
		slices.Sort(pods)
		out[name] = strings.Join(pods, "\n")
	}
	return out
}

// orphans returns slots that are filled although no row has them (ABI-4.11).
func orphans(t failer, s *wire.Snapshot) (out []string) {
	t.Helper()
	pods, nodes := s.Table(abi.TablePods), s.Table(abi.TableNodes)
	if pods == nil {
		return nil
	}
	used := map[uint32]bool{}
	for row := range nodes.Capacity + nodes.Overlays {
		if !nodes.HasRow(row) {
			continue
		}
		for _, column := range []abi.ColumnID{abi.NodePods, abi.NodeNominated} {
			data, _, err := nodes.List(column, 0, row)
			if err != nil && column == abi.NodePods {
				t.Fatal(err)
			}
			for ; err == nil && len(data) > 0; data = data[4:] {
				used[binary.LittleEndian.Uint32(data)] = true
			}
		}
	}
	for slot := range pods.Rows {
		if used[slot] {
			continue
		}
		for i := range pods.Columns {
			c := &pods.Columns[i]
			if c.ID >= abi.ArenaOf {
				continue
			}
			e, err := c.Element(slot)
			if err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(e, func(b byte) bool { return b != 0 }) {
				out = append(out, fmt.Sprintf("slot %d column %d: %x", slot, c.ID, e))
			}
		}
	}
	return out
}

// check compares the memory of all living guests with the cluster.
func (m *mirror) check(t failer, w *world, guests []*spied) {
	t.Helper()
	seen := map[string]bool{}
	for _, g := range guests {
		_, s := g.decode(t)
		m.checkNamespaces(t, w, s)
		nodes := s.Table(abi.TableNodes)
		for row := range nodes.Rows {
			got := decoded(t, s, row)
			name, err := strconv.Unquote(got["1.0"])
			if err != nil {
				t.Fatalf("row %d has no name: %v", row, got)
			}
			if seen[name] {
				t.Fatalf("node %s is there twice", name)
			}
			seen[name] = true
			info, ok := w.cache.Node(name)
			if !ok || info.Node == nil {
				t.Fatalf("node %s is still there", name)
			}
			var on []*state.Pod
			for i := range info.Pods {
				on = append(on, info.Pods[i].Pod)
			}
			if want := m.node(info.Node, on, nominatedTo(info)); !maps.Equal(got, want) {
				t.Fatalf("node %s\n got %v\nwant %v", name, got, want)
			}
		}
		if left := orphans(t, s); len(left) > 0 {
			t.Fatalf("slots without a row: %s", strings.Join(left, "\n"))
		}
	}
	if len(seen) != w.snap.Len() {
		t.Fatalf("guests have %d nodes of %d", len(seen), w.snap.Len())
	}
}

// checkNamespaces compares the namespaces table of a guest with the cluster.
func (m *mirror) checkNamespaces(t failer, w *world, s *wire.Snapshot) {
	t.Helper()
	if len(m.reads.Namespaces)+len(m.reads.NamespaceLabels) == 0 {
		return
	}
	want, sums := map[string]string{}, map[string]*state.Resources{}
	for pod := range w.cache.Pods() {
		if sums[pod.Namespace] == nil {
			sums[pod.Namespace] = &state.Resources{}
		}
		sums[pod.Namespace].Add(&pod.Requests)
	}
	for info := range w.cache.Namespaces() {
		ns := info.Namespace
		if !m.sees(ns.Name) {
			continue
		}
		cells := map[string]string{"224.0": text(ns.Name)}
		if slices.Contains(m.reads.Namespaces, "labels") {
			cells["225.0"] = pairs(ns.Labels)
		}
		for i, key := range m.reads.NamespaceLabels {
			cells[fmt.Sprintf("226.%d", i)] = lookup(ns.Labels, key)
		}
		for i, name := range m.reads.Resources {
			if sum := sums[ns.Name]; slices.Contains(m.reads.Namespaces, "requested") {
				cells[fmt.Sprintf("227.%d", i)] = "0"
				if sum != nil {
					cells[fmt.Sprintf("227.%d", i)] = strconv.FormatInt(amount(sum, name), 10)
				}
			}
		}
		want[text(ns.Name)] = flat(cells)
	}
	got := map[string]string{}
	for row := range s.Table(abi.TableNamespaces).Rows {
		cells, err := s.Row(abi.TableNamespaces, row)
		if err != nil {
			t.Fatal(err)
		}
		if name := cells["224.0"]; name != "-" {
			got[name] = flat(cells)
		} else if rest := flat(cells); strings.ContainsAny(rest, `"`) || hasAmount(cells) {
			t.Fatalf("an empty row of the namespaces has %s", rest)
		}
	}
	if !maps.Equal(got, want) {
		t.Fatalf("namespaces\n got %v\nwant %v", got, want)
	}
}

// hasAmount reports whether a namespace's row says that something is requested.
func hasAmount(cells map[string]string) bool {
	for key, cell := range cells {
		if strings.HasPrefix(key, "227.") && cell != "0" {
			return true
		}
	}
	return false
}

// nominatedTo returns the pods that are nominated to a node; none for nil.
func nominatedTo(info *state.NodeInfo) (out []*state.Pod) {
	if info != nil {
		for i := range info.Nominated {
			out = append(out, info.Nominated[i].Pod)
		}
	}
	return out
}
