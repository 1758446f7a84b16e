package conformance_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/conformance"
	"github.com/berth-scheduler/berth/abi/wire"
)

// read reads the answers of a call (ABI-3.5 and following).
func (c *cycle) read(pl *plugin, r *request, i *instance, call wire.Call, result uint32) (*conformance.Answer, error) {
	bad := func(format string, args ...any) (*conformance.Answer, error) {
		return nil, faultf(conformance.FaultAnswer, format, args...)
	}
	if result >= abi.NumCodes || !answers(r.point, abi.Code(result)) && !pl.h.wrong("accepts every status code") {
		return bad("%d is not an answer of %s", result, r.point)
	}
	got, err := wire.DecodeCall(i.vm.Memory(), i.base+i.image.Call)
	if err != nil {
		if pl.h.wrong("does not decode answers") {
			return &conformance.Answer{}, nil
		}
		return bad("%v", err)
	}
	out := &conformance.Answer{Code: abi.Code(result)}
	reasons := func(n uint32) ([]string, error) {
		if n == 0 || int(n) > len(got.ReasonSets) && pl.h.wrong("reason sets that are not there are none") {
			return nil, nil
		}
		if int(n) > len(got.ReasonSets) {
			return nil, faultf(conformance.FaultAnswer, "there is no reason set %d", n)
		}
		return printable(pl.h, got.ReasonSets[n-1]), nil
	}
	if out.Reasons, err = reasons(got.StatusReason); err != nil {
		return nil, err
	}
	roomless := r.point == abi.PostFilter && out.Code.Rejected() && !pl.h.wrong("post_filter that makes no room asks for nothing")
	if out.Code == abi.Success || out.Code == abi.Wait && r.point == abi.Permit || roomless || pl.h.wrong("directives count whatever the result") {
		if err := pl.directives(r.point, got.Directives); err != nil {
			return nil, err
		}
		out.Directives = slices.DeleteFunc(got.Directives, func(d wire.Directive) bool {
			return roomless && d.Kind == abi.Nominate && !pl.h.wrong("nominates without room")
		})
		for k := range out.Directives {
			if d := &out.Directives[k]; pl.h.wrong("swaps the texts of a directive") {
				d.First, d.Second = d.Second, d.First
			}
		}
		if pl.h.wrong("the first patch of a key counts") {
			slices.Reverse(out.Directives)
		}
	}
	if r.point == abi.Permit && out.Code == abi.Wait {
		out.Wait = time.Duration(min(got.Wait, uint64(15*time.Minute/time.Millisecond))) * time.Millisecond
		if pl.h.wrong("permit waits for ever") {
			out.Wait = time.Duration(got.Wait) * time.Millisecond
		}
	}
	if pl.man.Minor() > 0 || pl.h.wrong("retry_after of ABI 1.0 counts") {
		switch r.point {
		case abi.PreFilter, abi.Reserve, abi.Permit:
			out.RetryAfter = retryAfter(pl.h, got.RetryAfter)
		case abi.PreEnqueue:
			for _, ms := range got.Scores {
				out.RetryAfters = append(out.RetryAfters, retryAfter(pl.h, uint64(ms)))
			}
		}
	}
	if r.point == abi.Hint && out.Code == abi.Error {
		out.Code, out.Codes = abi.Success, make([]abi.Code, call.N)
		return out, nil
	}
	if out.Code != abi.Success {
		return out, nil
	}
	return out, c.rowAnswers(pl, r, i, got, out, reasons)
}

// retryAfter is how soon a pod is tried again (ABI-5.22).
func retryAfter(h *reference, ms uint64) time.Duration {
	if h.wrong("retry_after has no bounds") {
		return time.Duration(ms) * time.Millisecond
	}
	return abi.RetryAfter(ms)
}

