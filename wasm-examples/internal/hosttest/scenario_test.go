//go:build !wasip1

package hosttest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/state"
	wasmexamples "github.com/berth-scheduler/berth/wasm-examples"
)

// part is a part of an example's scenario file: a configuration, and a cluster of API objects
// on which pods are tried.
type part struct {
	at      string // file and line
	config  string
	refusal []string // what is expected of a configuration that is refused
	nodes   []*v1.Node
	pods    []*v1.Pod // on nodes
	feeds   []state.Feed
	tries   []try
}

type try struct {
	at   string
	pod  *v1.Pod
	want []string
}

// scenarios reads the files of an example. Package berthtest documents them, and reads them for
// its own memory image.
func scenarios(t *testing.T, e *wasmexamples.Example) []*part {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(e.Scenarios)))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no scenarios: %v", e.Name, err)
	}
	var all []*part
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		r := reader{name: filepath.Base(name), lines: strings.Split(string(data), "\n")}
		if err := r.read(); err != nil {
			t.Fatalf("%s:%d: %v", name, r.at, err)
		}
		all = append(all, r.all...)
	}
	return all
}

type reader struct {
	name  string
	lines []string
	at    int
	all   []*part
}

func (r *reader) read() error {
	for r.at < len(r.lines) {
		line := r.lines[r.at]
		at := fmt.Sprintf("%s:%d", r.name, r.at+1)
		r.at++
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || strings.HasPrefix(line, "#"):
			continue
		case words[0] == "config":
			config := strings.TrimPrefix(line, "config")
			for r.at < len(r.lines) && strings.HasPrefix(r.lines[r.at], " ") {
				config += r.lines[r.at]
				r.at++
			}
			r.all = append(r.all, &part{at: at, config: strings.TrimSpace(config), refusal: r.expected()})
			continue
		case len(r.all) == 0:
			return fmt.Errorf("%s comes before the first config", words[0])
		}
		s := r.all[len(r.all)-1]
		if err := s.add(at, words, r.expected()); err != nil {
			return err
		}
	}
	return nil
}

// expected returns the lines after `----`, up to an empty one.
func (r *reader) expected() (want []string) {
	if r.at == len(r.lines) || !strings.HasPrefix(r.lines[r.at], "----") {
		return nil
	}
	for r.at++; r.at < len(r.lines) && strings.TrimSpace(r.lines[r.at]) != ""; r.at++ {
		want = append(want, r.lines[r.at])
	}
	return want
}

func (s *part) add(at string, words, want []string) error {
	switch words[0] {
	case "node":
		n, err := s.readNode(words[1:])
		s.nodes = append(s.nodes, n)
		return err
	case "pod", "try":
		p, err := readPod(words[1:])
		if words[0] == "pod" {
			s.pods = append(s.pods, p)
		} else {
			s.tries = append(s.tries, try{at: at, pod: p, want: want})
		}
		return err
	}
	return fmt.Errorf("unknown command %s", words[0])
}

// sampled is the time since when pods count that samples cannot contain.
const sampled = 1_000

func readNode(words []string) (*v1.Node, error) { return new(part).readNode(words) }

