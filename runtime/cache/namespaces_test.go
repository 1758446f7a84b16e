package cache_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/runtime/cache"
	"github.com/berth-scheduler/berth/runtime/state"
)

func namespaceNames() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"default", "team-a", "team-b", "team-c", "kube-system"})
}

func (m *machine) putNamespace(t *rapid.T) {
	object := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: namespaceNames().Draw(t, "namespace"), Labels: labels().Draw(t, "labels"),
	}}
	m.cache.AddNamespace(state.NewNamespace(object))
	m.model.namespaces[object.Name] = object
}

func (m *machine) removeNamespace(t *rapid.T) {
	name := namespaceNames().Draw(t, "namespace")
	object, ok := m.cache.RemoveNamespace(name)
	if want := m.model.namespaces[name]; ok != (want != nil) || ok && object.Object != want {
		t.Fatalf("RemoveNamespace(%s) = %v, %v", name, object, ok)
	}
	delete(m.model.namespaces, name)
}

// namespaceReader is a consumer that reads the snapshot from time to time, and only what the
// snapshot says has changed.
type namespaceReader struct {
	snapshot   *state.Snapshot
	generation uint64
	rows       []string
}

func namespaceText(s *state.Snapshot, row uint32) string {
	n := &s.Namespaces
	if n.Name[row] == 0 {
		return ""
	}
	out := []string{}
	for _, p := range n.Labels.Row(row) {
		out = append(out, s.Strings.String(p.Key)+"="+s.Strings.String(p.Value))
	}
	slices.Sort(out)
	return fmt.Sprintf("%s %v %s", s.Strings.String(n.Name[row]), out, sumText(&n.Requested[row]))
}

func sumText(r *state.Resources) string {
	return fmt.Sprint(r.Pods, r.MilliCPU, r.Memory, r.EphemeralStorage, r.Scalars)
}

// requested returns what the pods of a namespace request.
func (m *model) requested(namespace string) *state.Resources {
	sum := &state.Resources{}
	for _, p := range m.pods {
		if p.object.Namespace == namespace {
			sum.Add(&state.NewPod(p.object).Requests)
		}
	}
	sum.Scalars = slices.DeleteFunc(sum.Scalars, func(s state.Scalar) bool { return s.Value == 0 })
	return sum
}

func (r *namespaceReader) read(s *state.Snapshot) {
	changed, known := s.NamespaceChanges(r.generation)
	sums, knownToo := s.SumChanges(r.generation)
	changed = slices.Concat(changed, sums)
	if known = known && knownToo && s == r.snapshot; !known {
		changed = nil
		for row := range s.Namespaces.Len() {
			changed = append(changed, uint32(row))
		}
	}
	r.rows = append(r.rows, make([]string, max(0, s.Namespaces.Len()-len(r.rows)))...)[:s.Namespaces.Len()]
	for _, row := range changed {
		r.rows[row] = namespaceText(s, row)
	}
	r.snapshot, r.generation = s, s.Generation
}

// checkNamespaces compares the namespaces of the snapshot with the model, and the reader, which
// does not read every time, with the snapshot.
func (m *machine) checkNamespaces(t *rapid.T) {
	s := m.snapshot
	rows := 0
	for name, object := range m.model.namespaces {
		row, ok := s.NamespaceRow(name)
		if !ok {
			t.Fatalf("namespace %s has no row", name)
		}
		if got, want := namespaceText(s, row), fmt.Sprintf("%s %v %s", name, pairs(object.Labels), sumText(m.model.requested(name))); got != want {
			t.Fatalf("row %d is %s, want %s", row, got, want)
		}
		if got := s.Namespaces.Namespace[row]; got.Object != object {
			t.Fatalf("row %d holds another object of namespace %s", row, name)
		}
	}
	for row := range uint32(s.Namespaces.Len()) {
		if namespaceText(s, row) != "" {
			rows++
		}
	}
	if rows != len(m.model.namespaces) {
		t.Fatalf("%d rows for %d namespaces", rows, len(m.model.namespaces))
	}
	if !rapid.Bool().Draw(t, "read") {
		return
	}
	m.reader.read(s)
	for row := range uint32(s.Namespaces.Len()) {
		if got, want := m.reader.rows[row], namespaceText(s, row); got != want {
			t.Fatalf("a reader of changes has %q in row %d, the snapshot %q", got, row, want)
		}
	}
}