// rowAnswers reads answers by row or pod.
func (c *cycle) rowAnswers(pl *plugin, r *request, i *instance, got *wire.CallView, out *conformance.Answer, reasons func(uint32) ([]string, error)) error {
	switch r.point {
	case abi.PreEnqueue, abi.Hint, abi.Filter:
		for k, code := range got.Codes {
			if !rowAnswers(r.point, abi.Code(code)) && !pl.h.wrong("accepts every code of a row") {
				return faultf(conformance.FaultAnswer, "code %d of element %d", code, k)
			}
			texts, err := reasons(uint32(got.Reasons[k]))
			if err != nil {
				return err
			}
			if code == 0 || r.point == abi.Hint {
				texts = nil
			}
			if abi.Code(code) == abi.Error && r.point == abi.Hint {
				code = 0
			}
			if code == 0 && len(out.RetryAfters) > k {
				out.RetryAfters[k] = 0
			}
			out.Codes, out.RowReasons = append(out.Codes, abi.Code(code)), append(out.RowReasons, texts)
		}
		if pl.h.wrong("answers are by row number") && len(r.rows) > 0 && int(r.rows[0]) < len(out.Codes) {
			out.Codes = append(out.Codes[r.rows[0]:], out.Codes[:r.rows[0]]...)
		}
	case abi.Score, abi.Normalize:
		last := r.point == abi.Normalize || pl.man.Points.Normalize == nil && pl.man.Points.Score.Normalize == ""
		for k, score := range got.Scores {
			if last && (score < abi.MinScore || score > abi.MaxScore) && !pl.h.wrong("accepts every score") {
				return faultf(conformance.FaultAnswer, "score %d of element %d", score, k)
			}
		}
		out.Scores = got.Scores
	case abi.QueueSort:
		for _, key := range got.Keys {
			out.Keys = append(out.Keys, slices.Clone(key))
		}
	case abi.PreFilter:
		return c.narrowed(pl, r, got, out)
	case abi.Bind:
		if !slices.ContainsFunc(got.Directives, func(d wire.Directive) bool { return d.Kind == abi.BindPod }) && !pl.h.wrong("bind needs no directive") {
			return faultf(conformance.FaultAnswer, "Success without a directive bind (ABI-5.19)")
		}
	}
	return nil
}

func (c *cycle) narrowed(pl *plugin, r *request, got *wire.CallView, out *conformance.Answer) error {
	if !got.HasRowSet {
		return nil
	}
	if pl.man.Sharded() && !pl.h.wrong("pre_filter of scope node sees nodes") {
		return faultf(conformance.FaultAnswer, "a row set of a plugin of scope node (ABI-5.3)")
	}
	out.Narrowed = true
	for _, row := range got.RowSet {
		if int(row) >= len(r.cluster.Nodes) {
			return faultf(conformance.FaultAnswer, "there is no row %d", row)
		}
		out.Rows = append(out.Rows, r.cluster.Nodes[row].Metadata.Name)
	}
	return nil
}

// directives checks the directives of a guest (ABI-13.2).
func (pl *plugin) directives(point abi.Point, all []wire.Directive) error {
	for _, d := range all {
		bad := ""
		switch {
		case !d.Kind.At(point) && !pl.h.wrong("accepts directives at every point"):
			bad = "not at this point"
		case !pl.man.Directives.Allows(d.Kind, d.First) && !pl.h.wrong("accepts directives that are not declared"):
			bad = "not declared"
		case !pl.Grants.Allows(d.Kind, d.First) && !pl.h.wrong("accepts directives that are not granted"):
			bad = "not granted"
		case (d.Kind == abi.Annotate || d.Kind == abi.Label) && !wire.IsAnnotationKey(d.First) && !pl.h.wrong("does not check keys"):
			bad = "no key"
		case d.Kind == abi.Label && !wire.IsLabelValue(d.Second) && !pl.h.wrong("does not check values of labels"):
			bad = "no value of a label"
		}
		if bad != "" {
			return &fault{kind: conformance.FaultAnswer, text: fmt.Sprintf("%s %q at %s: %s", d.Kind, d.First, point, bad), directives: all}
		}
	}
	return nil
}
