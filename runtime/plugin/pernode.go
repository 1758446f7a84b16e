package plugin

import (
	"strings"

	"github.com/berth-scheduler/berth/abi"
)

// PerNodeFilter implements a batched filter call with a function that judges one row. The
// function returns nil for a row that fits.
func PerNodeFilter(c *Cycle, rows []uint32, out *Verdicts, judge func(c *Cycle, row uint32) *Status) {
	reasons := make(map[string]uint16)
	for i, row := range rows {
		status := judge(c, row)
		if status.Success() {
			continue
		}
		var reason uint16
		if texts := status.AllReasons(); len(texts) > 0 {
			key := strings.Join(texts, "\x00")
			if reason = reasons[key]; reason == 0 {
				reason = out.Reason(texts...)
				reasons[key] = reason
			}
		}
		out.Reject(i, status.Code, reason)
	}
}

// PerNodeScore implements a batched score call with a function that scores one row. The first
// failure ends the call.
func PerNodeScore(c *Cycle, rows []uint32, out []int64, rate func(c *Cycle, row uint32) (int64, *Status)) *Status {
	for i, row := range rows {
		score, status := rate(c, row)
		if !status.Success() {
			return status
		}
		out[i] = score
	}
	return nil
}

// NormalizeMax scales scores so that the highest becomes abi.MaxScore; reverse inverts the
// order, so that the lowest raw score becomes the best. All zeros stay zero, or become the
// maximum when reversed. It is kube-scheduler's DefaultNormalizeScore.
func NormalizeMax(scores []int64, reverse bool) {
	var highest int64
	for _, s := range scores {
		highest = max(highest, s)
	}
	for i, s := range scores {
		if highest > 0 {
			s = scaled(s, highest)
		}
		if reverse {
			s = abi.MaxScore - s
		}
		scores[i] = s
	}
}

// scaled returns the share that a score has of the highest one, of 100; a negative one has a
// negative share.
func scaled(s, highest int64) int64 {
	if s < 0 {
		return -share(-max(s, -highest), 0, highest)
	}
	return share(s, 0, highest)
}
