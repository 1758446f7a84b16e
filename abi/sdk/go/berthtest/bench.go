package berthtest

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/berth-scheduler/berth/abi"
)

// Bench measures one call of Filter, or of Score if the plugin has no Filter, for all nodes,
// with each pod in turn. The cluster is written once, as in a host.
func (t *Trial) Bench(b *testing.B, pods []Pod) {
	b.Helper()
	call := t.Caller(pods)
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		call(i % len(pods))
		i++
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(t.Nodes)), "ns/node")
}

// Caller returns a function that makes the call of Bench for one of the pods and returns the
// codes or scores in the region.
func (t *Trial) Caller(pods []Pod) func(pod int) []byte {
	t.tb.Helper()
	g, err := t.instance()
	if err != nil {
		t.tb.Fatal(err)
	}
	export, point := abi.ExportFilter, abi.Filter
	if !t.manifest.exports(abi.Filter) {
		export, point = abi.ExportScore, abi.Score
	}
	var records [][]byte
	var longest []byte
	c := &content{nodes: t.Nodes, namespaces: t.Namespaces}
	img := newImageOf(t.manifest, c, numbering{order: perm(len(t.Nodes), nil), seed: t.seed()}, func(img *image) []byte {
		for i := range pods {
			records = append(records, img.record(t.manifest, c, &pods[i]))
		}
		longest = slices.MaxFunc(records, func(a, b []byte) int { return len(a) - len(b) })
		return longest
	})
	img.moveTo(g.Alloc(uint32(len(img.data)), 64))
	img.setCall(uint32(point), &asked{hi: img.rows})
	copy(g.Memory()[img.base:], img.data)
	return func(pod int) []byte {
		mem := g.Memory()[img.base:]
		copy(mem[img.pod:], records[pod])
		binary.LittleEndian.PutUint32(mem[img.call+8:], uint32(len(records[pod])))
		clear(mem[img.call+64 : img.readFrom])
		if code := g.Call(export, img.base+img.call, 0, img.rows); code != 0 {
			t.tb.Fatalf("%s returned %v", export, abi.Code(code))
		}
		mem = g.Memory()[img.base:]
		if point == abi.Filter {
			return mem[img.codes:][:img.rows]
		}
		return mem[img.scores:][:8*img.rows]
	}
}
