package wire

import (
	"strconv"

	"github.com/berth-scheduler/berth/abi"
)

// DecodeManifest reads a manifest from JSON. It refuses unknown fields, duplicates and values
// of the wrong type (ABI-9.1). Validate checks the values.
//
// # Errors
//
// The first 32 mistakes, joined, and how many more there are. Each is a *ManifestError. A syntax error is the only one, and so is
// an ABI that this host does not have: the rest of such a manifest may be of that ABI.
func DecodeManifest(data []byte) (*Manifest, error) {
	var errs manifestErrors
	if len(data) > abi.MaxManifestSize {
		errs.add("", strconv.Itoa(len(data))+" bytes, at most "+strconv.Itoa(abi.MaxManifestSize)+" are allowed", "", "ABI-10")
		return nil, errs.err()
	}
	root := readJSON(data, maxJSONDepth, &errs)
	if root == nil {
		return nil, errs.err()
	}
	d := manifestDecoder{&errs}
	if err := CheckABI(root.textOf("abi")); err != nil {
		return nil, err
	}
	m := &Manifest{}
	d.manifest(root, m)
	if err := errs.err(); err != nil {
		return nil, err
	}
	return m, nil
}

type manifestDecoder struct{ *manifestErrors }

// field is a field of an object and how its value is stored.
type field struct {
	name  string
	store func(n *jsonNode, path string)
}

// object stores the fields of an object and refuses unknown fields.
func (d manifestDecoder) object(n *jsonNode, path string, fields []field) {
	if !d.is(n, jsonObject, path) {
		return
	}
	for i, name := range n.names {
		known := make([]string, 0, len(fields))
		found := false
		for _, f := range fields {
			known = append(known, f.name)
			if f.name == name {
				found = true
				f.store(n.items[i], join(path, name))
			}
		}
		if !found {
			fix := "this object has no fields"
			if len(known) > 0 {
				fix = d.suggest(name, known)
			}
			d.add(join(path, name), "unknown field", fix, "ABI-9.1")
		}
	}
}

func (d manifestDecoder) is(n *jsonNode, want jsonKind, path string) bool {
	if n.kind == want {
		return true
	}
	kinds := [...]string{
		jsonNull: "null", jsonBool: "true or false", jsonNumber: "a number", jsonString: "a string",
		jsonArray: "a list", jsonObject: "an object",
	}
	d.add(path, "expected "+kinds[want]+", found "+kinds[n.kind], "", "ABI-9.1")
	return false
}

func (d manifestDecoder) text(into *string) func(*jsonNode, string) {
	return func(n *jsonNode, path string) {
		if d.is(n, jsonString, path) {
			*into = n.text
		}
	}
}

func (d manifestDecoder) list(into *[]string) func(*jsonNode, string) {
	return func(n *jsonNode, path string) {
		if !d.is(n, jsonArray, path) {
			return
		}
		for i, item := range n.items {
			if d.is(item, jsonString, index(path, i)) {
				*into = append(*into, item.text)
			}
		}
	}
}

func (d manifestDecoder) manifest(n *jsonNode, m *Manifest) {
	var schema string // for editors
	d.object(n, "", []field{
		{"$schema", d.text(&schema)},
		{"name", d.text(&m.Name)},
		{"version", d.text(&m.Version)},
		{"publisher", d.text(&m.Publisher)},
		{"license", d.text(&m.License)},
		{"description", d.text(&m.Description)},
		{"abi", d.text(&m.ABI)},
		{"points", d.points(&m.Points)},
		{"reads", d.reads(&m.Reads)},
		{"objects", d.objects(&m.Reads.Objects)},
		{"host", d.list(&m.Host)},
		{"events", d.events(&m.Events)},
		{"enforces", d.list(&m.Enforces)},
		{"publishes", d.list(&m.Publishes)},
		{"cycleLocal", d.list(&m.CycleLocal)},
		{"directives", d.directives(&m.Directives)},
		{"config", func(n *jsonNode, path string) {
			if d.is(n, jsonObject, path) {
				m.Config = appendJSON(nil, n)
			}
		}},
	})
}

