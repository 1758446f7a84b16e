package wire

import (
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/fieldpath"
	"github.com/berth-scheduler/berth/abi/fields"
)

// ManifestObject is a kind of objects of the API of which the module reads fields (ABI-9.16).
type ManifestObject struct {
	// Name is a DNS label, with which columns begin.
	Name string
	// Resource is plural.group/version.
	Resource string
	// Join says to what an object belongs: JoinNode or JoinNamespace.
	Join string
	// Field is the path in the object of the name of what it belongs to; empty for .metadata.name and JoinNode, and for .metadata.namespace
	// and JoinNamespace.
	Field string
	// Required has the pods of the plugin wait while the objects cannot be watched.
	Required bool
}

// The joins. An object belongs to the node or the namespace that it names.
const (
	JoinNode      = "node"
	JoinNamespace = "namespace"
)

// joins returns the joins, and the tables that show their objects.
func joins() []objectJoin {
	return []objectJoin{{JoinNode, abi.TableNodes, ".metadata.name"}, {JoinNamespace, abi.TableNamespaces, ".metadata.namespace"}}
}

type objectJoin struct {
	name  string
	table abi.TableID
	field string // where the name is, unless Field says so
}

// joinOf returns a join; nil if there is none of the name.
func joinOf(name string) *objectJoin {
	all := joins()
	if i := slices.IndexFunc(all, func(j objectJoin) bool { return j.name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// Owner returns the path in an object of the name of what it belongs to.
func (o *ManifestObject) Owner() string {
	if j := joinOf(o.Join); o.Field == "" && j != nil {
		return j.field
	}
	return o.Field
}

// The types of columns of objects (ABI-4.22).
const (
	ObjectString   = "string"
	ObjectInteger  = "integer"
	ObjectQuantity = "quantity"
	ObjectTime     = "time"
	ObjectBoolean  = "boolean"
)

// What a column has of the elements of a list instead of a field.
const (
	elementKey    = ".@key"
	elementParent = ".@parent"
)

// ObjectColumn is a column of an object: one value, or one of each element of a list (ABI-4.22).
type ObjectColumn struct {
	// Object is the name of a ManifestObject, and Type one of the types of columns.
	Object, Type string
	// Path is that of the value; of an element's list, if Key or Parent.
	Path fieldpath.Path
	// Key has the keys of elements, and Parent the places of the elements of the outer list in which they are.
	Key, Parent bool
}

func objectTypes() []string {
	return []string{ObjectString, ObjectInteger, ObjectQuantity, ObjectTime, ObjectBoolean}
}

// objectColumnFix says what a column looks like.
const objectColumnFix = "write the name of an object, a path and a type, such as zones.status.zones[*].free:quantity"

// ParseObjectColumn reads a column as reads.objectColumns has it: the name of an object, a path, a colon and a type.
//
// # Errors
//
// A *ManifestError without a path.
func ParseObjectColumn(text string) (ObjectColumn, error) {
	wrong := func(detail, fix string) (ObjectColumn, error) {
		return ObjectColumn{}, &ManifestError{Detail: quoted(text) + ": " + detail, Fix: fix, Rule: "ABI-9.16"}
	}
	at := strings.IndexAny(text, ".[")
	colon := strings.LastIndexByte(text, ':')
	if at < 1 || colon < at {
		return wrong("it is not a column of an object", objectColumnFix)
	}
	c := ObjectColumn{Object: text[:at], Type: text[colon+1:]}
	if !isLabel(c.Object) {
		return wrong(quoted(c.Object)+" is not the name of an object", objectColumnFix)
	}
	if !slices.Contains(objectTypes(), c.Type) {
		return wrong(quoted(c.Type)+" is not a type", "write "+strings.Join(objectTypes(), ", ")+" after the colon")
	}
	path := text[at:colon]
	path, c.Key = strings.CutSuffix(path, elementKey)
	if !c.Key {
		path, c.Parent = strings.CutSuffix(path, elementParent)
	}
	var err error
	if c.Path, err = fieldpath.Parse(path); err != nil {
		return wrong(err.Error(), objectColumnFix)
	}
	lists, rest := c.Path.Lists()
	switch {
	case len(c.Path.Steps()) == 0:
		return wrong("it has no path", objectColumnFix)
	case c.Key && (len(lists) < 1 || len(rest.Steps()) > 0 || c.Type != ObjectString):
		return wrong("a key is that of an element, and a string", "write [*]"+elementKey+":"+ObjectString)
	case c.Parent && (len(lists) < 2 || len(rest.Steps()) > 0 || c.Type != ObjectInteger):
		return wrong("a parent is that of an element of a list in a list, and an integer",
			"write a path with two [*], the second at its end, and "+elementParent+":"+ObjectInteger)
	case len(lists) > maxObjectLists:
		return wrong("lists nest more than four deep", "read less")
	}
	return c, nil
}

// maxObjectLists is how deeply lists of columns may nest.
const maxObjectLists = 4

// MaxObjects is how many kinds of objects a module may read.
const MaxObjects = 8

// Text reports whether the column has strings.
func (c *ObjectColumn) Text() bool { return c.Type == ObjectString }

// objectArgs returns the args of the columns of objects that an entry shows: those of its type, of objects that belong to the rows of its
// table.
func (r *ManifestReads) objectArgs(e *fields.Entry) (out []int) {
	for i, text := range r.ObjectColumns {
		if strings.HasSuffix(text, ":"+ObjectString) == (e.Type == abi.TypeU32) && r.shownIn(text) == e.Table {
			out = append(out, i)
		}
	}
	return out
}

// Joins returns to what the objects belong, by their names.
func (r *ManifestReads) Joins() map[string]string {
	out := make(map[string]string, len(r.Objects))
	for i := range r.Objects {
		out[r.Objects[i].Name] = r.Objects[i].Join
	}
	return out
}

// shownIn returns the table that shows a column of objects; that of nodes if its object is not declared, which Validate refuses.
func (r *ManifestReads) shownIn(column string) abi.TableID {
	for i := range r.Objects {
		if rest, ok := strings.CutPrefix(column, r.Objects[i].Name); ok && strings.IndexAny(rest, ".[") == 0 {
			return r.Objects[i].Table()
		}
	}
	return abi.TableNodes
}

// ObjectView is a kind of objects with the columns that a module reads of it.
type ObjectView struct {
	ManifestObject
	Columns []ObjectColumn
	// Args are the places of the columns in reads.objectColumns.
	Args []int
}

// ObjectViews returns what a valid manifest reads of objects, in its order.
func (m *Manifest) ObjectViews() (out []ObjectView) {
	for _, o := range m.Reads.Objects {
		view := ObjectView{ManifestObject: o}
		for i, text := range m.Reads.ObjectColumns {
			if c, err := ParseObjectColumn(text); err == nil && c.Object == o.Name {
				view.Columns, view.Args = append(view.Columns, c), append(view.Args, i)
			}
		}
		out = append(out, view)
	}
	return out
}

// Table returns the table that shows the objects.
func (o *ManifestObject) Table() abi.TableID {
	if j := joinOf(o.Join); j != nil {
		return j.table
	}
	return abi.TableNodes
}

// Rights returns what a user must grant the module: its directives, and the resources of its objects.
func (m *Manifest) Rights() ManifestDirectives {
	out := m.Directives
	for _, o := range m.Reads.Objects {
		resource, _, _ := strings.Cut(o.Resource, "/")
		if !slices.Contains(out.Objects, resource) {
			out.Objects = append(out.Objects, resource)
		}
	}
	return out
}

// ColumnHint splits COLUMN=VALUE, where the column is one of these in reads.objectColumns. A path may have a = itself.
func ColumnHint(columns []string, hint string) (column, value string, is bool) {
	for _, column := range columns {
		if value, is := strings.CutPrefix(hint, column+"="); is {
			return column, value, true
		}
	}
	return "", "", false
}

// Key names what the view has: equal views of different modules have the same key. It is no name of a feed.
func (v *ObjectView) Key() string {
	var b strings.Builder
	b.WriteString(v.Resource + " by " + v.Join + v.Field)
	for i := range v.Columns {
		c := &v.Columns[i]
		b.WriteString(" " + c.Path.String())
		switch {
		case c.Key:
			b.WriteString(elementKey)
		case c.Parent:
			b.WriteString(elementParent)
		}
		b.WriteString(":" + c.Type)
	}
	return b.String()
}

// objects checks the kinds of objects and their columns.
func (v manifestValidator) objects(m *Manifest) {
	const rule = "ABI-9.16"
	var names []string
	if len(m.Reads.Objects) > MaxObjects {
		v.add("objects", "it has more than eight kinds of objects", "read less", "ABI-10")
	}
	for i, o := range m.Reads.Objects {
		path := index("objects", i)
		switch {
		case !isLabel(o.Name):
			v.add(path+".name", quoted(o.Name)+" is not a DNS label", "write a name such as zones", rule)
		case slices.Contains(names, o.Name):
			v.add(path+".name", quoted(o.Name)+" is there already", "write another name", rule)
		}
		names = append(names, o.Name)
		if _, err := fieldpath.ParseResource(o.Resource); err != nil {
			v.add(path+".resource", err.Error(), "", rule)
		}
		if joinOf(o.Join) == nil {
			v.add(path+".join", quoted(o.Join)+" is nothing to which an object belongs", "write "+JoinNode+" or "+JoinNamespace, rule)
		}
		if o.Field == "" {
			continue
		}
		if p, err := fieldpath.Parse(o.Field); err != nil {
			v.add(path+".field", err.Error(), "", rule)
		} else if p.Many() {
			v.add(path+".field", "it leads to several values", "write the path of one text", rule)
		}
	}
	used := make([]bool, len(names))
	for i, text := range m.Reads.ObjectColumns {
		path := index("reads.objectColumns", i)
		c, err := ParseObjectColumn(text)
		if err != nil {
			wrong := err.(*ManifestError) //nolint:errorlint // ParseObjectColumn returns no other
			v.add(path, wrong.Detail, wrong.Fix, wrong.Rule)
			continue
		}
		if at := slices.Index(names, c.Object); at >= 0 {
			used[at] = true
		} else {
			v.add(path, quoted(c.Object)+" is not among the objects", v.suggest(c.Object, names), rule)
		}
	}
	for i := range names {
		if !used[i] {
			v.add(index("objects", i), "no column reads it", "add one to reads.objectColumns, or remove it", rule)
		}
	}
	v.once("reads.objectColumns", m.Reads.ObjectColumns, "ABI-9.4")
}