// readNode reads a node, with what feeds say of it and a pod that requestedSince stands for.
func (s *part) readNode(words []string) (*v1.Node, error) {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: words[0], UID: types.UID(words[0])}}
	for _, word := range words[1:] {
		field, value, _ := strings.Cut(word, "=")
		switch field {
		case "labels":
			n.Labels = pairs(value)
		case "annotations":
			n.Annotations = pairs(value)
		case "allocatable":
			list, err := quantities(value)
			if err != nil {
				return nil, err
			}
			n.Status.Allocatable = list
		case "capacity":
			list, err := quantities(value)
			if err != nil {
				return nil, err
			}
			n.Status.Capacity = list
		case "feeds": // name:unit:value
			for _, e := range strings.Split(value, ",") {
				words := strings.Split(e, ":")
				number, err := strconv.ParseInt(words[2], 10, 64)
				if err != nil {
					return nil, err
				}
				cell := state.Cell{Value: number, State: abi.FeedFresh, Since: sampled}
				s.feeds = append(s.feeds, state.Feed{Name: words[0], Cells: map[string]state.Cell{n.Name: cell}})
			}
		case "stale": // comes after feeds
			for _, e := range strings.Split(value, ",") {
				name, _, _ := strings.Cut(e, ":")
				for _, f := range s.feeds {
					if cell, ok := f.Cells[n.Name]; ok && f.Name == name {
						cell.State = abi.FeedStale
						f.Cells[n.Name] = cell
					}
				}
			}
		case "requestedSince": // what a pod requests that was placed since
			p, err := readPod([]string{"since/" + n.Name, "node=" + n.Name, "requests=" + value})
			if err != nil {
				return nil, err
			}
			p.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: metav1.Unix(sampled+1, 0)}}
			s.pods = append(s.pods, p)
		case "unschedulable":
			n.Spec.Unschedulable = true
		case "taints": // key:value:effect
			for _, e := range strings.Split(value, ",") {
				words := append(strings.Split(e, ":"), "", "")
				n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: words[0], Value: words[1], Effect: v1.TaintEffect(words[2])})
			}
		default:
			return nil, fmt.Errorf("field %s of a node is not supported here yet", field)
		}
	}
	return n, nil
}

func readPod(words []string) (*v1.Pod, error) {
	namespace, name, ok := strings.Cut(words[0], "/")
	if !ok {
		return nil, fmt.Errorf("%s is not namespace/name", words[0])
	}
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(words[0])}}
	p.Spec.Containers = []v1.Container{{Name: "main"}}
	for _, word := range words[1:] {
		field, value, _ := strings.Cut(word, "=")
		switch field {
		case "node":
			p.Spec.NodeName = value
		case "labels":
			p.Labels = pairs(value)
		case "annotations":
			p.Annotations = pairs(value)
		case "requests":
			list, err := quantities(value)
			if err != nil {
				return nil, err
			}
			p.Spec.Containers[0].Resources.Requests = list
		case "limits":
			list, err := quantities(value)
			if err != nil {
				return nil, err
			}
			p.Spec.Containers[0].Resources.Limits = list
		case "priority":
			n, err := strconv.ParseInt(value, 10, 32)
			if err != nil {
				return nil, err
			}
			p.Spec.Priority = new(int32(n))
		case "owner":
			kind, name, _ := strings.Cut(value, "/")
			p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: name, Controller: new(true)}}
		default:
			return nil, fmt.Errorf("field %s of a pod is not supported here yet", field)
		}
	}
	return p, nil
}

func pairs(value string) map[string]string {
	m := make(map[string]string)
	for _, e := range strings.Split(value, ",") {
		k, v, _ := strings.Cut(e, ":")
		m[k] = v
	}
	return m
}

// quantities reads resource:number; cpu is in milli-CPU.
func quantities(value string) (v1.ResourceList, error) {
	list := make(v1.ResourceList)
	for _, e := range strings.Split(value, ",") {
		i := strings.LastIndexByte(e, ':')
		n, err := strconv.ParseInt(e[i+1:], 10, 64)
		if err != nil {
			return nil, err
		}
		q := resource.NewQuantity(n, resource.DecimalSI)
		if e[:max(i, 0)] == string(v1.ResourceCPU) {
			q = resource.NewMilliQuantity(n, resource.DecimalSI)
		}
		list[v1.ResourceName(e[:max(i, 0)])] = *q
	}
	return list, nil
}

// TestEveryScenarioIsRead: the files are read to the end, here as in berthtest.
func TestEveryScenarioIsRead(t *testing.T) {
	for _, e := range wasmexamples.All() {
		if e.Placing {
			continue // package berthtest runs these
		}
		tries, refusals := 0, 0
		for _, s := range scenarios(t, &e) {
			tries += len(s.tries)
			if s.refusal != nil {
				refusals++
			}
			if slices.ContainsFunc(s.tries, func(c try) bool { return len(c.want) != len(s.nodes) }) {
				t.Errorf("%s: a try without a line for each node", s.at)
			}
		}
		if tries < 3 || refusals == 0 {
			t.Errorf("%s has %d tries and %d refused configurations", e.Name, tries, refusals)
		}
	}
}
