package wire

import "strings"

// appendJSON appends the compact form of a value; fields keep their order.
func appendJSON(out []byte, n *jsonNode) []byte {
	switch n.kind {
	case jsonString:
		return appendJSONString(out, n.text)
	case jsonArray:
		out = append(out, '[')
		for i, item := range n.items {
			if i > 0 {
				out = append(out, ',')
			}
			out = appendJSON(out, item)
		}
		return append(out, ']')
	case jsonObject:
		out = append(out, '{')
		for i, name := range n.names {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(appendJSONString(out, name), ':')
			out = appendJSON(out, n.items[i])
		}
		return append(out, '}')
	}
	return append(out, n.text...)
}

func appendJSONString(out []byte, s string) []byte {
	const hex = "0123456789abcdef"
	out = append(out, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			out = append(out, '\\', byte(r))
		case r == '\n':
			out = append(out, `\n`...)
		case r < 0x20 || r == 0x7f:
			out = append(out, `\u00`...)
			out = append(out, hex[r>>4], hex[r&15])
		default:
			out = append(out, string(r)...)
		}
	}
	return append(out, '"')
}

// manifestWriter writes the fields of an object and omits empty ones.
type manifestWriter struct{ out []byte }

func (w *manifestWriter) key(name string) {
	if last := w.out[len(w.out)-1]; last != '{' {
		w.out = append(w.out, ',')
	}
	w.out = append(appendJSONString(w.out, name), ':')
}

func (w *manifestWriter) text(name, value string) {
	if value != "" {
		w.key(name)
		w.out = appendJSONString(w.out, value)
	}
}

func (w *manifestWriter) list(name string, values []string) { w.reads(name, values, nil) }

// reads writes a list of names, followed by where the configuration has more.
func (w *manifestWriter) reads(name string, values, pointers []string) {
	if len(values)+len(pointers) == 0 {
		return
	}
	w.key(name)
	w.out = append(w.out, '[')
	for i, v := range values {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.out = appendJSONString(w.out, v)
	}
	for i, pointer := range pointers {
		if len(values)+i > 0 {
			w.out = append(w.out, ',')
		}
		w.out = append(w.out, '{')
		w.text(fromConfig, pointer)
		w.out = append(w.out, '}')
	}
	w.out = append(w.out, ']')
}

func (w *manifestWriter) object(name string, fields func()) {
	w.key(name)
	w.out = append(w.out, '{')
	fields()
	w.out = append(w.out, '}')
}

func (w *manifestWriter) flag(name string, value bool) {
	if value {
		w.key(name)
		w.out = append(w.out, "true"...)
	}
}

func (w *manifestWriter) directives(d *ManifestDirectives) {
	w.list("annotations", d.Annotations)
	w.list("labels", d.Labels)
	w.flag("nominate", d.Nominate)
	w.flag("bind", d.Bind)
	w.flag("waiting", d.Waiting)
	w.flag("activate", d.Activate)
	w.list("objects", d.Objects)
}

// EncodeManifest writes the manifest as compact JSON, always the same for equal manifests:
// fields in the order of SPEC.md, section 9, without empty ones.
func EncodeManifest(m *Manifest) []byte {
	w := &manifestWriter{out: []byte{'{'}}
	w.text("name", m.Name)
	w.text("version", m.Version)
	w.text("publisher", m.Publisher)
	w.text("license", m.License)
	w.text("description", m.Description)
	w.text("abi", m.ABI)
	w.object("points", func() {
		for _, p := range m.Points.all() {
			if *p.value == nil {
				continue
			}
			w.object(p.name, func() {
				w.text("scope", (*p.value).Scope)
				w.text("normalize", (*p.value).Normalize)
			})
		}
	})
	if len(m.Readings()) > 0 {
		w.object("reads", func() {
			for _, l := range m.Reads.lists() {
				w.reads(l.name, *l.value, m.Reads.FromConfig[l.name])
			}
		})
	}
	if len(m.Reads.Objects) > 0 {
		w.key("objects")
		for i, o := range m.Reads.Objects {
			w.out = append(w.out, "[,"[min(i, 1)], '{')
			w.text("name", o.Name)
			w.text("resource", o.Resource)
			w.text("join", o.Join)
			w.text("field", o.Field)
			w.flag("required", o.Required)
			w.out = append(w.out, '}')
		}
		w.out = append(w.out, ']')
	}
	w.list("host", m.Host)
	if len(m.Events) > 0 {
		w.key("events")
		for i, e := range m.Events {
			w.out = append(w.out, "[,"[min(i, 1)], '{')
			w.text("resource", e.Resource)
			w.list("actions", e.Actions)
			w.out = append(w.out, '}')
		}
		w.out = append(w.out, ']')
	}
	w.list("enforces", m.Enforces)
	w.list("publishes", m.Publishes)
	w.list("cycleLocal", m.CycleLocal)
	if !m.Directives.Empty() {
		w.object("directives", func() { w.directives(&m.Directives) })
	}
	if len(m.Config) > 0 {
		w.key("config")
		w.out = append(w.out, strings.TrimSpace(string(m.Config))...)
	}
	return append(w.out, '}')
}

// MarshalJSON writes what EncodeManifest writes.
func (m *Manifest) MarshalJSON() ([]byte, error) { return EncodeManifest(m), nil }