func (d manifestDecoder) points(into *ManifestPoints) func(*jsonNode, string) {
	return func(n *jsonNode, path string) {
		var fields []field
		for _, p := range into.all() {
			fields = append(fields, field{p.name, func(n *jsonNode, path string) {
				point := &ManifestPoint{}
				var known []field
				if p.point == abi.Filter || p.point == abi.Score {
					known = append(known, field{"scope", d.text(&point.Scope)})
				}
				if p.point == abi.Score {
					known = append(known, field{"normalize", d.text(&point.Normalize)})
				}
				d.object(n, path, known)
				*p.value = point
			}})
		}
		d.object(n, path, fields)
	}
}

func (d manifestDecoder) reads(into *ManifestReads) func(*jsonNode, string) {
	return func(n *jsonNode, path string) {
		var fields []field
		for _, l := range into.lists() {
			store := d.list(l.value)
			if brings(l.name) {
				store = d.names(into, l)
			}
			fields = append(fields, field{l.name, store})
		}
		d.object(n, path, fields)
	}
}

// names reads a list of names that may end with where the configuration has more (ABI-9.15).
func (d manifestDecoder) names(into *ManifestReads, l readList) func(*jsonNode, string) {
	return func(n *jsonNode, path string) {
		if !d.is(n, jsonArray, path) {
			return
		}
		for i, item := range n.items {
			at := index(path, i)
			if item.kind == jsonObject {
				pointer := ""
				d.object(item, at, []field{{fromConfig, d.text(&pointer)}})
				if into.FromConfig == nil {
					into.FromConfig = map[string][]string{}
				}
				into.FromConfig[l.name] = append(into.FromConfig[l.name], pointer)
				continue
			}
			if d.is(item, jsonString, at) {
				*l.value = append(*l.value, item.text)
				if len(into.FromConfig[l.name]) > 0 {
					d.add(at, quoted(item.text)+" follows "+fromConfig+", whose names come last", "move it before", "ABI-9.15")
				}
			}
		}
	}
}

func (d manifestDecoder) flag(into *bool) func(*jsonNode, string) {
	return func(n *jsonNode, path string) {
		if d.is(n, jsonBool, path) {
			*into = n.text == "true"
		}
	}
}

func (d manifestDecoder) directives(into *ManifestDirectives) func(*jsonNode, string) {
	return func(n *jsonNode, path string) {
		d.object(n, path, []field{
			{"annotations", d.list(&into.Annotations)}, {"labels", d.list(&into.Labels)},
			{"nominate", d.flag(&into.Nominate)}, {"bind", d.flag(&into.Bind)},
			{"waiting", d.flag(&into.Waiting)}, {"activate", d.flag(&into.Activate)},
		})
	}
}

func (d manifestDecoder) objects(into *[]ManifestObject) func(*jsonNode, string) {
	return func(n *jsonNode, path string) {
		if !d.is(n, jsonArray, path) {
			return
		}
		for i, item := range n.items {
			var o ManifestObject
			d.object(item, index(path, i), []field{
				{"name", d.text(&o.Name)}, {"resource", d.text(&o.Resource)}, {"join", d.text(&o.Join)}, {"field", d.text(&o.Field)},
				{"required", d.flag(&o.Required)},
			})
			*into = append(*into, o)
		}
	}
}

func (d manifestDecoder) events(into *[]ManifestEvent) func(*jsonNode, string) {
	return func(n *jsonNode, path string) {
		if !d.is(n, jsonArray, path) {
			return
		}
		for i, item := range n.items {
			var e ManifestEvent
			d.object(item, index(path, i), []field{{"resource", d.text(&e.Resource)}, {"actions", d.list(&e.Actions)}})
			*into = append(*into, e)
		}
	}
}
