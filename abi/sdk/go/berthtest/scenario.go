package berthtest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Scenarios runs every file that matches the pattern. A file has lines, one thing
// each:
//
//	config {"shared": ["general"]}
//	node a labels=berth.dev/pool:general allocatable=cpu:8000
//	pod default/web node=a requests=cpu:500 labels=app:web
//	try default/new requests=cpu:100
//	----
//	a Success 0
//
// A config line, which may go on over indented lines, begins with an empty
// cluster. The lines after `----`, up to an empty line, are what is expected of a
// try, or of a configuration that is refused. With BERTHTEST_REWRITE=1 in the
// environment they are written instead.
//
// Fields of a node are labels, annotations, allocatable, conditions, images
// (key:value,…), taints (key:value:effect,…) and unschedulable; of a pod labels,
// annotations, requests, nodeSelector, priority, owner, node, terminating,
// hostPorts (port/protocol,…), images (name,…) and tolerations
// (key:value:effect,…; an empty value is operator Exists).
func Scenarios(t *testing.T, pattern string, manifest []byte, guest Factory) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios match %s: %v", pattern, err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) { scenario(t, name, manifest, guest) })
	}
}

// file is a scenario file on its way through.
type file struct {
	t        *testing.T
	name     string
	lines    []string
	at       int // the next line
	out      strings.Builder
	manifest []byte
	guest    Factory
	trial    *Trial
}

func scenario(t *testing.T, name string, manifest []byte, guest Factory) {
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	f := &file{t: t, name: name, lines: strings.SplitAfter(string(data), "\n"), manifest: manifest, guest: guest}
	f.trial = New(t, manifest, guest, "")
	for f.at < len(f.lines) {
		line := f.next()
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		at := f.at
		got, err := f.run(words[0], words[1:], line)
		if err != nil {
			t.Fatalf("%s:%d: %v", name, at, err)
		}
		if got != nil {
			f.expect(at, got)
		}
	}
	if rewrite() {
		if err := os.WriteFile(name, []byte(f.out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// next takes a line over.
func (f *file) next() string {
	line := f.lines[f.at]
	f.out.WriteString(line)
	f.at++
	return strings.TrimSuffix(line, "\n")
}

// follows reports whether the next line begins so.
func (f *file) follows(prefix string) bool {
	return f.at < len(f.lines) && strings.HasPrefix(f.lines[f.at], prefix)
}

// run carries out one line and returns what it shows, nil if that is nothing.
func (f *file) run(command string, words []string, line string) ([]string, error) {
	switch command {
	case "config":
		config := strings.TrimPrefix(line, command)
		for f.follows(" ") {
			config += f.next()
		}
		f.trial = New(f.t, f.manifest, f.guest, strings.TrimSpace(config))
		if !f.follows("----") {
			return nil, nil
		}
		why, refused := f.trial.Refused()
		if !refused {
			return []string{"accepted"}, nil
		}
		return []string{why}, nil
	case "node":
		return nil, f.trial.addNode(words)
	case "pod":
		return nil, f.trial.addPod(words)
	case "try":
		pod, _, err := parsePod(words)
		if err != nil {
			return nil, err
		}
		got := []string{}
		for _, v := range f.trial.Place(pod) {
			got = append(got, v.String())
		}
		return got, nil
	}
	return nil, fmt.Errorf("unknown command %s", command)
}

// expect holds what a line showed against what the file has after it.
func (f *file) expect(at int, got []string) {
	var want []string
	if f.follows("----") {
		for f.at++; f.at < len(f.lines) && strings.TrimSpace(f.lines[f.at]) != ""; f.at++ {
			want = append(want, strings.TrimSuffix(f.lines[f.at], "\n"))
		}
	}
	if !rewrite() && !slices.Equal(got, want) {
		f.t.Errorf("%s:%d: got\n%s\nwant\n%s", f.name, at, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	f.out.WriteString("----\n" + strings.Join(got, "\n") + "\n")
}

func rewrite() bool { return os.Getenv("BERTHTEST_REWRITE") == "1" }

func (t *Trial) addNode(words []string) error {
	if len(words) == 0 {
		return fmt.Errorf("a node needs a name")
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
			n.Allocatable, err = numbers(value)
		case "images":
			n.Images, err = numbers(value)
		case "unschedulable":
			n.Unschedulable = true
		case "taints":
			for _, e := range list(value) {
				parts := append(strings.Split(e, ":"), "", "")
				n.Taints = append(n.Taints, Taint{Key: parts[0], Value: parts[1], Effect: parts[2]})
			}
		default:
			err = fmt.Errorf("a node has no field %s", field)
		}
		if err != nil {
			return err
		}
	}
	t.Nodes = append(t.Nodes, n)
	return nil
}

func (t *Trial) addPod(words []string) error {
	pod, node, err := parsePod(words)
	if err != nil {
		return err
	}
	for i := range t.Nodes {
		if t.Nodes[i].Name == node {
			t.Nodes[i].Pods = append(t.Nodes[i].Pods, pod)
			return nil
		}
	}
	return fmt.Errorf("pod %s/%s is on node %q, which is not there", pod.Namespace, pod.Name, node)
}

func parsePod(words []string) (p Pod, node string, err error) {
	if len(words) == 0 || !strings.Contains(words[0], "/") {
		return p, "", fmt.Errorf("a pod needs namespace/name")
	}
	p.Namespace, p.Name, _ = strings.Cut(words[0], "/")
	for _, word := range words[1:] {
		field, value, _ := strings.Cut(word, "=")
		switch field {
		case "node":
			node = value
		case "labels":
			p.Labels = keyValues(value)
		case "annotations":
			p.Annotations = keyValues(value)
		case "nodeSelector":
			p.NodeSelector = keyValues(value)
		case "requests":
			p.Requests, err = numbers(value)
		case "priority":
			var n int64
			n, err = strconv.ParseInt(value, 10, 32)
			p.Priority = int32(n)
		case "owner":
			p.Owner = value
		case "terminating":
			p.Terminating = true
		case "images":
			p.Images = list(value)
		case "hostPorts":
			for _, e := range list(value) {
				number, protocol, _ := strings.Cut(e, "/")
				var n uint64
				n, err = strconv.ParseUint(number, 10, 16)
				p.HostPorts = append(p.HostPorts, Port{Port: uint16(n), Protocol: protocol})
			}
		case "tolerations":
			for _, e := range list(value) {
				parts := append(strings.Split(e, ":"), "", "")
				tol := Toleration{Key: parts[0], Operator: "Equal", Value: parts[1], Effect: parts[2]}
				if tol.Value == "" {
					tol.Operator = "Exists"
				}
				p.Tolerations = append(p.Tolerations, tol)
			}
		default:
			err = fmt.Errorf("a pod has no field %s", field)
		}
		if err != nil {
			return p, "", err
		}
	}
	return p, node, nil
}

func list(value string) []string {
	if value == "" {
		return nil
	}
	return strings.Split(value, ",")
}

func keyValues(value string) map[string]string {
	m := map[string]string{}
	for _, e := range list(value) {
		k, v, _ := strings.Cut(e, ":")
		m[k] = v
	}
	return m
}

// numbers reads key:number; the number is after the last colon.
func numbers(value string) (map[string]int64, error) {
	m := map[string]int64{}
	for _, e := range list(value) {
		i := strings.LastIndexByte(e, ':')
		if i < 0 {
			return nil, fmt.Errorf("%s: want key:number", e)
		}
		n, err := strconv.ParseInt(e[i+1:], 10, 64)
		if err != nil {
			return nil, err
		}
		m[e[:i]] = n
	}
	return m, nil
}
