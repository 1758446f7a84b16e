package berthtest

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/berth-scheduler/berth/abi"
)

// Bench measures one call of Filter, or of Score if the plugin has no Filter, for all nodes,
// with each pod in turn. The cluster is written once, as in a host. Pods of which PreFilter does not say Success are left out.
func (t *Trial) Bench(b *testing.B, pods []Pod) {
	b.Helper()
	call, asked := t.Caller(pods), []int{}
	for i := range pods {
		if call(i) != nil {
			asked = append(asked, i)
		}
	}
	if len(asked) == 0 {
		b.Fatal("PreFilter says Success of none of the pods, so no node is looked at")
	}
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		call(asked[i%len(asked)])
		i++
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(t.Nodes)), "ns/node")
}

// Caller returns a function that makes the call of Bench for one of the pods and returns the
// codes or scores in the region. It returns nil for a pod of which PreFilter does not say Success, as a host looks at no node then.
func (t *Trial) Caller(pods []Pod) func(pod int) []byte {
	t.tb.Helper()
	g, err := t.instance()
	if err != nil {
		t.tb.Fatal(err)
	}
	point := abi.Filter
	if !t.manifest.exports(abi.Filter) {
		point = abi.Score
	}
	c := &caller{session: &session{Trial: t, ways: once}, guest: g}
	c.about = &content{nodes: t.Nodes, nominated: t.Nominated, namespaces: t.Namespaces, now: t.Now}
	c.img = newImageOf(t.manifest, c.about, numbering{order: perm(len(t.Nodes), nil), seed: t.seed()}, func(img *image) []byte {
		for i := range pods {
			c.records = append(c.records, img.record(t.manifest, c.about, &pods[i]))
		}
		return slices.MaxFunc(c.records, func(a, b []byte) int { return len(a) - len(b) })
	})
	c.img.moveTo(g.Alloc(uint32(len(c.img.data)), 64))
	copy(g.Memory()[c.img.base:], c.img.data)
	states := make([]state, len(pods)) // nil if the point is not called
	for i := range pods {
		states[i] = c.prepare(&pods[i], i)
	}
	c.write(point)
	c.use(point, state{}, nil)
	export, reads := exports()[point], c.host.state != nil
	return func(pod int) []byte {
		if states[pod] == nil {
			return nil
		}
		c.about.pod = &pods[pod]
		if reads {
			c.host.state = states[pod]
		}
		if code := c.call(export, pod); code != abi.Success {
			t.tb.Fatalf("%s returned %v", export, code)
		}
		mem := g.Memory()[c.img.base:]
		if point == abi.Filter {
			return mem[c.img.codes:][:c.img.rows]
		}
		return mem[c.img.scores:][:8*c.img.rows]
	}
}

// caller makes calls about all nodes in one instance and one region.
type caller struct {
	*session
	guest   Guest
	img     *image
	about   *content
	records [][]byte // of the pods
}

// write writes the call record of a point.
func (c *caller) write(point abi.Point) {
	c.img.setCall(uint32(point), &asked{hi: c.img.rows})
	copy(c.guest.Memory()[c.img.base:], c.img.data[:c.img.readFrom])
}

// call calls a point whose record is written, for a pod.
func (c *caller) call(export string, pod int) abi.Code {
	img := c.img
	c.host.img, c.host.pods = img, nil
	mem := c.guest.Memory()[img.base:]
	copy(mem[img.pod:], c.records[pod])
	binary.LittleEndian.PutUint32(mem[img.call+8:], uint32(len(c.records[pod])))
	clear(mem[img.call+64 : img.readFrom])
	return abi.Code(c.guest.Call(export, img.base+img.call, 0, img.rows))
}

// prepare calls PreFilter for a pod, if the plugin has it. It returns the state that it leaves, and nil if it does not say Success.
func (c *caller) prepare(p *Pod, at int) state {
	c.tb.Helper()
	kept := state{}
	switch {
	case !c.manifest.exports(abi.PreFilter):
		return kept
	case c.manifest.Sharded(): // in an aux instance without rows (ABI-5.3)
		a := c.attempt(p, &what{})
		a.preFilter()
		if a.skip || slices.ContainsFunc(a.verdicts, func(v Verdict) bool { return v.Code != abi.Success }) {
			return nil
		}
		return a.state
	}
	c.about.pod = p
	c.use(abi.PreFilter, kept, state{})
	c.write(abi.PreFilter)
	if c.call(abi.ExportPreFilter, at) != abi.Success {
		return nil
	}
	return kept
}
