package state

import (
	"encoding/binary"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// PodAffinity is the compiled spec.affinity.podAffinity and podAntiAffinity. The API server has
// merged matchLabelKeys and mismatchLabelKeys (KEP-3633) into the selectors, so terms do not
// have them.
type PodAffinity struct {
	// Required and RequiredAnti are the requiredDuringSchedulingIgnoredDuringExecution of
	// affinity and anti-affinity, Preferred and PreferredAnti the
	// preferredDuringSchedulingIgnoredDuringExecution.
	Required, RequiredAnti, Preferred, PreferredAnti PodTerms
	// Text is a map key: equal texts mean equal terms in equal order.
	Text string
}

// PodTerms is a list of terms of one kind.
type PodTerms struct {
	// List is empty if one of the terms cannot be compiled.
	List []PodTerm
	// Err says why it cannot.
	Err error
	// Any is true if the API's list has terms.
	Any bool
}

// PodTerm is a compiled PodAffinityTerm.
type PodTerm struct {
	TopologyKey string
	// Selector is labelSelector.
	Selector PodSelector
	// Namespaces is sorted. It is the pod's own namespace if the API's term has neither
	// namespaces nor a namespaceSelector.
	Namespaces []string
	// NamespaceSelector selects further namespaces; Nothing if the API's term has none.
	NamespaceSelector PodSelector
	// EveryNamespace is true if NamespaceSelector is empty: it selects also namespaces whose objects are unknown.
	EveryNamespace bool
	// Weight is the weight of a preferred term, 1 … 100.
	Weight int32
	// Text identifies a term, whatever its weight: equal texts match the same pods in the same
	// domains.
	Text string
}

// Err returns what is wrong with the lists, in kube-scheduler's words; nil if nothing is.
func (a *PodAffinity) Err() error {
	var errs []error
	for _, list := range []struct {
		name string
		err  error
	}{
		{"requiredAffinityTerms", a.Required.Err}, {"requiredAntiAffinityTerms", a.RequiredAnti.Err},
		{"preferredAffinityTerms", a.Preferred.Err}, {"preferredAntiAffinityTerms", a.PreferredAnti.Err},
	} {
		if list.err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", list.name, list.err))
		}
	}
	return utilerrors.NewAggregate(errs)
}

// Names reports whether the term names a namespace; it may select others.
func (t *PodTerm) Names(namespace string) bool {
	_, ok := slices.BinarySearch(t.Namespaces, namespace)
	return ok
}

// Matches reports whether the term matches a pod in a namespace with these labels; they are nil
// if the namespace's object is unknown.
func (t *PodTerm) Matches(namespace string, namespaceLabels, podLabels map[string]string) bool {
	return (t.Names(namespace) || t.NamespaceSelector.Matches(labels.Set(namespaceLabels))) &&
		t.Selector.Matches(labels.Set(podLabels))
}

// compilePodAffinity compiles the terms of a pod; nil if it has none.
func compilePodAffinity(object *v1.Pod) *PodAffinity {
	a := object.Spec.Affinity
	if a == nil || a.PodAffinity == nil && a.PodAntiAffinity == nil {
		return nil
	}
	out := &PodAffinity{}
	c := termCompiler{namespace: object.Namespace}
	if p := a.PodAffinity; p != nil {
		out.Required = c.required(p.RequiredDuringSchedulingIgnoredDuringExecution)
		out.Preferred = c.preferred(p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if p := a.PodAntiAffinity; p != nil {
		out.RequiredAnti = c.required(p.RequiredDuringSchedulingIgnoredDuringExecution)
		out.PreferredAnti = c.preferred(p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	var text []byte
	for _, list := range [][]PodTerm{out.Required.List, out.RequiredAnti.List, out.Preferred.List, out.PreferredAnti.List} {
		text = binary.AppendUvarint(text, uint64(len(list)))
		for i := range list {
			text = appendText(binary.AppendVarint(text, int64(list[i].Weight)), list[i].Text)
		}
	}
	out.Text = string(text)
	return out
}

// termCompiler compiles the terms of a pod in a namespace.
type termCompiler struct{ namespace string }

func (c termCompiler) required(in []v1.PodAffinityTerm) PodTerms {
	out := PodTerms{Any: len(in) > 0}
	for i := range in {
		out.add(c.compile(&in[i], 0))
	}
	return out
}

func (c termCompiler) preferred(in []v1.WeightedPodAffinityTerm) PodTerms {
	out := PodTerms{Any: len(in) > 0}
	for i := range in {
		out.add(c.compile(&in[i].PodAffinityTerm, in[i].Weight))
	}
	return out
}

// add adds a term unless it, or one before it, failed to compile.
func (t *PodTerms) add(term PodTerm, err error) {
	switch {
	case t.Err != nil:
	case err != nil:
		t.List, t.Err = nil, err
	default:
		t.List = append(t.List, term)
	}
}

func (c termCompiler) compile(in *v1.PodAffinityTerm, weight int32) (t PodTerm, err error) {
	t = PodTerm{TopologyKey: in.TopologyKey, Weight: weight}
	if t.Selector, err = CompilePodSelector(in.LabelSelector); err != nil {
		return t, err
	}
	if t.NamespaceSelector, err = CompilePodSelector(in.NamespaceSelector); err != nil {
		return t, err
	}
	t.EveryNamespace = t.NamespaceSelector.Empty()
	if len(in.Namespaces) == 0 && in.NamespaceSelector == nil {
		t.Namespaces = []string{c.namespace}
	} else {
		t.Namespaces = slices.Compact(slices.Sorted(slices.Values(in.Namespaces)))
	}
	text := appendText(nil, t.TopologyKey)
	text = appendText(appendText(text, t.Selector.Text), t.NamespaceSelector.Text)
	for _, namespace := range t.Namespaces {
		text = appendText(text, namespace)
	}
	t.Text = string(text)
	return t, nil
}
