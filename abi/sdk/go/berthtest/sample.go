package berthtest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
)

// samplePods is the number of different pods in a sample.
const samplePods = 64

// Sample makes a cluster and pods to be placed, to measure a plugin: nodes with everything that
// its manifest reads, each with three pods, and 64 different pods. Texts are from hints, which
// should be meaningful to the plugin; without hints they are v-0 to v-7. A hint KEY=VALUE is a value of
// a label or annotation that the manifest reads. The same arguments give the same sample.
func Sample(manifest []byte, nodes int, hints []string) ([]Node, []Pod, error) {
	s, err := newSample(manifest, hints)
	if err != nil {
		return nil, nil, err
	}
	all := make([]Node, nodes)
	for i := range all {
		all[i] = s.node(i)
	}
	pods := make([]Pod, samplePods)
	for i := range pods {
		pods[i] = s.pod(fmt.Sprint("new-", i))
	}
	return all, pods, nil
}

// SampleNamespaces makes the namespaces of the pods of a Sample.
func SampleNamespaces(manifest []byte, hints []string) (all []Namespace, err error) {
	s, err := newSample(manifest, hints)
	if err != nil {
		return nil, err
	}
	for _, text := range s.texts {
		name := strings.ToLower(text)
		if slices.ContainsFunc(all, func(n Namespace) bool { return n.Name == name }) {
			continue
		}
		all = append(all, Namespace{Name: name, Labels: s.some("namespaceLabels"), Objects: s.objects(wire.JoinNamespace)})
	}
	return all, nil
}

func newSample(manifest []byte, hints []string) (*sample, error) {
	m, err := parseManifest(manifest)
	if err != nil {
		return nil, err
	}
	s := &sample{Manifest: m, rand: rand.New(rand.NewPCG(1, 64)), told: map[string][]string{}}
	for _, hint := range hints {
		if column, value, is := wire.ColumnHint(s.Reads["objectColumns"], hint); is {
			s.told[column] = append(s.told[column], value)
		} else if key, value, is := strings.Cut(hint, "="); is && s.declares(key) {
			s.told[key] = append(s.told[key], value)
		} else {
			s.texts = append(s.texts, hint)
		}
	}
	for i := len(s.texts); i < 8; i++ {
		s.texts = append(s.texts, fmt.Sprint("v-", i))
	}
	return s, nil
}

type sample struct {
	*Manifest
	rand  *rand.Rand
	texts []string
	told  map[string][]string // values of a key
}

// declares reports whether the manifest reads a label or an annotation.
func (s *sample) declares(key string) bool {
	for _, list := range []string{"nodeLabels", "nodeAnnotations", "podLabels", "podAnnotations", "namespaceLabels"} {
		if slices.Contains(s.Reads[list], key) {
			return true
		}
	}
	return false
}

// some returns random texts for some keys of a list of reads.
func (s *sample) some(list string) map[string]string {
	texts := map[string]string{}
	for _, key := range s.Reads[list] {
		of := s.texts
		if told := s.told[key]; len(told) > 0 {
			of = told
		}
		texts[key] = of[s.rand.IntN(len(of))]
	}
	return texts
}

// quantities returns random amounts of the resources that are read, and of common ones.
func (s *sample) quantities(cpu int64) map[string]int64 {
	all := map[string]int64{"cpu": cpu, "memory": cpu << 20}
	for _, r := range s.Reads["resources"] {
		if _, known := all[r]; !known && r != "pods" {
			all[r] = cpu / 1000
		}
	}
	return all
}

func (s *sample) node(i int) Node {
	n := Node{
		Name: fmt.Sprintf("node-%05d", i), Labels: s.some("nodeLabels"), Annotations: s.some("nodeAnnotations"), Allocatable: s.quantities(32_000),
		Conditions: map[string]string{},
	}
	n.Allocatable["pods"] = 110
	n.Capacity = maps.Clone(n.Allocatable)
	n.Labels["kubernetes.io/hostname"] = n.Name
	n.Labels["topology.kubernetes.io/zone"] = fmt.Sprint("zone-", i%3)
	for _, kind := range s.Reads["nodeConditions"] {
		n.Conditions[kind] = []string{"True", "False"}[s.rand.IntN(2)]
	}
	for _, f := range s.Reads["feeds"] {
		if n.Feeds == nil {
			n.Feeds, n.RequestedSince = map[string]int64{}, s.quantities(4_000)
		}
		n.Feeds[f] = int64(s.rand.IntN(32_000))
		if s.rand.IntN(8) == 0 {
			n.Stale = append(n.Stale, f)
		}
	}
	n.Objects = s.objects(wire.JoinNode)
	if s.rand.IntN(4) == 0 {
		n.Taints = []Taint{{Key: "example.com/dedicated", Value: s.texts[s.rand.IntN(len(s.texts))], Effect: "NoSchedule"}}
	}
	for k := range 3 {
		p := s.pod(fmt.Sprintf("placed-%d-%d", i, k))
		n.Pods = append(n.Pods, p)
	}
	return n
}

// objects makes 8 values of each column of objects of a join with a list, and one of others.
func (s *sample) objects(join string) (out map[string]Values) {
	joins := s.Manifest.Manifest.Reads.Joins()
	for _, column := range s.Reads["objectColumns"] {
		if joins[column[:strings.IndexAny(column, ".[")]] != join {
			continue
		}
		if out == nil {
			out = map[string]Values{}
		}
		length := 1
		if strings.Contains(column, "[*]") {
			length = 8
		}
		of := s.texts
		if told := s.told[column]; len(told) > 0 {
			of = told
		}
		var v Values
		for i := range length {
			if strings.HasSuffix(column, ":string") {
				v.Texts = append(v.Texts, &of[(i+s.rand.IntN(2))%len(of)])
				continue
			}
			number, err := strconv.ParseInt(of[s.rand.IntN(len(of))], 10, 64)
			switch {
			case strings.Contains(column, ".@parent:"):
				number = int64(i)
			case err != nil:
				number = int64(s.rand.IntN(32_000))
			}
			v.Numbers = append(v.Numbers, number)
		}
		out[column] = v
	}
	return out
}

func (s *sample) pod(name string) Pod {
	namespace := strings.ToLower(s.texts[s.rand.IntN(len(s.texts))])
	p := Pod{
		Namespace: namespace, Name: name, Labels: s.some("podLabels"), Annotations: s.some("podAnnotations"),
		Requests: s.quantities(100 * int64(1+s.rand.IntN(80))), Priority: int32(100 * s.rand.IntN(3)),
		Tolerations: []Toleration{{Key: "example.com/dedicated", Value: s.texts[s.rand.IntN(len(s.texts))]}},
	}
	if reads := s.Reads["pod"]; slices.Contains(reads, "qos") && slices.Contains(reads, "containers") {
		// A plugin that looks at both is one for pods of which every container says what it needs.
		p.QOS, p.Limits = "Guaranteed", p.Requests
		p.Containers = []Container{{Name: "main", Kind: "app", Image: "example.com/main", Requests: p.Requests, Limits: p.Requests}}
	}
	return p
}

// Measurable reports whether the plugin has a point that Bench can call.
func Measurable(manifest []byte) bool {
	m, err := parseManifest(manifest)
	return err == nil && (m.exports(abi.Filter) || m.exports(abi.Score))
}
