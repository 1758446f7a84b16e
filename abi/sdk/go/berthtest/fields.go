package berthtest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Words splits a line of a scenario at spaces outside double quotes. Words keep their quotes.
func Words(line string) []string { return split(line, ' ') }

// nodeFields are the names of the fields that field sets.
func nodeFields() []string {
	return []string{
		"labels", "annotations", "conditions", "allocatable", "capacity", "createdAt", "feeds", "images", "objects", "requestedSince", "stale",
		"unschedulable", "taints",
	}
}

// field sets a field, and reports whether it is known.
func (n *Node) field(field, value string) (known bool, err error) {
	switch field {
	case "labels":
		n.Labels, err = keyValues(value)
	case "annotations":
		n.Annotations, err = keyValues(value)
	case "conditions":
		n.Conditions, err = keyValues(value)
		for _, status := range n.Conditions {
			err = errors.Join(err, oneOf(status, "True", "False", "Unknown"))
		}
	case "allocatable":
		n.Allocatable, err = amounts(value)
	case "capacity":
		n.Capacity, err = amounts(value)
	case "createdAt":
		n.CreatedAt, err = strconv.ParseInt(value, 10, 64)
	case "images":
		n.Images, err = amounts(value)
	case "feeds":
		n.Feeds, err = feeds(value)
	case "objects":
		n.Objects, err = values(value)
	case "stale":
		n.Stale = list(value)
	case "requestedSince":
		n.RequestedSince, err = amounts(value)
	case "unschedulable":
		n.Unschedulable, err = yes(value)
	case "taints":
		n.Taints = nil
		for _, e := range list(value) {
			parts := append(strings.Split(e, ":"), "", "")
			n.Taints = append(n.Taints, Taint{Key: parts[0], Value: parts[1], Effect: parts[2]})
			err = errors.Join(err, oneOf(parts[2], effects()...))
		}
	default:
		return false, nil
	}
	return true, err
}

// yes parses a field that is true by its name alone.
func yes(value string) (bool, error) {
	if value == "" {
		return true, nil
	}
	is, err := strconv.ParseBool(value)
	if err != nil {
		err = fmt.Errorf("%q is neither true nor false", value)
	}
	return is, err
}

// set sets the fields in words; rest has those that field does not know.
func set(words []string, field func(field, value string) (known bool, err error)) (rest map[string]string, err error) {
	rest = map[string]string{}
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		known, err := field(name, value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if !known {
			rest[name] = unquote(value)
		}
	}
	return rest, nil
}

// podFields are the names of the fields that field sets.
func podFields() []string {
	return []string{
		"node", "uid", "labels", "annotations", "nodeSelector", "affinity", "preferred", "requests", "priority", "owner", "terminating",
		"schedulingGates", "images", "hostPorts", "tolerations", "createdAt", "priorityClass", "serviceAccount", "preemptionPolicy", "group",
		"limits", "qos", "claims", "containers", "assignedAt", "running", "ready",
	}
}

// field sets a field, and reports whether it is known.
func (p *Pod) field(field, value string) (known bool, err error) {
	switch field {
	case "node":
		p.NodeName = value
	case "uid":
		p.UID = value
	case "labels":
		p.Labels, err = keyValues(value)
	case "annotations":
		p.Annotations, err = keyValues(value)
	case "nodeSelector":
		p.NodeSelector, err = keyValues(value)
	case "affinity":
		p.Required, err = terms(unquote(value))
	case "preferred":
		p.Preferred, err = preferred(unquote(value))
	case "requests":
		p.NonZero = [2]int64{}
		p.Requests, err = amounts(value)
	case "priority":
		var n int64
		n, err = number(value, 32)
		p.Priority = int32(n)
	case "owner":
		p.Owner = value
	case "terminating":
		p.Terminating, err = yes(value)
	case "schedulingGates":
		p.SchedulingGates = list(value)
	case "createdAt":
		p.CreatedAt, err = number(value, 64)
	case "priorityClass":
		p.PriorityClass = value
	case "serviceAccount":
		p.ServiceAccount = value
	case "preemptionPolicy":
		p.PreemptionPolicy, err = value, oneOf(value, "PreemptLowerPriority", "Never")
	case "group":
		p.Group = value
	case "limits":
		p.Limits, err = amounts(value)
	case "qos":
		p.QOS, err = value, oneOf(value, "Guaranteed", "Burstable", "BestEffort")
	case "claims":
		p.Claims = list(value)
	case "containers":
		p.Containers, err = containers(value)
	case "assignedAt":
		p.AssignedAt, err = number(value, 64)
	case "running":
		p.Running, err = yes(value)
	case "ready":
		p.Ready, err = yes(value)
	case "images":
		p.Images = list(value)
	case "hostPorts":
		p.HostPorts = nil
		for _, e := range list(value) {
			port, protocol, _ := strings.Cut(e, "/")
			n, err := strconv.ParseUint(port, 10, 16)
			if err != nil {
				return true, fmt.Errorf("%s: want a port number", e)
			}
			p.HostPorts = append(p.HostPorts, Port{Port: uint16(n), Protocol: protocol})
		}
	case "tolerations":
		p.Tolerations = nil
		for _, e := range list(value) {
			parts := append(strings.Split(e, ":"), "", "", "")
			tol := Toleration{Key: parts[0], Operator: "Equal", Value: parts[1], Effect: parts[2]}
			if tol.Value == "" {
				tol.Operator = "Exists"
			}
			if tol.Effect != "" {
				err = errors.Join(err, oneOf(tol.Effect, effects()...))
			}
			if parts[3] != "" {
				n, err := number(parts[3], 64)
				if err != nil {
					return true, err
				}
				tol.Seconds = &n
			}
			p.Tolerations = append(p.Tolerations, tol)
		}
	default:
		return false, nil
	}
	return true, err
}
