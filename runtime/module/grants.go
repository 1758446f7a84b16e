package module

import (
	"errors"
	"strings"

	"github.com/berth-scheduler/berth/abi/wire"
)

// grants reads the grants of args.
func (d *argsDecoder) grants(into *wire.ManifestDirectives) func(any, string) {
	list := func(into *[]string) func(any, string) {
		return func(value any, path string) {
			items, ok := value.([]any)
			if !ok {
				d.add(path, "expected a list, found "+show(value), "")
				return
			}
			for i, item := range items {
				if s, ok := d.text(item, index(path, i)); ok {
					*into = append(*into, s)
				}
			}
		}
	}
	flag := func(into *bool) func(any, string) {
		return func(value any, path string) {
			b, ok := value.(bool)
			if !ok {
				d.add(path, "expected true or false, found "+show(value), "")
			}
			*into = b
		}
	}
	return func(value any, path string) {
		d.object(value, path, map[string]func(any, string){
			"annotations": list(&into.Annotations), "labels": list(&into.Labels),
			"nominate": flag(&into.Nominate), "bind": flag(&into.Bind),
			"waiting": flag(&into.Waiting), "activate": flag(&into.Activate),
		})
		for _, err := range flatten(into.Validate(path)) {
			var e *wire.ManifestError
			if errors.As(err, &e) {
				d.add(e.Path, e.Detail, e.Fix)
			}
		}
	}
}

// flatten returns the errors that were joined.
func flatten(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// granted returns the grants of a reference, or an error when the module needs
// more.
func (l *Loaded) granted(ref Reference) (wire.ManifestDirectives, error) {
	needs := &l.Manifest.Directives
	if ref.GrantAll {
		return *needs, nil
	}
	missing := needs.Missing(&ref.Grants)
	if missing.Empty() {
		return ref.Grants, nil
	}
	return ref.Grants, &Error{
		File: l.Path, Path: "grants", Detail: "the module uses directives that it is not granted: " + missing.JSON(),
		Fix: "add them to grants in the plugin's args if it is trusted with " + inWords(&missing) + ", or use another module",
	}
}

// inWords says what directives do.
func inWords(d *wire.ManifestDirectives) string {
	var out []string
	if len(d.Annotations) > 0 {
		out = append(out, "writing annotations of pods")
	}
	if len(d.Labels) > 0 {
		out = append(out, "writing labels of pods")
	}
	if d.Nominate {
		out = append(out, "nominating nodes")
	}
	if d.Bind {
		out = append(out, "binding pods")
	}
	if d.Waiting {
		out = append(out, "allowing and rejecting waiting pods")
	}
	if d.Activate {
		out = append(out, "activating pods")
	}
	return strings.Join(out, ", ")
}
