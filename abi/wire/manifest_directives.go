package wire

import (
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/fieldpath"
)

// Empty reports whether there are no directives.
func (d *ManifestDirectives) Empty() bool {
	return len(d.Annotations) == 0 && len(d.Labels) == 0 && !d.Nominate && !d.Bind && !d.Waiting && !d.Activate &&
		len(d.Objects) == 0
}

// Allows reports whether a directive is declared or granted; key is the key of annotate and
// label.
func (d *ManifestDirectives) Allows(kind abi.DirectiveKind, key string) bool {
	switch kind {
	case abi.Annotate:
		return hasPrefix(key, d.Annotations)
	case abi.Label:
		return hasPrefix(key, d.Labels)
	case abi.Nominate:
		return d.Nominate
	case abi.BindPod:
		return d.Bind
	case abi.Allow, abi.Reject:
		return d.Waiting
	case abi.Activate:
		return d.Activate
	}
	return false
}

func hasPrefix(key string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// Missing returns the directives in d that a grant does not cover; a prefix covers longer ones.
func (d *ManifestDirectives) Missing(grant *ManifestDirectives) ManifestDirectives {
	return ManifestDirectives{
		Annotations: uncovered(d.Annotations, grant.Annotations),
		Labels:      uncovered(d.Labels, grant.Labels),
		Nominate:    d.Nominate && !grant.Nominate,
		Bind:        d.Bind && !grant.Bind,
		Waiting:     d.Waiting && !grant.Waiting,
		Activate:    d.Activate && !grant.Activate,
		Objects: slices.DeleteFunc(slices.Clone(d.Objects), func(resource string) bool {
			return slices.Contains(grant.Objects, resource)
		}),
	}
}

func uncovered(prefixes, by []string) []string {
	var out []string
	for _, prefix := range prefixes {
		if !hasPrefix(prefix, by) {
			out = append(out, prefix)
		}
	}
	return out
}

// JSON returns the directives as compact JSON.
func (d *ManifestDirectives) JSON() string {
	w := &manifestWriter{out: []byte{'{'}}
	w.directives(d)
	return string(append(w.out, '}'))
}

// Validate checks the form of prefixes (ABI-9.11). path begins the paths in errors.
//
// # Errors
//
// The first 32 mistakes, joined, and how many more there are. Each is a *ManifestError.
func (d *ManifestDirectives) Validate(path string) error {
	var errs manifestErrors
	manifestValidator{&errs}.directives(path, d)
	return errs.err()
}

func (v manifestValidator) directives(path string, d *ManifestDirectives) {
	const rule = "ABI-9.11"
	for i, resource := range d.Objects {
		if _, err := fieldpath.ParseResource(resource + "/v1"); err != nil || strings.Contains(resource, "/") {
			v.add(index(path+".objects", i), quoted(resource)+" is not a resource whose objects may be read",
				"write plural.group, such as noderesourcetopologies.topology.node.k8s.io", "ABI-9.16")
		}
	}
	lists := []readList{{"annotations", &d.Annotations}, {"labels", &d.Labels}}
	for _, l := range lists {
		at := path + "." + l.name
		v.form(at, *l.value, rule, isKeyPrefix, "write the beginning of keys with their domain, such as example.com/ or example.com/gpu-")
		for i, prefix := range *l.value {
			if domain, _, _ := strings.Cut(prefix, "/"); reserved(domain) {
				v.add(index(at, i), quoted(prefix)+" is reserved for Kubernetes", "use a domain of your own", rule)
			}
		}
	}
}

// isKeyPrefix reports whether s is a domain, a slash and the beginning of a name.
func isKeyPrefix(s string) bool {
	domain, name, has := strings.Cut(s, "/")
	if !has || !isSubdomain(domain) || len(name) > 63 {
		return false
	}
	return name == "" || bounded(name+"x", "-_.", true)
}

func reserved(domain string) bool {
	for _, own := range []string{"kubernetes.io", "k8s.io"} {
		if domain == own || strings.HasSuffix(domain, "."+own) {
			return true
		}
	}
	return false
}

// IsAnnotationKey reports whether s is a valid key of an annotation or a label.
func IsAnnotationKey(s string) bool { return isQualified(s) }

// IsLabelValue reports whether s is a valid label value.
func IsLabelValue(s string) bool {
	return s == "" || len(s) <= 63 && bounded(s, "-_.", true)
}
