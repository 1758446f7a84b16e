package image_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi/conformance/cluster"
	"github.com/berth-scheduler/berth/abi/conformance/internal/generate"
	"github.com/berth-scheduler/berth/abi/conformance/internal/image"
	"github.com/berth-scheduler/berth/abi/conformance/internal/view"
	"github.com/berth-scheduler/berth/abi/wire"
)

// everything declares all that can be read.
func everything() *wire.ManifestReads {
	return &wire.ManifestReads{
		Node: []string{
			"name", "flags", "allocatable", "requested", "nonZeroRequested", "labels", "taints", "ports", "images", "pods", "generation", "zone",
		},
		NodeLabels: []string{"pool", "example.com/tier"}, NodeAnnotations: []string{"note", "empty"}, NodeConditions: []string{"Ready", "Odd"},
		Resources: []string{"cpu", "memory", "example.com/gpu", "pods"},
		Pods:      []string{"namespace", "priority", "requests", "labels", "owner", "flags", "uid", "name", "limits", "qos", "assignedAt", "createdAt", "state"},
		PodLabels: []string{"app"}, PodAnnotations: []string{"example.com/gpu"},
		Pod: []string{
			"name", "hostPorts", "tolerations", "images", "namespace", "priority", "requests", "labels", "annotations", "owner",
			"nodeSelector", "affinity", "nonZeroRequested", "namespaceLabels", "uid", "nodeName", "schedulingGates",
		},
		Namespaces: []string{"name", "labels"}, NamespaceLabels: []string{"team"},
	}
}

// region writes what an instance holds, with the record of a pod.
func region(t *testing.T, e *image.Encoder, r *image.Rooms, c *cluster.Cluster, n *image.Numbering, p *cluster.Pod) (wire.Memory, *image.Image) {
	t.Helper()
	const base = 4096
	content := e.Content(c, n)
	record := e.Record(c, p, "", r.Unknown)
	content.Seal(e.Dict)
	r.Fit(content)
	r.FitRecord(record)
	im, err := r.Layout()
	if err != nil {
		t.Fatal(err)
	}
	memory := make([]byte, base+im.Size)
	if err := im.Write(memory[base:], base, content, wire.Cycle{Epoch: 3, Generation: 9, Seed: 5, State: 1}); err != nil {
		t.Fatal(err)
	}
	copy(memory[base+im.Pod:], record)
	im.SetCall(memory[base:], base, wire.Call{PodSize: uint32(len(record))})
	return memory, im
}

// TestWrittenIsSeen: reading back a generated cluster, in any numbering, gives what a plugin
// must see. Writer, reader and expectation share no code except for quantities.
func TestWrittenIsSeen(t *testing.T) {
	for _, attached := range [][]string{nil, {"team-a"}} {
		g := generate.New(generate.Config{Seed: 7, Reads: everything(), Namespaces: attached})
		random := rand.New(rand.NewPCG(1, 2))
		for i := range 60 {
			c := g.Cluster(i%7, i%9 == 8)
			if err := c.Check(); err != nil {
				t.Fatal(err)
			}
			p := g.Pod(i%9 == 8)
			reads := view.NewReads(everything(), attached)
			e := &image.Encoder{Reads: reads, Dict: wire.NewDict()}
			numbering := image.InOrder(c)
			switch i % 3 {
			case 1:
				e.Content(c, numbering)
				e.Record(c, &p, "", false)
				e.Dict = image.Renumbered(e.Dict, 5, random)
				numbering = image.Shuffled(c, random)
			case 2:
				numbering = image.Shifted(c, 3)
			}
			memory, im := region(t, e, &image.Rooms{Spare: uint32(i % 5), Unknown: i%2 == 1}, c, numbering, &p)
			see(t, memory, im, reads, c, &p, i%2 == 1)
		}
	}
}

func see(t *testing.T, memory wire.Memory, im *image.Image, reads *view.Reads, c *cluster.Cluster, p *cluster.Pod, unknown bool) {
	t.Helper()
	call, err := wire.DecodeCall(memory, 4096+im.Call)
	if err != nil {
		t.Fatal(err)
	}
	s, err := wire.DecodeSnapshot(memory, call.Header)
	if err != nil {
		t.Fatal(err)
	}
	r := view.NewReader(s)
	if err := r.Strings(); err != nil {
		t.Error(err)
	}
	if !unknown {
		got, err := r.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if diff := view.DiffSnapshots(view.Expect(reads, c), got); len(diff) > 0 {
			t.Fatal(strings.Join(diff, "\n"))
		}
	}
	record := memory[call.Pod : call.Pod+call.PodSize]
	if unknown {
		return
	}
	got, err := r.Pod(record)
	if err != nil {
		t.Fatal(err)
	}
	if diff := view.Diff("pod", view.ExpectPod(reads, c, p, ""), got); len(diff) > 0 {
		t.Fatal(strings.Join(diff, "\n"))
	}
}
