package state_test

import (
	"fmt"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/runtime/state"
)

// namespace returns a row with a namespace; without a name, an empty row.
func namespace(row uint32, generation uint64, name string, labels map[string]string) state.NamespaceInfo {
	info := state.NamespaceInfo{Row: row, Generation: generation}
	if name != "" {
		info.Namespace = state.NewNamespace(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
	}
	return info
}

func namespaceText(s *state.Snapshot) string {
	var out []string
	t := &s.Namespaces
	for row := range uint32(t.Len()) {
		text := fmt.Sprintf("%d %s@%d", row, s.Strings.String(t.Name[row]), t.Generation[row])
		for _, p := range t.Labels.Row(row) {
			text += fmt.Sprintf(" %s=%s", s.Strings.String(p.Key), s.Strings.String(p.Value))
		}
		if ns := t.Namespace[row]; ns != nil {
			if got, ok := s.NamespaceRow(ns.Name); !ok || got != row {
				text += fmt.Sprintf(" (the index says %d, %v)", got, ok)
			}
		}
		out = append(out, text)
	}
	return fmt.Sprintf("%q", out)
}

// TestNamespaceRows: nothing is left of a removed namespace, in whatever order rows are reused.
func TestNamespaceRows(t *testing.T) {
	s := state.NewSnapshot()
	update := func(want string, infos ...state.NamespaceInfo) (written uint64) {
		t.Helper()
		before := s.BytesWritten
		s.Update(nil, nil, nil, infos...)
		if got := namespaceText(s); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		return s.BytesWritten - before
	}
	a, b := namespace(0, 1, "a", map[string]string{"team": "x"}), namespace(2, 2, "b", nil)
	update(`["0 a@1 team=x" "1 @0" "2 b@2"]`, a, b)
	if n := update(`["0 a@1 team=x" "1 @0" "2 b@2"]`, namespace(1, 3, "", nil), namespace(7, 3, "", nil)); n != 0 {
		t.Errorf("%d bytes written for empty rows", n)
	}
	update(`["0 b@4" "1 @0" "2 a@5 team=x"]`, namespace(0, 4, "b", nil), namespace(2, 5, "a", map[string]string{"team": "x"}))
	update(`["0 b@4" "1 a@6" "2 @0"]`, namespace(1, 6, "a", nil), namespace(2, 7, "", nil))
	if row, ok := s.NamespaceRow("gone"); ok {
		t.Errorf("a missing namespace has row %d", row)
	}
}

// TestNamespaceChanges: changes are known from any generation after the last change but one.
func TestNamespaceChanges(t *testing.T) {
	s := state.NewSnapshot()
	expect := func(since uint64, known bool, rows ...uint32) {
		t.Helper()
		got, ok := s.NamespaceChanges(since)
		if ok != known || !slices.Equal(got, rows) {
			t.Errorf("generation %d: since %d there are %v, %v; want %v, %v", s.Generation, since, got, ok, rows, known)
		}
	}
	s.Rebuild(nil, namespace(0, 1, "a", nil), namespace(1, 2, "b", nil)) // generation 1
	expect(0, false)
	expect(1, true)
	expect(2, false) // not there yet
	s.Update(nil, nil, nil)
	expect(1, true)
	s.Update(nil, nil, nil, namespace(1, 3, "b", nil), namespace(4, 4, "c", nil)) // generation 3
	expect(0, false)
	expect(1, true, 1, 4)
	expect(2, true, 1, 4)
	expect(3, true)
	s.Update(nil, nil, nil)
	s.Update(nil, nil, nil, namespace(0, 5, "", nil)) // generation 5
	expect(2, false)
	expect(3, true, 0)
	expect(4, true, 0)
	s.Rebuild(nil)
	expect(5, false)
	expect(6, true)
	if n := s.Namespaces.Len(); n != 0 {
		t.Errorf("%d rows after a rebuild without namespaces", n)
	}
}
