package berth_test

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"testing"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/berthtest"
)

//go:embed testdata/reader.json
var readerManifest []byte

// reader refuses every node and returns everything that it read as reasons.
type reader struct {
	berth.Base
	zone, rack             berth.NodeLabel
	note                   berth.NodeAnnotation
	ready, disk            berth.NodeCondition
	cpu, memory, pods      berth.Resource
	app                    berth.PodLabel
	gpu                    berth.PodAnnotation
	appKey, zoneKey, nokey berth.Const
	team                   berth.NamespaceLabel
	teamKey                berth.Const
}

var _ berth.Filterer = (*reader)(nil)

func newReader() *reader {
	b := berth.Load(readerManifest)
	return &reader{
		Base: b, zone: b.NodeLabel("zone"), rack: b.NodeLabel("rack"), note: b.NodeAnnotation("note"),
		ready: b.NodeCondition("Ready"), disk: b.NodeCondition("DiskPressure"),
		cpu: b.Resource("cpu"), memory: b.Resource("memory"), pods: b.Resource("pods"),
		app: b.PodLabel("app"), gpu: b.PodAnnotation("gpu"),
		team: b.NamespaceLabel("team"), teamKey: b.Const("team"),
		appKey: b.Const("app"), zoneKey: b.Const("zone"), nokey: b.Const("no such key"),
	}
}

func (p *reader) Filter(pod berth.Pod, node berth.Node) berth.Status {
	return berth.Unschedulable(p.Reason(p.pod(pod), p.node(node)))
}

