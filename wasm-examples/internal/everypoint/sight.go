package everypoint

import (
	"strconv"
	"strings"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
)

// seen lists what is read, for people.
type seen struct {
	p   *EveryPoint
	all []string
}

func (s *seen) numbers(all ...int64) {
	for _, n := range all {
		s.all = append(s.all, strconv.FormatInt(n, 10))
	}
}

func (s *seen) ids(all ...berth.ID) {
	for _, id := range all {
		if id == berth.Absent {
			s.all = append(s.all, "-")
		} else {
			s.all = append(s.all, s.p.Text(id))
		}
	}
}

func (s *seen) pairs(all []berth.Pair) {
	for _, pair := range all {
		s.ids(pair.Key, pair.Value)
	}
}

func (s *seen) ports(all []berth.Port) {
	for _, port := range all {
		s.ids(port.IP)
		s.numbers(int64(port.Port), int64(port.Protocol))
	}
}

func (s *seen) pod(pod berth.Pod) {
	cpu, memory := pod.NonZeroRequested()
	s.ids(pod.Namespace(), pod.Owner())
	s.numbers(pod.Priority(), pod.Request(s.p.cpu), cpu, memory)
	s.all = append(s.all, pod.Name(), "on", pod.NodeName())
	s.pairs(pod.Labels())
	s.pairs(pod.NamespaceLabels())
	s.ids(pod.SchedulingGates()...)
	s.ids(pod.Images()...)
	s.ports(pod.HostPorts())
	for _, r := range pod.NodeSelector() {
		s.ids(r.Key)
		s.numbers(int64(r.Operator))
		s.ids(pod.Values(&r)...)
	}
}

func (s *seen) node(n berth.Node) {
	cpu, memory := n.NonZeroRequested()
	s.ids(n.Zone(), n.Label(s.p.disk), n.Annotation(s.p.note))
	s.numbers(number(n.Unschedulable()), int64(n.Condition(s.p.ready)), n.Allocatable(s.p.cpu), n.Requested(s.p.cpu), cpu, memory)
	s.pairs(n.Labels())
	for _, taint := range n.Taints() {
		s.ids(taint.Key, taint.Value)
		s.numbers(int64(taint.Effect))
	}
	s.ports(n.Ports())
	for _, image := range n.Images() {
		s.ids(image.Name)
		s.numbers(image.Size)
	}
	for i := range n.Pods().Len() {
		pod := n.Pods().At(i)
		s.all = append(s.all, pod.Name(), pod.UID())
		s.ids(pod.Namespace(), pod.Owner(), pod.Label(s.p.app), pod.Annotation(s.p.peer))
		s.numbers(int64(pod.Priority()), pod.Request(s.p.cpu), number(pod.Terminating()))
		s.pairs(pod.Labels())
	}
}

func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// sight is the value of `{sight}`.
func (p *EveryPoint) sight(c call) string {
	s := seen{p: p}
	s.pod(c.pod)
	if c.node != nil {
		s.node(*c.node)
	}
	namespaces := p.Snapshot().Namespaces()
	for i := range namespaces.Len() {
		if namespaces.At(i).Name() == berth.Absent {
			continue
		}
		s.ids(namespaces.At(i).Name(), namespaces.At(i).Label(p.team))
		s.pairs(namespaces.At(i).Labels())
	}
	return strings.Join(s.all, " ")
}
