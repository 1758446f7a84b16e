package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/fields"
)

// form is how the SDKs read a column.
type form uint8

const (
	cell      form = iota // a number or string of each row
	flag                  // a bit of it
	text                  // the bytes of a string
	list                  // elements of a kind
	slots                 // pods on nodes
	keyed                 // a number or string of each row, for each declared key
	amounts               // two numbers of each row: CPU and memory
	keyedList             // a list of numbers or strings of each row, for each declared key
)

func formOf(e *fields.Entry) form {
	switch {
	case e.Span && e.Type == abi.TypeBytes:
		return text
	case e.Span && e.Arg != fields.ArgNone:
		return keyedList
	case e.Span && e.Type == abi.TypeU32:
		return slots
	case e.Span:
		return list
	case e.Arg == fields.ArgAmount:
		return amounts
	case e.Arg != fields.ArgNone:
		return keyed
	case len(e.Bits) > 0:
		return flag
	}
	return cell
}

// sdk is how a language reads columns. Its texts have the places that values describes.
type sdk struct {
	// owner has for each table the type of its rows, row the number of a row in a reader, and prefix that of ids, in PascalCase.
	owner, row, prefix [5]string
	// element has the types of elements; enum is that of numbers with names, and in a cell raw, if that differs.
	element   map[abi.Type]string
	enum, raw string
	// key has what readers call a key of the list resources, of nodeConditions, of feeds, and of other lists.
	key [4]string
	// numbers is the type of a list of numbers.
	numbers string
	// or follows the name of a column by resource that the manifest may lack. absent is the id of no string.
	or, absent string
	// comment writes what a reader does.
	comment func(name, doc string) string
	// reader has the readers, and byKey is the one that lists of labels have besides.
	reader texts
	byKey  string
}

// columnsOf returns the columns of tables that modules read, in the order of tables and ids.
func columnsOf(tables ...abi.TableID) (out []fields.Entry) {
	for _, table := range tables {
		out = append(out, slices.DeleteFunc(in(table), func(e fields.Entry) bool { return e.Native || e.Reserved })...)
	}
	return out
}

// values are the places of a text, and what stands there for a column, or for a bit of one: {Name}, {name}, {snake} are the name of the
// reader; {Column}, {camel}, {COLUMN}, {column} that of the id with its table; {Go} that in package abi; {list}, {entry} what the manifest
// calls it; {what} what the manifest lacks if there is no column; {Owner}, {owner}, {self}, {row} the row; {type}, {raw} the type of an element,
// and {TYPE}, {Type} its name in the ABI; {key}, {Key} the argument of a column of keys, and {keys}, {LIST}, {KEYS} the list that numbers
// it; {several} that of a list of them; {class}, {lists}, {one} the class of a list, what it has, and an element of it; {bit}, {mask} a flag.
func (l *sdk) values(e *fields.Entry, bit int) *strings.Replacer {
	column := l.prefix[e.Table] + pascal(e)
	name := pascal(e)
	if e.Arg == fields.ArgResource {
		name = strings.TrimSuffix(name, "s")
	}
	self, _, _ := strings.Cut(l.row[e.Table], ".")
	flag, mask := "", ""
	if bit >= 0 {
		flag, mask = e.Bits[bit].Go, string("1248"[bit])
		name = upper(e.Bits[bit].Name)
	}
	kind, raw := l.element[e.Type], l.element[e.Type]
	if e.Enum != "" {
		kind = strings.ReplaceAll(l.enum, "{Enum}", e.Enum)
		raw = cmp.Or(l.raw, kind)
	}
	cast, said := "", doc(e, bit, l.absent)
	if raw != kind {
		cast = "(" + kind + ")"
	} else if e.Enum != "" && kind != e.Enum {
		said += ", a " + e.Enum
	}
	key, what, keys := l.key[3], "the key", snake(strings.TrimSuffix(upper(e.ArgList()), "s"))+"_KEYS"
	switch e.ArgList() {
	case "resources":
		key, what, keys = l.key[0], e.Name+l.or, "RESOURCES"
	case "nodeConditions":
		key, what, keys = l.key[1], "the type", "NODE_CONDITION_TYPES"
	case "feeds":
		key, what, keys = l.key[2], "the feed", "FEEDS"
	case "objectColumns":
		what, keys = "the column, or with another type or join", "OBJECT_COLUMNS"
	}
	several := l.numbers
	if e.Type == abi.TypeU32 {
		several = kind + "s"
	}
	class := l.prefix[e.Table] + name
	if formOf(e) == slots {
		class = name
	}
	return strings.NewReplacer(
		"{Name}", name, "{name}", lower(name), "{snake}", strings.ToLower(snake(name)),
		"{Column}", column, "{COLUMN}", snake(column), "{column}", strings.ToLower(snake(column)), "{camel}", lower(column),
		"{Go}", e.Go, "{list}", e.List, "{entry}", e.Name, "{what}", what, "{Owner}", l.owner[e.Table], "{self}", self, "{row}", l.row[e.Table],
		"{owner}", strings.ToLower(snake(l.owner[e.Table])),
		"{type}", kind, "{raw}", raw, "{TYPE}", strings.ToUpper(typeName(e.Type)), "{Type}", upper(typeName(e.Type)),
		"{Key}", strings.TrimSuffix(upper(e.ArgList()), "s"), "{key}", key, "{keys}", e.ArgList(), "{List}", upper(e.ArgList()), "{KEYS}", keys,
		"{LIST}", snake(upper(e.ArgList())), "{class}", class, "{one}", strings.TrimSuffix(lower(name), "s"),
		"{several}", several, "{bit}", flag, "{mask}", mask, "{cast}", cast, "{lists}", withoutVerb(said)+".", "{doc}", said+". Reads `"+e.Manifest()+"`.",
	)
}

