package conformance

import (
	"fmt"
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
)

// formed says what is wrong with the form of answers; empty if nothing is. The reader has
// already checked bounds and limits.
func (k *checker) formed(a *ask, result int32, c *wire.CallView, rows uint32, s *scene) string {
	code := abi.Code(result)
	if result < 0 || result >= abi.NumCodes || !slices.Contains(results(a.point), code) {
		return fmt.Sprintf("it returned %d (%s), which this point may not return (ABI-5)", result, code)
	}
	sets := uint32(len(c.ReasonSets))
	if c.StatusReason > sets {
		return fmt.Sprintf("the result has reason set %d of %d (ABI-3.6)", c.StatusReason, sets)
	}
	if wrong := k.directivesFormed(a.point, code, c, s); wrong != "" || code != abi.Success {
		return wrong
	}
	switch a.point {
	case abi.PreEnqueue, abi.Hint, abi.Filter:
		return elementsFormed(a.point, c, sets)
	case abi.Score, abi.Normalize:
		return k.scoresFormed(a.point, c)
	case abi.PreFilter:
		switch {
		case c.HasRowSet && k.man.Sharded():
			return "it returned a row set, but sees no rows (ABI-5.3)"
		case c.HasRowSet && len(c.RowSet) > 0 && c.RowSet[len(c.RowSet)-1] >= rows:
			return fmt.Sprintf("the row set has row %d of %d (ABI-3.1)", c.RowSet[len(c.RowSet)-1], rows)
		}
	}
	return ""
}

func elementsFormed(point abi.Point, c *wire.CallView, sets uint32) string {
	for i, code := range c.Codes {
		if !slices.Contains(elements(point), abi.Code(code)) {
			return fmt.Sprintf("code %d is %d (%s), which may not be a row's code (ABI-5.5, 5.9, 5.12)", i, code, abi.Code(code))
		}
		if point != abi.Hint && code != 0 && uint32(c.Reasons[i]) > sets {
			return fmt.Sprintf("element %d has reason set %d of %d (ABI-3.6)", i, c.Reasons[i], sets)
		}
	}
	return ""
}

func (k *checker) scoresFormed(point abi.Point, c *wire.CallView) string {
	p := &k.man.Points
	if point == abi.Score && (p.Normalize != nil || p.Score.Normalize != "" && p.Score.Normalize != wire.NormalizeNone) {
		return "" // any number (ABI-5.7)
	}
	for i, score := range c.Scores {
		if score < abi.MinScore || score > abi.MaxScore {
			return fmt.Sprintf("score %d is %d, not 0 to 100 (ABI-5.7, 5.8)", i, score)
		}
	}
	return ""
}

// directivesFormed checks directives that are carried out (ABI-13.2, 13.3).
func (k *checker) directivesFormed(point abi.Point, code abi.Code, c *wire.CallView, s *scene) string {
	binds := false
	for _, d := range c.Directives {
		if !counts(point, code, d.Kind) {
			continue
		}
		what := fmt.Sprintf("directive %s %q %q", d.Kind, d.First, d.Second)
		switch {
		case !d.Kind.At(point):
			return what + " is not for this point (ABI-13.2)"
		case !k.man.Directives.Allows(d.Kind, d.First):
			return what + " is not declared in the manifest (ABI-13.2)"
		case (d.Kind == abi.Annotate || d.Kind == abi.Label) && !wire.IsAnnotationKey(d.First):
			return what + ": the key is not valid (ABI-13.2)"
		case d.Kind == abi.Label && !wire.IsLabelValue(d.Second):
			return what + ": the value is not a valid label value (ABI-13.2)"
		case d.Kind == abi.Nominate && d.First != "" && s.cluster.Node(d.First) == nil:
			return what + ": no node has this name (ABI-13.1)"
		}
		binds = binds || d.Kind == abi.BindPod
	}
	if point == abi.Bind && code == abi.Success && !binds {
		return "it returned Success without a directive bind (ABI-5.19)"
	}
	return ""
}