// TestNamespaceRowsAreStable: no namespace moves when another one is added or removed, and a
// free row is used first.
func TestNamespaceRowsAreStable(t *testing.T) {
	c, s := cache.New(cache.Config{}), state.NewSnapshot()
	for _, name := range []string{"a", "b", "c"} {
		c.AddNamespace(namespaceOf(name, nil))
	}
	c.UpdateSnapshot(s)
	c.RemoveNamespace("b")
	c.AddNamespace(namespaceOf("d", nil))
	c.AddNamespace(namespaceOf("e", nil))
	c.UpdateSnapshot(s)
	for want, name := range []string{"a", "d", "c", "e"} {
		if row, ok := s.NamespaceRow(name); !ok || int(row) != want {
			t.Errorf("namespace %s is in row %d, %v; want %d", name, row, ok, want)
		}
	}
	if row, ok := s.NamespaceRow("b"); ok {
		t.Errorf("namespace b is gone and has row %d", row)
	}
	requireEqual(t, c, s)
}

// TestSumsOfNamespaces: a sum beyond an int64 is the largest one, and what is left is exact; sums that stay write nothing, and sums that
// change write no labels.
func TestSumsOfNamespaces(t *testing.T) {
	c, s := cache.New(cache.Config{}), state.NewSnapshot()
	pod := func(name string, memory int64) *state.Pod {
		return podSpec{Name: name, UID: name, Node: "n", Containers: []containerSpec{{CPU: 1, Memory: memory, GPUName: "nvidia.com/gpu", GPU: 1}}}.pod()
	}
	show := func(want string) (written uint64) {
		t.Helper()
		before := s.BytesWritten
		c.UpdateSnapshot(s)
		row, _ := s.NamespaceRow("default")
		if got := sumText(&s.Namespaces.Requested[row]); got != want {
			t.Errorf("the pods request %s, want %s", got, want)
		}
		requireEqual(t, c, s)
		return s.BytesWritten - before
	}
	put := func(change cache.Change, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	labels := map[string]string{}
	for i := range 1000 {
		labels[fmt.Sprint("label-", i)] = "x"
	}
	put(c.AddPod(pod("a", 3))) // before its namespace, and on a node that is not known
	c.AddNamespace(namespaceOf("default", labels))
	show("1 1 3 0 [{nvidia.com/gpu 1}]")
	put(c.AddPod(pod("b", math.MaxInt64)))
	put(c.AddPod(pod("c", math.MaxInt64)))
	if n := show(fmt.Sprintf("3 3 %d 0 [{nvidia.com/gpu 3}]", int64(math.MaxInt64))); n > 100 {
		t.Errorf("%d bytes are written for a sum", n)
	}
	generation := s.Generation
	b := pod("b", math.MaxInt64)
	put(c.UpdatePod(b, b))
	put(c.UpdatePod(b, pod("b", math.MaxInt64)))
	show(fmt.Sprintf("3 3 %d 0 [{nvidia.com/gpu 3}]", int64(math.MaxInt64)))
	if rows, known := s.SumChanges(generation); len(rows) > 0 || !known {
		t.Errorf("the sums of rows %v have changed, %t", rows, known)
	}
	c.RemovePod("b")
	c.RemovePod("c")
	show("1 1 3 0 [{nvidia.com/gpu 1}]")
	if rows, known := s.NamespaceChanges(generation); len(rows) > 0 || !known {
		t.Errorf("the namespaces of rows %v have changed, %t", rows, known)
	}
	c.RemovePod("a")
	show("0 0 0 0 []")
}

// TestNamespacesAndEpochs: labels that come and go cause new epochs, but live ones do not,
// although there are more namespaces than anything else.
func TestNamespacesAndEpochs(t *testing.T) {
	const count = 5_000
	c, s := cache.New(cache.Config{}), state.NewSnapshot()
	c.AddNode(nodeSpec{Name: "a"}.node())
	put := func(i, version int) {
		name := fmt.Sprint("namespace-", i)
		c.AddNamespace(namespaceOf(name, map[string]string{v1.LabelMetadataName: name, "version": fmt.Sprint(version)}))
	}
	for i := range count {
		put(i, 0)
	}
	c.UpdateSnapshot(s)
	epoch := s.Epoch
	for i := range 100 {
		put(i, i)
		c.UpdateSnapshot(s)
	}
	if s.Epoch != epoch {
		t.Errorf("100 changes turned the epoch over %d times", s.Epoch-epoch)
	}
	for version := range 3 * count {
		put(version%count, version)
		if version%100 == 0 {
			c.UpdateSnapshot(s)
		}
		if size := s.Strings.Len(); size > 2*2*count+4096+100 {
			t.Fatalf("epoch %d has %d strings", s.Epoch, size)
		}
	}
	c.UpdateSnapshot(s)
	if turns := s.Epoch - epoch; turns < 1 || turns > 3 {
		t.Errorf("the epoch turned over %d times", turns)
	}
	requireEqual(t, c, s)
}
