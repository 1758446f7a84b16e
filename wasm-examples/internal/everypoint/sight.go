package everypoint

import (
	"slices"
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

// each reads the n entries of a list, and puts them into the order of their bytes: a list has none.
func (s *seen) each(n int, read func(i int)) {
	from := len(s.all)
	for i := range n {
		at := len(s.all)
		read(i)
		s.all = append(s.all[:at], strings.Join(s.all[at:], " "))
	}
	slices.Sort(s.all[from:])
}

func (s *seen) list(all []berth.ID) { s.each(len(all), func(i int) { s.ids(all[i]) }) }

func (s *seen) pairs(all []berth.Pair) {
	s.each(len(all), func(i int) { s.ids(all[i].Key, all[i].Value) })
}

func (s *seen) ports(all []berth.Port) {
	s.each(len(all), func(i int) {
		s.ids(all[i].IP)
		s.numbers(int64(all[i].Port), int64(all[i].Protocol))
	})
}

func (s *seen) pod(pod berth.Pod) {
	cpu, memory := pod.NonZeroRequested()
	s.ids(pod.Namespace(), pod.Owner(), pod.LabelByKey(s.p.keys.app.ID()), pod.NamespaceLabelByKey(s.p.keys.team.ID()))
	s.numbers(pod.Priority(), pod.Request(s.p.cpu), pod.Request(s.p.memory), cpu, memory)
	s.all = append(s.all, pod.Name(), "on", pod.NodeName())
	s.pairs(pod.Labels())
	s.pairs(pod.NamespaceLabels())
	s.list(pod.SchedulingGates())
	s.list(pod.Images())
	s.ports(pod.HostPorts())
	s.requirements(pod, pod.NodeSelector())
	tolerations := pod.Tolerations()
	s.each(len(tolerations), func(i int) {
		t := tolerations[i]
		s.ids(t.Key, t.Value)
		s.numbers(int64(t.Operator), int64(t.Effect), t.Seconds)
	})
	required, is := pod.RequiredTerms()
	s.numbers(number(is))
	s.terms(pod, required)
	s.terms(pod, pod.PreferredTerms())
	s.numbers(pod.CreatedAt())
	s.ids(pod.PriorityClass(), pod.ServiceAccount(), pod.PreemptionPolicy(), pod.Group(), pod.QOS())
	s.numbers(pod.Limit(s.p.cpu), pod.Limit(s.p.memory))
	s.list(pod.Claims())
	s.numbers(pod.Now())
	containers := pod.Containers()
	s.each(len(containers), func(i int) {
		c := containers[i]
		s.ids(c.Name, c.Image)
		s.numbers(int64(c.Kind), pod.ContainerRequest(c, s.p.cpu), pod.ContainerLimit(c, s.p.cpu))
		s.numbers(pod.ContainerRequest(c, s.p.memory), pod.ContainerLimit(c, s.p.memory))
	})
}

func (s *seen) terms(pod berth.Pod, all []berth.Term) {
	s.each(len(all), func(i int) {
		s.numbers(int64(all[i].Weight), number(all[i].Unusable()), number(all[i].HasFields()))
		s.requirements(pod, pod.Requirements(all[i]))
	})
}

func (s *seen) requirements(pod berth.Pod, all []berth.Requirement) {
	s.each(len(all), func(i int) {
		s.ids(all[i].Key)
		s.numbers(int64(all[i].Operator), all[i].Number)
		s.list(pod.Values(&all[i]))
	})
}

func (s *seen) node(n berth.Node) {
	cpu, memory := n.NonZeroRequested()
	s.ids(n.Zone(), n.Label(s.p.disk), n.LabelByKey(s.p.keys.disk.ID()), n.Annotation(s.p.note))
	s.numbers(number(n.Unschedulable()), int64(n.Condition(s.p.ready)), n.Allocatable(s.p.cpu), n.Requested(s.p.cpu))
	s.numbers(n.Allocatable(s.p.memory), n.Requested(s.p.memory), cpu, memory)
	s.numbers(n.Capacity(s.p.cpu), n.Capacity(s.p.memory), n.CreatedAt())
	s.numbers(n.Feed(s.p.usage), int64(n.FeedState(s.p.usage)), n.RequestedSince(s.p.cpu), n.RequestedSince(s.p.memory))
	s.ids(n.ObjectTexts(s.p.slotNames)...)
	s.numbers(n.ObjectNumbers(s.p.slotSizes)...)
	s.pairs(n.Labels())
	taints, images := n.Taints(), n.Images()
	s.each(len(taints), func(i int) {
		s.ids(taints[i].Key, taints[i].Value)
		s.numbers(int64(taints[i].Effect))
	})
	s.ports(n.Ports())
	s.each(len(images), func(i int) {
		s.ids(images[i].Name)
		s.numbers(images[i].Size)
	})
	for _, pods := range [...]berth.Pods{n.Pods(), n.Nominated()} {
		s.each(pods.Len(), func(i int) { s.placed(pods.At(i)) })
	}
}

func (s *seen) placed(pod berth.PlacedPod) {
	s.all = append(s.all, pod.Name(), pod.UID())
	s.ids(pod.Namespace(), pod.Owner(), pod.Label(s.p.app), pod.LabelByKey(s.p.keys.app.ID()), pod.Annotation(s.p.peer))
	s.numbers(int64(pod.Priority()), pod.Request(s.p.cpu), pod.Request(s.p.memory), number(pod.Terminating()))
	s.pairs(pod.Labels())
	s.ids(pod.QOS())
	s.numbers(pod.Limit(s.p.cpu), pod.Limit(s.p.memory), pod.AssignedAt(), pod.CreatedAt(), number(pod.Running()), number(pod.Ready()))
}

func (s *seen) namespace(n berth.Namespace) {
	s.ids(n.Name(), n.Label(s.p.team), n.LabelByKey(s.p.keys.team.ID()))
	s.pairs(n.Labels())
	s.numbers(n.Requested(s.p.cpu), n.Requested(s.p.memory))
	s.ids(n.ObjectTexts(s.p.maxKeys)...)
	s.numbers(n.ObjectNumbers(s.p.maxima)...)
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
	all := p.Snapshot().Namespaces()
	var there []berth.Namespace
	for i := range all.Len() {
		if all.At(i).Name() != berth.Absent {
			there = append(there, all.At(i))
		}
	}
	s.each(len(there), func(i int) { s.namespace(there[i]) })
	if own, ok := all.Find(c.pod.Namespace()); ok {
		s.namespace(own)
	}
	return strings.Join(s.all, " ")
}
