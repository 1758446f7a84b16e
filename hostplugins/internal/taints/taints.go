// Package taints matches tolerations against taints, on interned strings for rows of a snapshot
// and on API objects for single nodes. The operators Lt and Gt (KEP-5471) match nothing unless a
// caller says that they compare: kube-scheduler's gate TaintTolerationComparisonOperators.
package taints

import (
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Toleration is a toleration with its strings as ids of one epoch.
type Toleration struct {
	key, value uint32
	anyKey     bool
	anyValue   bool
	effect     wire.Effect // 0 for every effect
	// below and above are of the operators Lt and Gt: values under, or over, bound match. strings has the values.
	below, above bool
	bound        int64
	strings      *wire.Dict
}

// Resolve appends the tolerations that can match a taint of this epoch to dst. A toleration
// whose key or value no node has had is left out.
func Resolve(dst []Toleration, tolerations []v1.Toleration, strings *wire.Dict, compare bool) []Toleration {
	for i := range tolerations {
		in := &tolerations[i]
		var t Toleration
		if t.effect = state.TaintEffect(in.Effect); t.effect == 0 && in.Effect != "" {
			continue
		}
		if t.anyKey = in.Key == ""; !t.anyKey {
			if t.key = strings.Lookup(in.Key); t.key == 0 {
				continue
			}
		}
		switch in.Operator {
		case v1.TolerationOpExists:
			t.anyValue = true
		case "", v1.TolerationOpEqual:
			if t.value = strings.Lookup(in.Value); t.value == 0 {
				continue
			}
		case v1.TolerationOpLt, v1.TolerationOpGt:
			bound, ok := integer(in.Value)
			if !compare || !ok {
				continue
			}
			t.below, t.above, t.bound, t.strings = in.Operator == v1.TolerationOpLt, in.Operator == v1.TolerationOpGt, bound, strings
		default:
			continue
		}
		dst = append(dst, t)
	}
	return dst
}

func (t *Toleration) tolerates(taint wire.Taint) bool {
	if t.effect != 0 && t.effect != taint.Effect || !t.anyKey && t.key != taint.Key {
		return false
	}
	if t.below || t.above {
		n, ok := integer(t.strings.String(taint.Value))
		return ok && (t.below && n < t.bound || t.above && n > t.bound)
	}
	return t.anyValue || t.value == taint.Value
}

// integer reads a value that Lt and Gt compare: a decimal integer without leading zeros or a plus sign.
func integer(text string) (int64, bool) {
	if len(content.IsDecimalInteger(text)) > 0 {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

// Untolerated returns the number of taints with one of the effects that no
// toleration matches.
func Untolerated(set []wire.Taint, tolerations []Toleration, effects ...wire.Effect) int64 {
	var n int64
next:
	for _, taint := range set {
		if !contains(effects, taint.Effect) {
			continue
		}
		for i := range tolerations {
			if tolerations[i].tolerates(taint) {
				continue next
			}
		}
		n++
	}
	return n
}

func contains(effects []wire.Effect, e wire.Effect) bool {
	for _, x := range effects {
		if x == e {
			return true
		}
	}
	return false
}

// Tolerated reports whether one of the tolerations matches the taint.
func Tolerated(taint *v1.Taint, tolerations []v1.Toleration, compare bool) bool {
	for i := range tolerations {
		t := &tolerations[i]
		if t.Effect != "" && t.Effect != taint.Effect || t.Key != "" && t.Key != taint.Key {
			continue
		}
		switch t.Operator {
		case v1.TolerationOpExists:
			return true
		case "", v1.TolerationOpEqual:
			if t.Value == taint.Value {
				return true
			}
		case v1.TolerationOpLt, v1.TolerationOpGt:
			bound, ok := integer(t.Value)
			n, also := integer(taint.Value)
			if compare && ok && also && (t.Operator == v1.TolerationOpLt && n < bound || t.Operator == v1.TolerationOpGt && n > bound) {
				return true
			}
		}
	}
	return false
}

// Repels reports whether a node's taints keep a pod away: a NoSchedule or NoExecute taint that
// no toleration matches.
func Repels(taints []v1.Taint, tolerations []v1.Toleration, compare bool) bool {
	for i := range taints {
		e := taints[i].Effect
		if (e == v1.TaintEffectNoSchedule || e == v1.TaintEffectNoExecute) && !Tolerated(&taints[i], tolerations, compare) {
			return true
		}
	}
	return false
}
