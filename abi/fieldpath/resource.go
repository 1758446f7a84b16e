package fieldpath

import (
	"errors"
	"fmt"
	"strings"
)

// Resource names a resource of the API, in one version.
type Resource struct {
	// Plural is the resource as URLs have it; Group is empty for core resources.
	Plural, Group, Version string
}

// ParseResource reads a resource as plural.group/version, such as nodemetrics.slo.koordinator.sh/v1alpha1, or configmaps/v1.
//
// # Errors
//
// The form is another one, or it is a resource that nothing outside Berth may read: secrets, subresources, and the groups for
// authentication and authorization, whose objects are tokens and rights.
func ParseResource(text string) (Resource, error) {
	name, version, has := strings.Cut(text, "/")
	plural, group, _ := strings.Cut(name, ".")
	r := Resource{Plural: plural, Group: group, Version: version}
	switch {
	case has && strings.Contains(version, "/"):
		return Resource{}, fmt.Errorf("%.128q names a subresource, which cannot be watched: write plural.group/version", text)
	case !has || len(text) > 253 || !label(plural) || !label(version) || strings.HasSuffix(name, "."):
		return Resource{}, fmt.Errorf("%.128q is no resource: write plural.group/version, such as nodemetrics.slo.koordinator.sh/v1alpha1, or "+
			"configmaps/v1", text)
	}
	for part := range strings.SplitSeq(group, ".") {
		if group != "" && !label(part) {
			return Resource{}, fmt.Errorf("%.128q: %.64q is no API group", text, group)
		}
	}
	if group == "" && plural == "secrets" {
		return Resource{}, errors.New("secrets are never read: put what is not secret into a ConfigMap")
	}
	switch group {
	case "authentication.k8s.io", "authorization.k8s.io", "rbac.authorization.k8s.io", "certificates.k8s.io":
		return Resource{}, fmt.Errorf("resources of %s are never read", group)
	}
	return r, nil
}

// String returns the resource as ParseResource reads it.
func (r Resource) String() string {
	if r.Group == "" {
		return r.Plural + "/" + r.Version
	}
	return r.Plural + "." + r.Group + "/" + r.Version
}

// label reports whether a text is of small letters, digits and dashes, with a letter or digit at both ends.
func label(text string) bool {
	const alphanumeric = "abcdefghijklmnopqrstuvwxyz0123456789"
	return text != "" && len(text) <= 63 && strings.Trim(text, alphanumeric+"-") == "" &&
		strings.Contains(alphanumeric, text[:1]) && strings.Contains(alphanumeric, text[len(text)-1:])
}
