package objectview

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Table has what a view reads of all objects, and says to which node or namespace they belong.
type Table struct {
	key, of string
	objects map[string]*Object   // by name
	owners  map[string][]*Object // those of a node or namespace, the oldest first
	bytes   int64
	lost    int // objects of which something is left out
}

// NewTable returns a table without objects, for a view.
func NewTable(v *wire.ObjectView) *Table {
	t := &Table{key: v.Key(), of: state.OfNodes}
	if v.Join == wire.JoinNamespace {
		t.of = state.OfNamespaces
	}
	t.empty()
	return t
}

func (t *Table) empty() {
	t.objects, t.owners, t.bytes, t.lost = make(map[string]*Object), make(map[string][]*Object), 0, 0
}

// Bytes is about how much the table keeps.
func (t *Table) Bytes() int64 { return t.bytes }

// Len returns the number of objects.
func (t *Table) Len() int { return len(t.objects) }

// lostOf returns of how many objects something is left out, and what of one of them.
func (t *Table) lostOf() (n int, example error) {
	if t.lost == 0 {
		return 0, nil
	}
	for _, name := range slices.Sorted(maps.Keys(t.objects)) {
		if o := t.objects[name]; o.Lost != nil {
			return t.lost, named{o.Name, o.Lost}
		}
	}
	return t.lost, nil
}

// named says of which object an error is.
type named struct {
	name string
	err  error
}

func (n named) Error() string { return strings.TrimPrefix(n.name, "/") + ": " + n.err.Error() }
func (n named) Unwrap() error { return n.err }

// doubled returns how many objects do not count because an older one is for the same owner.
func (t *Table) doubled() (n int) {
	for _, all := range t.owners {
		n += len(all) - 1
	}
	return n
}

// Left says what of the objects was left out.
func (t *Table) Left(resource string) (out []error) {
	if n, example := t.lostOf(); n > 0 {
		out = append(out, fmt.Errorf("%s: something is left out of %d objects, such as %w", resource, n, example))
	}
	if n := t.doubled(); n > 0 {
		out = append(out, fmt.Errorf("%s: %d objects do not count, because an older one is for the same %s", resource, n, t.owner()))
	}
	return out
}

// owner says to what the objects belong.
func (t *Table) owner() string {
	if t.of == state.OfNamespaces {
		return "namespace"
	}
	return "node"
}

// Set adds an object, or replaces the one of its name.
func (t *Table) Set(o *Object, changed map[string]state.Cell) {
	if old := t.objects[o.Name]; old != nil && old.Owner == o.Owner && old.Created.Equal(o.Created) && old.Columns.Equal(o.Columns) {
		o.Columns = old.Columns // nothing has changed
	}
	t.remove(o.Name, changed)
	t.objects[o.Name] = o
	if o.Columns != nil {
		t.bytes += o.Columns.Size()
	}
	if o.Lost != nil {
		t.lost++
	}
	if o.Owner == "" {
		return
	}
	all := append(t.owners[o.Owner], o)
	slices.SortFunc(all, func(a, b *Object) int { return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.Name, b.Name)) })
	t.owners[o.Owner] = all
	changed[o.Owner] = t.cell(o.Owner)
}

// Delete removes the object of a name.
func (t *Table) Delete(name string, changed map[string]state.Cell) { t.remove(name, changed) }

// Clear removes all objects.
func (t *Table) Clear(changed map[string]state.Cell) {
	for owner := range t.owners {
		changed[owner] = state.Cell{}
	}
	t.empty()
}

// Names returns the names of the objects.
func (t *Table) Names() []string { return slices.Collect(maps.Keys(t.objects)) }

func (t *Table) remove(name string, changed map[string]state.Cell) {
	o := t.objects[name]
	if o == nil {
		return
	}
	delete(t.objects, name)
	if o.Columns != nil {
		t.bytes -= o.Columns.Size()
	}
	if o.Lost != nil {
		t.lost--
	}
	if o.Owner == "" {
		return
	}
	all := slices.DeleteFunc(t.owners[o.Owner], func(other *Object) bool { return other == o })
	if t.owners[o.Owner] = all; len(all) == 0 {
		delete(t.owners, o.Owner)
	}
	changed[o.Owner] = t.cell(o.Owner)
}

// cell returns what a node or namespace has.
func (t *Table) cell(owner string) state.Cell {
	if all := t.owners[owner]; len(all) > 0 {
		return state.Cell{State: abi.FeedFresh, Columns: all[0].Columns}
	}
	return state.Cell{}
}

// Feed returns changes as the scheduler takes them in.
func (t *Table) Feed(changed map[string]state.Cell) state.Feed {
	return state.Feed{Name: t.key, Of: t.of, Cells: changed}
}

// Known is the key of a cell that says that the objects are known, whether there are some or none. Nothing has this name.
const Known = ""

// Join returns what views have of objects of any kinds, which are all that there are, for a scheduler to take in, and what was left out.
func Join(views []wire.ObjectView, objects []map[string]any) (out []state.Feed, lost []error) {
	for i := range views {
		view, table := New(&views[i]), NewTable(&views[i])
		changed := map[string]state.Cell{Known: {State: abi.FeedFresh}}
		for _, object := range objects {
			apiVersion, _ := object["apiVersion"].(string)
			kind, _ := object["kind"].(string)
			if is, _ := view.Of(schema.FromAPIVersionAndKind(apiVersion, kind)); is {
				table.Set(view.Read(object), changed)
			}
		}
		out, lost = append(out, table.Feed(changed)), append(lost, table.Left(views[i].Resource)...)
	}
	return out, lost
}

// Columns returns what a view has if each column, by its arg, has these numbers or texts.
func Columns(view *wire.ObjectView, of func(arg int) ([]int64, []*string)) *state.Columns {
	out := new(state.Columns)
	for _, arg := range view.Args {
		numbers, texts := of(arg)
		out.Numbers, out.Texts = append(out.Numbers, numbers), append(out.Texts, texts)
	}
	return out
}
