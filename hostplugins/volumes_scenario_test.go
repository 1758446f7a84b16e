package hostplugins_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/storage"
	"github.com/berth-scheduler/berth/runtime/state"
)

// volumeStory is a volume scenario: a cluster, pods, and commands, one per line
// of the section commands.
//
//	try POD             call the plugins and print their answers
//	reserve POD NODE    call Reserve of VolumeBinding
//	unreserve POD       call Unreserve
//	prebind POD         call PreBind
//	place POD NODE      place a pod on a node; "gone" removes it
//	set OBJECT          write an object; the hints for all pods follow
//	delete OBJECT
//	refuse NAME         let all writes of this object fail
//	late yes|no         if yes, no controller binds what is written
type volumeStory struct {
	t       *testing.T
	w       *volumeWorld
	plugins map[string]plugin.Plugin
	pods    []*v1.Pod
	way     map[string]*plugin.Placement
	asked   map[string]*plugin.Cycle
	out     strings.Builder
}

// object decodes a storage object of the kind that it names.
func (s *volumeStory) object(text []byte) metav1.Object {
	s.t.Helper()
	var kind metav1.TypeMeta
	if err := yaml.Unmarshal(text, &kind); err != nil {
		s.t.Fatal(err)
	}
	var o metav1.Object
	switch kind.Kind {
	case "PersistentVolumeClaim":
		o = &v1.PersistentVolumeClaim{}
	case "PersistentVolume":
		o = &v1.PersistentVolume{}
	case "StorageClass":
		o = &storagev1.StorageClass{}
	case "CSINode":
		o = &storagev1.CSINode{}
	case "CSIDriver":
		o = &storagev1.CSIDriver{}
	case "CSIStorageCapacity":
		o = &storagev1.CSIStorageCapacity{}
	case "VolumeAttachment":
		o = &storagev1.VolumeAttachment{}
	default:
		s.t.Fatalf("kind %q: %s", kind.Kind, text)
	}
	decode(s.t, text, o)
	if claim, ok := o.(*v1.PersistentVolumeClaim); ok {
		claim.Namespace = "ns"
		claim.UID = types.UID(claim.Name)
	}
	return o
}

func (s *volumeStory) pod(name string) *v1.Pod {
	s.t.Helper()
	at := slices.IndexFunc(s.pods, func(p *v1.Pod) bool { return p.Name == name })
	if at < 0 {
		s.t.Fatalf("pod %q does not exist", name)
	}
	return s.pods[at]
}

// TestVolumeScenarios runs the scenarios of testdata/volumes.
func TestVolumeScenarios(t *testing.T) {
	eachScenario(t, "testdata/volumes/*.txt", func(t *testing.T, section func(string) []byte) string {
		s := &volumeStory{t: t, w: &volumeWorld{}, way: map[string]*plugin.Placement{}, asked: map[string]*plugin.Cycle{}}
		var nodes []nodeText
		decode(t, section("nodes"), &nodes)
		for i := range nodes {
			s.w.nodes = append(s.w.nodes, nodes[i].object())
		}
		var objects []any
		decode(t, section("objects"), &objects)
		for _, o := range objects {
			text, err := yaml.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			s.w.put(s.object(text))
		}
		var pods []podText
		decode(t, section("pods"), &pods)
		for i := range pods {
			p := pods[i].object()
			if s.pods = append(s.pods, p); p.Spec.NodeName != "" {
				s.w.placed = append(s.w.placed, p)
			}
		}
		args := &configv1.VolumeBindingArgs{}
		decode(t, section("args"), args)
		s.plugins = s.w.plugins(t, args)
		for line := range strings.Lines(string(section("commands"))) {
			line = strings.TrimSpace(line)
			fmt.Fprintf(&s.out, "> %s\n", line)
			command, rest, _ := strings.Cut(line, " ")
			s.run(command, rest, strings.Fields(rest))
		}
		return s.out.String()
	})
}