func (p *reader) pairs(pairs []berth.Pair) string {
	var all []string
	for _, pair := range pairs {
		all = append(all, p.Text(pair.Key)+"="+p.Text(pair.Value))
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}

func (p *reader) ports(ports []berth.Port) (all []string) {
	for _, port := range ports {
		all = append(all, fmt.Sprint(p.Text(port.IP), ":", port.Port, "/", port.Protocol))
	}
	slices.Sort(all)
	return all
}

func (p *reader) node(n berth.Node) string {
	var b strings.Builder
	line := func(args ...any) { fmt.Fprintln(&b, args...) }
	line(n.Name(), n.Unschedulable(), n.Generation() > 0)
	line("cpu", n.Requested(p.cpu), "of", n.Allocatable(p.cpu), "pods", n.Requested(p.pods), "of", n.Allocatable(p.pods))
	cpu, memory := n.NonZeroRequested()
	line("nonzero", cpu, memory)
	line("labels", p.pairs(n.Labels()), "zone", p.Text(n.Label(p.zone)), "rack", n.Label(p.rack) == berth.Absent,
		n.LabelByKey(p.zoneKey.ID()) == n.Label(p.zone), n.LabelByKey(p.nokey.ID()))
	line("region", p.Text(n.Zone()), "note", p.Text(n.Annotation(p.note)), "ready", n.Condition(p.ready), "disk", n.Condition(p.disk))
	var taints, images, pods []string
	for _, t := range n.Taints() {
		taints = append(taints, fmt.Sprint(p.Text(t.Key), "=", p.Text(t.Value), ":", t.Effect))
	}
	for _, i := range n.Images() {
		images = append(images, fmt.Sprint(p.Text(i.Name), " ", i.Size))
	}
	for i := range n.Pods().Len() {
		pods = append(pods, p.placed(n.Pods().At(i)))
	}
	slices.Sort(taints)
	slices.Sort(images)
	slices.Sort(pods)
	line("taints", taints, "ports", p.ports(n.Ports()), "images", images)
	for _, pod := range pods {
		line(pod)
	}
	return b.String()
}

func (p *reader) placed(pod berth.PlacedPod) string {
	return fmt.Sprint("pod ", pod.Name(), " ", pod.UID(), " in ", p.Text(pod.Namespace()), " priority ", pod.Priority(), " cpu ", pod.Request(p.cpu),
		" labels ", p.pairs(pod.Labels()), " app ", p.Text(pod.Label(p.app)), " ", pod.LabelByKey(p.appKey.ID()) == pod.Label(p.app),
		" gpu ", p.Text(pod.Annotation(p.gpu)), " owner ", p.Text(pod.Owner()), " ", pod.Terminating())
}

func (p *reader) pod(pod berth.Pod) string {
	var b strings.Builder
	line := func(args ...any) { fmt.Fprintln(&b, args...) }
	cpu, memory := pod.NonZeroRequested()
	line(p.Text(pod.Namespace()), pod.Name(), "priority", pod.Priority(), "cpu", pod.Request(p.cpu), "memory", pod.Request(p.memory), "nonzero", cpu, memory)
	line("labels", p.pairs(pod.Labels()), "app", p.Text(pod.LabelByKey(p.appKey.ID())), "gpu", p.Text(pod.Annotation(p.gpu)), "owner", p.Text(pod.Owner()))
	var gates, namespaces []string
	for _, gate := range pod.SchedulingGates() {
		gates = append(gates, p.Text(gate))
	}
	all := p.Snapshot().Namespaces()
	for i := range all.Len() {
		n := all.At(i)
		if n.Name() == berth.Absent {
			continue // an empty row
		}
		found, ok := all.Find(n.Name())
		namespaces = append(namespaces, fmt.Sprint(p.Text(n.Name()), " ", p.pairs(n.Labels()), " ", p.Text(n.Label(p.team)), " ",
			n.LabelByKey(p.teamKey.ID()) == n.Label(p.team), ok && found == n))
	}
	slices.Sort(namespaces)
	_, known := all.Find(p.nokey.ID())
	line(pod.UID(), "on", pod.NodeName(), "gates", gates, "of", p.pairs(pod.NamespaceLabels()), p.Text(pod.NamespaceLabelByKey(p.teamKey.ID())))
	line(strings.Join(namespaces, ", "), known)
	for _, t := range pod.Tolerations() {
		line("tolerates", p.Text(t.Key), t.Operator, p.Text(t.Value), t.Effect, t.Seconds)
	}
	selector := pod.NodeSelector()
	p.requirements(&b, "selector", pod, selector)
	terms, any := pod.RequiredTerms()
	line("required", any)
	for _, t := range terms {
		p.requirements(&b, fmt.Sprint("required ", t.Unusable(), t.HasFields()), pod, pod.Requirements(t))
	}
	for _, t := range pod.PreferredTerms() {
		p.requirements(&b, fmt.Sprint("preferred ", t.Weight), pod, pod.Requirements(t))
	}
	var images []string
	for _, i := range pod.Images() {
		images = append(images, p.Text(i))
	}
	line("ports", p.ports(pod.HostPorts()), "images", images)
	return b.String()
}

func (p *reader) requirements(b *strings.Builder, what string, pod berth.Pod, all []berth.Requirement) {
	for i := range all {
		r := &all[i]
		fmt.Fprint(b, what, ": ", p.Text(r.Key), " ", r.Operator, " ")
		for _, v := range pod.Values(r) {
			fmt.Fprint(b, p.Text(v), ",")
		}
		fmt.Fprintln(b, r.Number)
	}
}

const wantPod = `team-a web priority 5 cpu 250 memory 0 nonzero 250 7
labels app=web app web gpu  owner ReplicaSet/web
team-a/web on n9 gates [hold wait] of env=,team=a a
team-a env=,team=a a true true, team-z   true true false
tolerates dedicated 1 ml 1 -1
tolerates  2  0 30
selector: zone 1 a,0
required true
required false false: zone 1 a,b,0
required false false: cores 5 16
preferred 10: rack 4 0
ports [0.0.0.0:8080/1] images [img:1 img:2]
`

const wantNodes = `n1 true true
cpu 1500 of 4000 pods 2 of 110
nonzero 1500 256
labels empty=,topology.kubernetes.io/zone=a,zone=a zone a rack true true 0
region a note hello ready 1 disk 2
taints [=:3 dedicated=ml:1] ports [0.0.0.0:80/3 10.0.0.1:533/2] images [img:1 100 img:2 200]
pod p1 team-a/p1 in team-a priority -7 cpu 1000 labels app=web,tier= app web true gpu 3 owner ReplicaSet/web true
pod p2 u-2 in team-b priority 0 cpu 500 labels  app  true gpu  owner  false

n2 false true
cpu 0 of 0 pods 0 of 0
nonzero 0 0
labels  zone  rack true true 0
region  note  ready 0 disk 0
taints [] ports [] images []
`

// TestViews reads every column and every field.
func TestViews(t *testing.T) {
	trial := berthtest.New(t, readerManifest, berthtest.Native(newReader), "")
	seconds := int64(30)
	trial.Nodes = []berthtest.Node{
		{
			Name: "n1", Unschedulable: true, Allocatable: map[string]int64{"cpu": 4000, "pods": 110},
			Labels: map[string]string{"zone": "a", "topology.kubernetes.io/zone": "a", "empty": ""}, Annotations: map[string]string{"note": "hello", "secret": "x"},
			Taints:     []berthtest.Taint{{Key: "dedicated", Value: "ml", Effect: "NoSchedule"}, {Effect: "NoExecute"}},
			Conditions: map[string]string{"Ready": "True", "DiskPressure": "False"},
			Images:     map[string]int64{"img:1": 100, "img:2": 200},
			Pods: []berthtest.Pod{
				{
					Namespace: "team-a", Name: "p1", Labels: map[string]string{"app": "web", "tier": ""}, Annotations: map[string]string{"gpu": "3"},
					Priority: -7, Owner: "ReplicaSet/web", Requests: map[string]int64{"cpu": 1000, "memory": 256}, Terminating: true,
					HostPorts: []berthtest.Port{{IP: "10.0.0.1", Port: 533, Protocol: "UDP"}},
				},
				{Namespace: "team-b", Name: "p2", UID: "u-2", Requests: map[string]int64{"cpu": 500}, HostPorts: []berthtest.Port{{Port: 80, Protocol: "SCTP"}}},
			},
		},
		{Name: "n2"},
	}
	trial.Namespaces = []berthtest.Namespace{{Name: "team-a", Labels: map[string]string{"team": "a", "env": ""}}, {Name: "team-z"}}
	verdicts := trial.Place(berthtest.Pod{
		NodeName: "n9", SchedulingGates: []string{"hold", "wait"},
		Namespace: "team-a", Name: "web", Priority: 5, Owner: "ReplicaSet/web", Labels: map[string]string{"app": "web"},
		Requests: map[string]int64{"cpu": 250}, NonZero: [2]int64{0, 7}, HostPorts: []berthtest.Port{{Port: 8080}}, Images: []string{"img:1", "img:2"},
		Tolerations:  []berthtest.Toleration{{Key: "dedicated", Value: "ml", Effect: "NoSchedule"}, {Operator: "Exists", Seconds: &seconds}},
		NodeSelector: map[string]string{"zone": "a"},
		Required: [][]berthtest.Requirement{
			{{Key: "zone", Operator: "In", Values: []string{"a", "b"}}}, {{Key: "cores", Operator: "Gt", Values: []string{"16"}}},
		},
		Preferred: []berthtest.Preferred{{Weight: 10, Requirements: []berthtest.Requirement{{Key: "rack", Operator: "DoesNotExist"}}}},
	})
	var got []string
	for _, v := range verdicts {
		if v.Reasons[0] != wantPod {
			t.Errorf("the pod as seen from %s:\n%s\nwant\n%s", v.Node, v.Reasons[0], wantPod)
		}
		got = append(got, v.Reasons[1])
	}
	if all := strings.Join(got, "\n"); all != wantNodes {
		t.Errorf("nodes:\n%s\nwant\n%s", all, wantNodes)
	}
}
