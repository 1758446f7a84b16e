package module

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-scheduler/berth/abi/wire"
)

// flatten returns the errors that err joins.
func flatten(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// granted returns the grants of a reference, or an error if the module needs more.
func (l *Loaded) granted(ref Reference) (wire.ManifestDirectives, error) {
	needs := l.Manifest.Rights()
	if ref.GrantAll {
		return needs, nil
	}
	missing := needs.Missing(&ref.Grants)
	if missing.Empty() {
		return ref.Grants, nil
	}
	return ref.Grants, &Error{
		File: l.Path, Path: "grants", Detail: "the module declares what it is not granted: " + missing.JSON(),
		Fix: "if you trust it with " + inWords(&missing) + ", add them to the plugin's grants in its file, or grant=" + onFlag(&missing) +
			" after --plugin; otherwise use another module",
	}
}

// grantNames returns the grants without a prefix, by name.
func grantNames(d *wire.ManifestDirectives) map[string]*bool {
	return map[string]*bool{"nominate": &d.Nominate, "bind": &d.Bind, "waiting": &d.Waiting, "activate": &d.Activate}
}

// prefixGrants returns the grants with prefixes, by name.
func prefixGrants(d *wire.ManifestDirectives) map[string]*[]string {
	return map[string]*[]string{"annotations": &d.Annotations, "labels": &d.Labels, "objects": &d.Objects}
}

// grant reads the grants on a command line.
func (p *referenceParser) grant(value string) {
	grants := &p.ref.Grants
	names, prefixes := grantNames(grants), prefixGrants(grants)
	for item := range strings.SplitSeq(value, ",") {
		name, prefix, has := strings.Cut(item, ":")
		switch {
		case !has && names[name] != nil:
			*names[name] = true
		case has && prefixes[name] != nil:
			*prefixes[name] = append(*prefixes[name], prefix)
		default:
			p.add("grant", strconv.Quote(item)+" is not a grant", "write nominate, bind, waiting, activate, annotations:PREFIX, labels:PREFIX or objects:RESOURCE, separated by commas")
		}
	}
	for _, err := range flatten(grants.Validate("")) {
		var e *wire.ManifestError
		if errors.As(err, &e) {
			p.add("grant", e.Detail, e.Fix)
		}
	}
}

// onFlag writes directives in the form of the key grant of a command line.
func onFlag(d *wire.ManifestDirectives) string {
	var out []string
	for name, granted := range grantNames(d) {
		if *granted {
			out = append(out, name)
		}
	}
	for name, prefixes := range prefixGrants(d) {
		for _, prefix := range *prefixes {
			out = append(out, name+":"+prefix)
		}
	}
	slices.Sort(out)
	return strings.Join(out, ",")
}

// inWords describes directives.
func inWords(d *wire.ManifestDirectives) string {
	var out []string
	if len(d.Annotations) > 0 {
		out = append(out, "writing annotations of pods")
	}
	if len(d.Labels) > 0 {
		out = append(out, "writing labels of pods")
	}
	if len(d.Objects) > 0 {
		out = append(out, "reading fields of objects")
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