func (s *volumeStory) run(command, rest string, words []string) {
	switch command {
	case "try":
		s.try(s.pod(words[0]))
	case "reserve":
		s.reserve(s.pod(words[0]), words[1])
	case "unreserve":
		s.plugins["VolumeBinding"].(plugin.Reserve).Unreserve(s.way[words[0]])
	case "prebind":
		s.prebind(s.way[words[0]])
	case "place":
		s.place(s.pod(words[0]).DeepCopy(), words[1])
	case "set":
		s.hints(s.w.put(s.object([]byte(rest))))
	case "delete":
		s.hints(s.w.take(s.object([]byte(rest))))
	case "refuse":
		s.w.refuse = words[0]
	case "late":
		s.w.late = words[0] == "yes"
	default:
		s.t.Fatalf("command %q", command)
	}
}

// try prints the plugins' answers, and scores if there is a shape.
func (s *volumeStory) try(pod *v1.Pod) {
	snapshot := s.w.snapshot()
	for _, name := range volumePlugins() {
		c := cycleOf(snapshot, pod)
		said := ask(s.plugins[name], c)
		if name == "VolumeBinding" {
			s.asked[pod.Name] = c
		}
		if said.pre != "Success" {
			fmt.Fprintf(&s.out, "%s %s\n", name, said.pre)
			continue
		}
		for row := range said.nodes {
			said.nodes[row] += s.score(s.plugins[name], c, uint32(row), said.nodes[row])
		}
		if len(slices.Compact(slices.Clone(said.nodes))) == 1 {
			fmt.Fprintln(&s.out, name, "on all:", said.nodes[0])
			continue
		}
		fmt.Fprintln(&s.out, name)
		for row, n := range s.w.nodes {
			fmt.Fprintf(&s.out, "  %-3s %s\n", n.Name, said.nodes[row])
		}
	}
}

func (s *volumeStory) score(p plugin.Plugin, c *plugin.Cycle, row uint32, verdict string) string {
	scorer, ok := p.(plugin.Score)
	if !ok || verdict != inWords(abi.Success, nil) || !p.(plugin.PreScore).PreScore(c, nil).Success() {
		return ""
	}
	out := []int64{0}
	if status := scorer.Score(c, []uint32{row}, out); !status.Success() {
		return " " + status.Message()
	}
	return fmt.Sprintf(" scores %d", out[0])
}

func (s *volumeStory) reserve(pod *v1.Pod, node string) {
	c := s.asked[pod.Name]
	p := s.plugins["VolumeBinding"]
	pl := &plugin.Placement{
		Context: context.Background(), Pod: c.Pod.On(node, state.Patch{}), Node: state.NewNode(named(s.w.nodes, "", node)), State: c.State,
	}
	s.way[pod.Name] = pl
	if _, status := p.(plugin.Reserve).Reserve(pl); !status.Success() {
		fmt.Fprintln(&s.out, status.CodeOf(), status.Message())
		return
	}
	fmt.Fprintf(&s.out, "PreBind: %v\n", p.(plugin.PreBind).PreBindPreFlight(pl).CodeOf())
}

func (s *volumeStory) prebind(pl *plugin.Placement) {
	s.w.writes = nil
	_, status := s.plugins["VolumeBinding"].(plugin.PreBind).PreBind(pl)
	for _, write := range s.w.writes {
		fmt.Fprintln(&s.out, "write", write)
	}
	fmt.Fprintln(&s.out, status.CodeOf(), status.Message())
}

func (s *volumeStory) place(pod *v1.Pod, node string) {
	old := named(s.w.placed, pod.Namespace, pod.Name)
	s.w.placed = without(s.w.placed, pod)
	if node == "gone" {
		s.hints(storage.Change{Event: state.EventAssignedPodDelete(), Object: state.Object{OldPod: decoded(old)}})
		return
	}
	pod.Spec.NodeName = node
	s.w.placed = append(s.w.placed, pod)
	if old == nil {
		s.hints(storage.Change{Event: state.EventAssignedPodAdd(), Object: state.Object{NewPod: decoded(pod)}})
	}
}

// hints prints which waiting pods a change would queue, by which plugin, and by which plugin
// that registered the event it would not.
func (s *volumeStory) hints(change storage.Change) {
	for _, pod := range s.pods {
		if pod.Spec.NodeName != "" {
			continue
		}
		var queue, skip []string
		for _, name := range volumePlugins() {
			registered, yes := asked(s.plugins[name], decoded(pod), change)
			switch {
			case yes:
				queue = append(queue, name)
			case registered:
				skip = append(skip, name)
			}
		}
		fmt.Fprintf(&s.out, "%s: queue %v, skip %v\n", pod.Name, queue, skip)
	}
}
