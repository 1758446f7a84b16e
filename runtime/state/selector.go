package state

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Requirement is one compiled expression of a node selector term.
type Requirement struct {
	Key    string
	Op     v1.NodeSelectorOperator
	Values []string
	Number int64 // the operand of Gt and Lt
}

// Term is a conjunction of requirements on labels and on fields. The API's only field is
// metadata.name.
type Term struct {
	Labels []Requirement
	Fields []Requirement
	Weight int32 // of a preferred term, 1 … 100
	// Err says why the term cannot be evaluated; such a term matches nothing.
	Err error
}

// Empty reports whether the term has no requirements. An empty term matches no node (core/v1
// NodeSelectorTerm).
func (t *Term) Empty() bool { return len(t.Labels) == 0 && len(t.Fields) == 0 }

// CompileTerms compiles the ORed terms of a required node selector. It drops terms without
// requirements, which match nothing.
func CompileTerms(terms []v1.NodeSelectorTerm) []Term {
	out := make([]Term, 0, len(terms))
	for i := range terms {
		if t := compileTerm(&terms[i]); !t.Empty() {
			out = append(out, t)
		}
	}
	return out
}

// CompilePreferred compiles preferred scheduling terms. It drops terms of weight zero and terms
// without requirements, which do not change scores.
func CompilePreferred(terms []v1.PreferredSchedulingTerm) []Term {
	out := make([]Term, 0, len(terms))
	for i := range terms {
		if terms[i].Weight == 0 {
			continue
		}
		if t := compileTerm(&terms[i].Preference); !t.Empty() {
			t.Weight = terms[i].Weight
			out = append(out, t)
		}
	}
	return out
}

// CompileNodeSelector compiles spec.nodeSelector: every label must be equal.
func CompileNodeSelector(selector map[string]string) []Requirement {
	out := make([]Requirement, 0, len(selector))
	for _, key := range SortedKeys(selector) {
		out = append(out, Requirement{Key: key, Op: v1.NodeSelectorOpIn, Values: []string{selector[key]}})
	}
	return out
}

func compileTerm(term *v1.NodeSelectorTerm) Term {
	t := Term{
		Labels: make([]Requirement, 0, len(term.MatchExpressions)),
		Fields: make([]Requirement, 0, len(term.MatchFields)),
	}
	for i := range term.MatchExpressions {
		r, err := compileLabel(&term.MatchExpressions[i])
		t.Labels, t.Err = append(t.Labels, r), cmp.Or(t.Err, err)
	}
	for i := range term.MatchFields {
		r, err := compileField(&term.MatchFields[i])
		t.Fields, t.Err = append(t.Fields, r), cmp.Or(t.Err, err)
	}
	return t
}

// compileLabel compiles an expression on a label. Invalid keys and values are errors, as in
// k8s.io/apimachinery's labels: NotIn with such a value must not match every node.
func compileLabel(in *v1.NodeSelectorRequirement) (Requirement, error) {
	r := Requirement{Key: in.Key, Op: in.Operator, Values: in.Values}
	if problems := validation.IsQualifiedName(r.Key); len(problems) > 0 {
		return r, fmt.Errorf("%q is not a label key: %s", r.Key, strings.Join(problems, "; "))
	}
	switch r.Op {
	case v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn:
		if len(r.Values) == 0 {
			return r, fmt.Errorf("operator %s on %q needs at least one value", r.Op, r.Key)
		}
	case v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist:
		if len(r.Values) != 0 {
			return r, fmt.Errorf("operator %s on %q takes no values", r.Op, r.Key)
		}
	case v1.NodeSelectorOpGt, v1.NodeSelectorOpLt:
		if len(r.Values) != 1 {
			return r, fmt.Errorf("operator %s on %q needs exactly one value", r.Op, r.Key)
		}
		n, err := strconv.ParseInt(r.Values[0], 10, 64)
		if err != nil {
			return r, fmt.Errorf("operator %s on %q needs an integer: %w", r.Op, r.Key, err)
		}
		r.Number = n
	default:
		return r, fmt.Errorf("%q is not a node selector operator", r.Op)
	}
	for _, v := range r.Values {
		if problems := validation.IsValidLabelValue(v); len(problems) > 0 {
			return r, fmt.Errorf("%q on %q is not a label value: %s", v, r.Key, strings.Join(problems, "; "))
		}
	}
	return r, nil
}

// compileField compiles an expression on a field: In or NotIn one value.
func compileField(in *v1.NodeSelectorRequirement) (Requirement, error) {
	r := Requirement{Key: in.Key, Op: in.Operator, Values: in.Values}
	switch {
	case r.Key != "metadata.name":
		return r, fmt.Errorf("node selector field %q is not supported, only metadata.name", r.Key)
	case r.Op != v1.NodeSelectorOpIn && r.Op != v1.NodeSelectorOpNotIn:
		return r, fmt.Errorf("operator %s on field %s is not supported, only In and NotIn", r.Op, r.Key)
	case len(r.Values) != 1:
		return r, fmt.Errorf("operator %s on field %s needs exactly one value", r.Op, r.Key)
	}
	return r, nil
}
