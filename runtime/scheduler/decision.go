package scheduler

import (
	"encoding/binary"
	"hash"
	"hash/fnv"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/state"
)

// decided informs the recorder of an attempt.
func (s *Scheduler) decided(a *report.Attempt, directives []plugin.Directives) {
	if s.deps.Recorder == nil {
		return
	}
	d, texts := digest{h: fnv.New64a()}, digest{h: fnv.New64a()}
	decision := &inbox.Decision{Pod: a.Namespace + "/" + a.Pod, Node: a.Node, Code: a.Code.String()}
	words := &texts
	if s.config.OneHash {
		words = &d
	}
	d.attempt(a, words)
	for i := range directives {
		d.directives(&directives[i], words)
	}
	decision.Hash = d.h.Sum64()
	if !s.config.OneHash {
		decision.Texts = texts.h.Sum64()
	}
	s.deps.Recorder.Enter(decision)
}

// digest hashes what was decided, without times. Lengths keep neighbouring fields apart. What is said about it goes into words.
type digest struct {
	h       hash.Hash64
	scratch [8]byte
}

func (d *digest) number(n int64) {
	_, _ = d.h.Write(binary.LittleEndian.AppendUint64(d.scratch[:0], uint64(n)))
}

func (d *digest) text(s string) {
	d.number(int64(len(s)))
	_, _ = d.h.Write([]byte(s))
}

func (d *digest) texts(list []string) {
	d.number(int64(len(list)))
	for _, s := range list {
		d.text(s)
	}
}

func (d *digest) attempt(a *report.Attempt, words *digest) {
	d.number(int64(a.Sequence))
	d.text(string(a.UID))
	d.text(a.Profile)
	d.number(int64(a.Try))
	d.number(int64(a.Nodes))
	d.number(int64(a.Feasible))
	d.text(a.Node)
	d.number(int64(a.Code))
	words.text(a.Message)
	d.text(a.Nominated)
	d.texts(a.Victims)
	d.number(int64(len(a.Rejections)))
	for i := range a.Rejections {
		r := &a.Rejections[i]
		d.text(r.Plugin)
		d.number(int64(r.Code))
		words.texts(r.Reasons)
		d.number(int64(r.Count))
	}
	d.number(int64(len(a.Candidates)))
	for i := range a.Candidates {
		c := &a.Candidates[i]
		d.text(c.Node)
		d.number(c.Total)
		d.number(int64(len(c.Scores)))
		for _, score := range c.Scores {
			d.text(score.Plugin)
			d.number(score.Raw)
			d.number(score.Normalized)
			d.number(score.Weighted)
		}
	}
}

func (d *digest) directives(p *plugin.Directives, words *digest) {
	d.text(p.Plugin)
	d.labels(p.Patch)
	d.uids(p.Allow)
	d.number(int64(len(p.Reject)))
	for _, r := range p.Reject {
		d.text(string(r.UID))
		words.text(r.Reason)
	}
	d.uids(p.Activate)
}

func (d *digest) uids(list []types.UID) {
	d.number(int64(len(list)))
	for _, uid := range list {
		d.text(string(uid))
	}
}

func (d *digest) labels(p state.Patch) {
	for _, m := range []map[string]string{p.Annotations, p.Labels} {
		d.number(int64(len(m)))
		for _, key := range slices.Sorted(maps.Keys(m)) {
			d.text(key)
			d.text(m[key])
		}
	}
}
