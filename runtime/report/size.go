package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/berth-scheduler/berth/internal/plain"
)

// Bytes that a string, and a group of nodes, take besides their texts.
const (
	stringSize    = 16
	rejectionSize = 128
	feedSize      = 56 // of a FeedValue; its texts are shared
)

// Size estimates the memory that the texts of a Clone or a Brief take, and the values of feeds, in bytes.
func (a *Attempt) Size() int {
	n := len(a.Message) + len(a.PreFilter) + len(a.PostFilter)
	for i := range a.Rejections {
		n += a.Rejections[i].size()
	}
	for i := range a.Candidates {
		n += feedSize * len(a.Candidates[i].Feeds)
	}
	return n
}

func (r *Rejection) size() int {
	n := rejectionSize + stringSize*(len(r.Reasons)+len(r.Nodes))
	for _, reason := range r.Reasons {
		n += len(reason)
	}
	for _, node := range r.Nodes {
		n += len(node)
	}
	for _, detail := range r.Details {
		n += len(detail.Text) + 2*stringSize
	}
	return n
}

// Shortened returns a copy of a Clone or Brief with about most bytes at most; most must exceed
// MaxMessage. It leaves out the values of feeds, keeps the largest groups of nodes, and adds one that says how many groups are
// left out.
func (a *Attempt) Shortened(most int) *Attempt {
	if a.Size() <= most {
		return a
	}
	c := *a
	c.Candidates = slices.Clone(a.Candidates)
	for i := range c.Candidates {
		c.Candidates[i].Feeds = nil
	}
	if c.Size() <= most {
		return &c
	}
	c.Message = plain.Lines(a.Message, MaxMessage)
	c.PreFilter, c.PostFilter = plain.Lines(a.PreFilter, MaxMessage/8), plain.Lines(a.PostFilter, MaxMessage/8)
	sorted := slices.Clone(a.Rejections)
	slices.SortStableFunc(sorted, func(x, y Rejection) int { return cmp.Compare(y.Count, x.Count) })
	c.Rejections = nil
	room := most - len(c.Message) - len(c.PreFilter) - len(c.PostFilter) - 2*rejectionSize
	groups, nodes := 0, 0
	for i := range sorted {
		r := &sorted[i]
		if size := r.size(); size <= room {
			room -= size
			c.Rejections = append(c.Rejections, *r)
			continue
		}
		groups++
		nodes += r.Count
	}
	if groups > 0 {
		c.Rejections = append(c.Rejections, Rejection{
			Reasons: []string{fmt.Sprintf("and %d more groups of nodes, which were not kept", groups)}, Count: nodes,
		})
	}
	return &c
}