// texts has one for each form.
type texts [keyedList + 1]string

// of returns for each column of tables the text of its form.
func (l *sdk) of(t texts, tables []abi.TableID) string {
	var b strings.Builder
	for _, e := range columnsOf(tables...) {
		b.WriteString(l.values(&e, -1).Replace(t[formOf(&e)]))
	}
	return b.String()
}

// readers returns the readers of a table's columns.
func (l *sdk) readers(table abi.TableID) string {
	var b strings.Builder
	for _, e := range columnsOf(table) {
		form := formOf(&e)
		for bit := range max(len(e.Bits), 1) {
			if form != flag {
				bit = -1
			}
			v := l.values(&e, bit)
			b.WriteString(l.comment(v.Replace("{Name}"), v.Replace("{doc}")) + v.Replace(l.reader[form]))
		}
		if form == list && e.Type == abi.TypePair {
			byKey := "is the value of any label key, found among all labels; " + l.absent + " if there is none. Reads `" + e.Manifest() + "`."
			b.WriteString(l.comment("LabelByKey", byKey) + l.values(&e, -1).Replace(l.byKey))
		}
	}
	return b.String()
}

// doc says what a reader of a column, or of a bit of one, returns.
func doc(e *fields.Entry, bit int, absent string) string {
	text := cmp.Or(e.Doc, "is "+e.Meaning)
	if bit >= 0 {
		text = e.Bits[bit].Doc
	}
	return strings.ReplaceAll(text, "{Absent}", absent)
}

// withoutVerb makes a sentence of what follows a name.
func withoutVerb(doc string) string {
	doc = strings.TrimPrefix(strings.TrimPrefix(doc, "is "), "are ")
	if word, _, _ := strings.Cut(doc, " "); strings.ContainsAny(word, ".`{") {
		return doc // a name of the API
	}
	return upper(doc)
}

// pascal is the name of a column's id in the SDKs.
func pascal(e *fields.Entry) string { return cmp.Or(e.SDK, upper(e.Name)) }

func upper(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// lower is camelCase of PascalCase; a name of capitals alone is in lower case.
func lower(s string) string {
	if s == strings.ToUpper(s) {
		return strings.ToLower(s)
	}
	return strings.ToLower(s[:1]) + s[1:]
}
