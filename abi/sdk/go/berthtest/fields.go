package berthtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-scheduler/berth/internal/nearest"
)

// Words splits a line of a scenario at spaces outside double quotes. Words keep their quotes.
func Words(line string) []string { return split(line, ' ') }

// ParseNode parses a node: its name, then fields as described at [Scenarios].
func ParseNode(words []string) (Node, error) {
	if len(words) == 0 {
		return Node{}, fmt.Errorf("a node needs a name")
	}
	n := Node{Name: words[0]}
	for _, word := range words[1:] {
		field, value, _ := strings.Cut(word, "=")
		var err error
		switch field {
		case "labels":
			n.Labels = keyValues(value)
		case "annotations":
			n.Annotations = keyValues(value)
		case "conditions":
			n.Conditions = keyValues(value)
		case "allocatable":
			n.Allocatable, err = amounts(value)
		case "images":
			n.Images, err = amounts(value)
		case "unschedulable":
			n.Unschedulable = true
		case "taints":
			for _, e := range list(value) {
				parts := append(strings.Split(e, ":"), "", "")
				n.Taints = append(n.Taints, Taint{Key: parts[0], Value: parts[1], Effect: parts[2]})
			}
		default:
			return n, unknown("field of a node", field, "labels", "annotations", "conditions", "allocatable", "images", "unschedulable", "taints")
		}
		if err != nil {
			return n, fmt.Errorf("%s: %w", field, err)
		}
	}
	return n, nil
}

// ParsePod parses a pod: `namespace/name`, then fields as described at [Scenarios]. The field
// node becomes NodeName; rest has unknown fields.
func ParsePod(words []string) (p Pod, rest map[string]string, err error) {
	if len(words) == 0 || !strings.Contains(words[0], "/") {
		return p, nil, fmt.Errorf("a pod needs namespace/name")
	}
	p.Namespace, p.Name, _ = strings.Cut(words[0], "/")
	rest = map[string]string{}
	for _, word := range words[1:] {
		field, value, _ := strings.Cut(word, "=")
		known, err := p.field(field, value)
		if err != nil {
			return p, nil, fmt.Errorf("%s: %w", field, err)
		}
		if !known {
			rest[field] = unquote(value)
		}
	}
	return p, rest, nil
}

// podFields are the names of the fields that field sets.
func podFields() []string {
	return []string{
		"node", "uid", "labels", "annotations", "nodeSelector", "affinity", "preferred", "requests", "priority", "owner", "terminating",
		"schedulingGates", "images", "hostPorts", "tolerations",
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
		p.Labels = keyValues(value)
	case "annotations":
		p.Annotations = keyValues(value)
	case "nodeSelector":
		p.NodeSelector = keyValues(value)
	case "affinity":
		p.Required, err = terms(unquote(value))
	case "preferred":
		p.Preferred, err = preferred(unquote(value))
	case "requests":
		p.Requests, err = amounts(value)
	case "priority":
		var n int64
		n, err = number(value, 32)
		p.Priority = int32(n)
	case "owner":
		p.Owner = value
	case "terminating":
		p.Terminating = true
	case "schedulingGates":
		p.SchedulingGates = list(value)
	case "images":
		p.Images = list(value)
	case "hostPorts":
		for _, e := range list(value) {
			port, protocol, _ := strings.Cut(e, "/")
			n, err := strconv.ParseUint(port, 10, 16)
			if err != nil {
				return true, fmt.Errorf("%s: want a port number", e)
			}
			p.HostPorts = append(p.HostPorts, Port{Port: uint16(n), Protocol: protocol})
		}
	case "tolerations":
		for _, e := range list(value) {
			parts := append(strings.Split(e, ":"), "", "", "")
			tol := Toleration{Key: parts[0], Operator: "Equal", Value: parts[1], Effect: parts[2]}
			if tol.Value == "" {
				tol.Operator = "Exists"
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

// split splits at a separator outside double quotes, and drops empty parts.
func split(s string, separator byte) []string {
	var all []string
	from, quoted := 0, false
	for i := 0; i <= len(s); i++ {
		if i < len(s) && s[i] == '"' {
			quoted = !quoted
		}
		if i == len(s) || s[i] == separator && !quoted {
			if i > from {
				all = append(all, s[from:i])
			}
			from = i + 1
		}
	}
	return all
}

// list returns the comma-separated elements of a value.
func list(value string) []string {
	all := split(value, ',')
	for i := range all {
		all[i] = unquote(all[i])
	}
	return all
}

func unquote(s string) string { return strings.ReplaceAll(s, `"`, "") }

func keyValues(value string) map[string]string {
	m := map[string]string{}
	for _, e := range list(value) {
		k, v, _ := strings.Cut(e, ":")
		m[k] = v
	}
	return m
}

// amounts parses key:number; the number is after the last colon.
func amounts(value string) (map[string]int64, error) {
	m := map[string]int64{}
	for _, e := range list(value) {
		i := strings.LastIndexByte(e, ':')
		if i < 0 {
			return nil, fmt.Errorf("%s: want key:number", e)
		}
		n, err := number(e[i+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w: write milli-CPU, bytes or a count, such as cpu:500 or memory:1073741824", e[:i], err)
		}
		m[e[:i]] = n
	}
	return m, nil
}

// number parses a whole number of at most the given bits.
func number(text string, bits int) (int64, error) {
	n, err := strconv.ParseInt(text, 10, bits)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number of %d bits", text, bits)
	}
	return n, nil
}

// unknown is the error for a name that is none of the known ones.
func unknown(what, name string, known ...string) error {
	slices.Sort(known)
	return fmt.Errorf("unknown %s: %s; %s", what, name, nearest.DidYouMean(name, known))
}

// preferred parses preferred affinity: as terms, with the weight before each term.
func preferred(value string) ([]Preferred, error) {
	var out []Preferred
	for _, term := range strings.Split(value, " or ") {
		weight, rest, _ := strings.Cut(term, " ")
		n, err := strconv.ParseInt(weight, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%s: want a weight before the term", term)
		}
		all, err := terms(rest)
		if err != nil {
			return nil, err
		}
		out = append(out, Preferred{Weight: int32(n), Requirements: all[0]})
	}
	return out, nil
}

// terms parses required affinity: terms separated by `or`, of requirements separated by `and`,
// each a key, an operator and its values.
func terms(value string) ([][]Requirement, error) {
	var out [][]Requirement
	for _, term := range strings.Split(value, " or ") {
		var all []Requirement
		for _, one := range strings.Split(term, " and ") {
			words := strings.Fields(one)
			if len(words) < 2 || !slices.Contains([]string{"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"}, words[1]) {
				return nil, fmt.Errorf("%s: want a key, an operator such as In, and values", one)
			}
			if bounded := words[1] == "Gt" || words[1] == "Lt"; bounded && len(words) != 3 {
				return nil, fmt.Errorf("%s: want one number", one)
			}
			all = append(all, Requirement{Key: words[0], Operator: words[1], Values: words[2:]})
		}
		out = append(out, all)
	}
	return out, nil
}
