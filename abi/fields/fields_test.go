package fields_test

import (
	"slices"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/fields"
)

// TestTable: ids are unique and have room for arenas, names are unique in their lists, and each entry says what its readers need.
func TestTable(t *testing.T) {
	var lists []string
	for _, l := range fields.Lists() {
		lists = append(lists, l.Name)
	}
	ids, names, last := map[abi.ColumnID]bool{}, map[string]abi.ColumnID{}, fields.Entry{}
	for _, e := range fields.All() {
		wrong := func(format string) { t.Errorf("%s (%d): "+format, e.Go, e.ID) }
		if ids[e.ID] || e.ID == 0 || e.ID >= abi.ArenaOf {
			wrong("the id is taken, or not from 1 to 255")
		}
		if e.Table == last.Table && e.ID < last.ID {
			wrong("the entries of a table are in the order of ids")
		}
		ids[e.ID], last = true, e
		if e.Meaning == "" || e.Since > abi.Minor || (e.Go == "") != e.Reserved {
			wrong("it needs a meaning, a name in Go unless it is reserved, and a minor version that this host has")
		}
		if e.Native || e.Reserved {
			if e.List != "" || e.Name != "" {
				wrong("no manifest can name it")
			}
			continue
		}
		if e.ElementSize() == 0 || (e.Elements == "") != (e.Size == 0) || e.Elements != "" && e.Type != 0 {
			wrong("it needs either a type, or a description and a size of its elements")
		}
		if e.Table == abi.TableStrings { // which no list declares
			continue
		}
		if !slices.Contains(lists, e.List) || e.ArgList() != "" && !slices.Contains(lists, e.ArgList()) || e.Source == 0 {
			wrong("it needs a list of reads and a source")
		}
		if (e.Table == abi.TableNodes || e.Table == abi.TablePods) != (e.Source&(1<<fields.NumRowSources-1) != 0) {
			wrong("columns of nodes and pods come from sources of rows, and nothing else does")
		}
		if other, taken := names[e.Manifest()]; taken && e.Name != "affinity" && !e.Refers && e.List != "feeds" && e.List != "objectColumns" { // which are several
			t.Errorf("%s is declared as %s, as %d is", e.Go, e.Manifest(), other)
		}
		names[e.Manifest()] = e.ID
		if found := fields.Of(e.ID + abi.ArenaOf); found == nil || found.ID != e.ID {
			wrong("the id of its arena is not found")
		}
	}
	if fields.Of(abi.ArenaOf-1) != nil {
		t.Error("there is an entry that no version has")
	}
}

// TestEventsAndFunctions: numbers are without gaps, and names unique.
func TestEventsAndFunctions(t *testing.T) {
	next := abi.EventKind(0)
	for _, e := range fields.Events() {
		if e.Go == "" {
			if fields.EventKind(e.Resource) != abi.EventOther {
				t.Errorf("%s has a number and no name", e.Resource)
			}
			continue
		}
		if e.Kind != next || e.Resource == "" && e.Meaning == "" {
			t.Errorf("%s has the number %d after %d, or no meaning", e.Go, e.Kind, next)
		}
		next++
	}
	if fields.EventKind("Pod") != abi.EventUnplacedPod || fields.EventKind("storage.k8s.io/CSINode") != abi.EventCSINode || fields.EventKind("Moon") != abi.EventOther {
		t.Error("resources have other numbers than in package abi")
	}
	actions := fields.Actions()
	if last := actions[len(actions)-1]; last.Bit != abi.ActionUpdateNamespaceLabel || actions[0].Bit != abi.ActionAdd {
		t.Errorf("actions end with %v", last)
	}
	seen := map[string]bool{}
	for _, f := range fields.Functions() {
		if seen[f.Name] || f.Reads != 0 && fields.Of(f.Reads) == nil {
			t.Errorf("%s is there twice, or reads what has no entry", f.Name)
		}
		seen[f.Name] = true
	}
}
