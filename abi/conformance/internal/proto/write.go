package proto

import (
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"github.com/berth-scheduler/berth/abi/conformance/cluster"
)

// message is a protobuf message being written.
type message []byte

func (m *message) bytes(number int, value []byte) {
	*m = binary.AppendUvarint(*m, uint64(number)<<3|2)
	*m = binary.AppendUvarint(*m, uint64(len(value)))
	*m = append(*m, value...)
}

func (m *message) text(number int, value string) {
	if value != "" {
		m.bytes(number, []byte(value))
	}
}

func (m *message) number(number int, value int64) {
	*m = binary.AppendUvarint(*m, uint64(number)<<3)
	*m = binary.AppendUvarint(*m, uint64(value))
}

func (m *message) flag(number int, value bool) {
	if value {
		m.number(number, 1)
	}
}

func (m *message) sub(number int, fill func(m *message)) {
	var inner message
	fill(&inner)
	m.bytes(number, inner)
}

func (m *message) texts(number int, from map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(from)) {
		m.sub(number, func(m *message) {
			m.bytes(1, []byte(key))
			m.bytes(2, []byte(from[key]))
		})
	}
}

func (m *message) quantities(number int, from map[string]cluster.Quantity) {
	for _, key := range slices.Sorted(maps.Keys(from)) {
		m.sub(number, func(m *message) {
			m.bytes(1, []byte(key))
			m.sub(2, func(m *message) { m.text(1, string(from[key])) })
		})
	}
}

// conditions writes the conditions of a node or a pod, which have the same numbers.
func (m *message) conditions(number int, all []cluster.Condition) {
	for _, c := range all {
		m.sub(number, func(m *message) {
			m.text(1, c.Type)
			m.text(2, c.Status)
			if at, err := time.Parse(time.RFC3339, c.Since); err == nil {
				m.sub(4, func(m *message) { m.number(1, at.Unix()) })
			}
		})
	}
}

// metadata writes ObjectMeta, without managedFields (ABI-7.7).
func (m *message) metadata(from *cluster.Metadata) {
	m.text(1, from.Name)
	m.text(3, from.Namespace)
	m.text(5, from.UID)
	if at, err := time.Parse(time.RFC3339, from.Creation); err == nil {
		m.sub(8, func(m *message) { m.number(1, at.Unix()) })
	}
	if at, err := time.Parse(time.RFC3339, from.Deletion); err == nil {
		m.sub(9, func(m *message) { m.number(1, at.Unix()) })
	}
	m.texts(11, from.Labels)
	m.texts(12, from.Annotations)
	for _, o := range from.Owners {
		m.sub(13, func(m *message) {
			m.text(1, o.Kind)
			m.text(3, o.Name)
			m.text(4, o.UID)
			m.text(5, o.APIVersion)
			m.flag(6, o.Controller)
		})
	}
}

// Pod writes a Pod.
func Pod(p *cluster.Pod) []byte {
	var m message
	m.sub(1, func(m *message) { m.metadata(&p.Metadata) })
	m.sub(2, func(m *message) { m.podSpec(&p.Spec) })
	m.sub(3, func(m *message) {
		m.text(1, p.Status.Phase)
		m.conditions(2, p.Status.Conditions)
		m.text(9, p.Status.QOS)
	})
	return m
}

func (m *message) podSpec(s *cluster.PodSpec) {
	for _, v := range s.Volumes {
		m.sub(1, func(m *message) {
			m.text(1, v.Name)
			m.sub(2, func(m *message) {
				if v.Claim != nil {
					m.sub(10, func(m *message) { m.text(1, v.Claim.Name) })
				}
				if v.Ephemeral != nil {
					m.sub(29, func(*message) {})
				}
			})
		})
	}
	for i := range s.Containers {
		m.sub(2, func(m *message) { m.container(&s.Containers[i]) })
	}
	m.texts(7, s.NodeSelector)
	m.text(8, s.ServiceAccount)
	m.text(10, s.NodeName)
	if s.Affinity != nil {
		m.sub(18, func(m *message) { m.affinity(s.Affinity) })
	}
	m.text(19, s.SchedulerName)
	for _, t := range s.Tolerations {
		m.sub(22, func(m *message) {
			m.text(1, t.Key)
			m.text(2, t.Operator)
			m.text(3, t.Value)
			m.text(4, t.Effect)
			if t.Seconds != nil {
				m.number(5, *t.Seconds)
			}
		})
	}
	m.text(24, s.PriorityClass)
	if s.Priority != nil {
		m.number(25, int64(*s.Priority))
	}
	m.text(31, s.PreemptionPolicy)
	for _, gate := range s.SchedulingGates {
		m.sub(38, func(m *message) { m.text(1, gate.Name) })
	}
	if s.Group != nil {
		m.sub(43, func(m *message) { m.text(1, s.Group.Name) })
	}
}

func (m *message) container(c *cluster.Container) {
	m.text(1, c.Name)
	m.text(2, c.Image)
	for _, p := range c.Ports {
		m.sub(6, func(m *message) {
			m.number(2, int64(p.HostPort))
			m.number(3, int64(p.ContainerPort))
			m.text(4, p.Protocol)
			m.text(5, p.HostIP)
		})
	}
	m.sub(8, func(m *message) {
		m.quantities(1, c.Resources.Limits)
		m.quantities(2, c.Resources.Requests)
	})
}

func (m *message) affinity(a *cluster.Affinity) {
	if a.Node == nil {
		return
	}
	m.sub(1, func(m *message) {
		if a.Node.Required != nil {
			m.sub(1, func(m *message) {
				for i := range a.Node.Required.Terms {
					m.sub(1, func(m *message) { m.term(&a.Node.Required.Terms[i]) })
				}
			})
		}
		for i := range a.Node.Preferred {
			m.sub(2, func(m *message) {
				m.number(1, int64(a.Node.Preferred[i].Weight))
				m.sub(2, func(m *message) { m.term(&a.Node.Preferred[i].Term) })
			})
		}
	})
}

func (m *message) term(t *cluster.Term) {
	for number, list := range [][]cluster.Requirement{t.Expressions, t.Fields} {
		for _, q := range list {
			m.sub(number+1, func(m *message) {
				m.text(1, q.Key)
				m.text(2, q.Operator)
				for _, v := range q.Values {
					m.bytes(3, []byte(v))
				}
			})
		}
	}
}

// Node writes a Node.
func Node(n *cluster.Node) []byte {
	var m message
	m.sub(1, func(m *message) { m.metadata(&n.Metadata) })
	m.sub(2, func(m *message) {
		m.flag(4, n.Spec.Unschedulable)
		for _, t := range n.Spec.Taints {
			m.sub(5, func(m *message) {
				m.text(1, t.Key)
				m.text(2, t.Value)
				m.text(3, t.Effect)
			})
		}
	})
	m.sub(3, func(m *message) {
		m.quantities(1, n.Status.Capacity)
		m.quantities(2, n.Status.Allocatable)
		m.conditions(4, n.Status.Conditions)
		for _, image := range n.Status.Images {
			m.sub(8, func(m *message) {
				for _, name := range image.Names {
					m.text(1, name)
				}
				m.number(2, image.Size)
			})
		}
	})
	return m
}
