// Package sbom writes bills of materials: what a plugin or a program was built from, as
// CycloneDX 1.6 in JSON (https://cyclonedx.org/docs/1.6/json). The same parts always give the
// same bytes: there is neither a time nor a serial number in them.
package sbom

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// Component is a part, or the whole that is described.
type Component struct {
	// Type is application or library.
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	// Scope is excluded for what is needed for tests only; empty for anything else.
	Scope    string    `json:"scope,omitempty"`
	Hashes   []Hash    `json:"hashes,omitempty"`
	Licenses []License `json:"licenses,omitempty"`
	// PURL is the package URL (https://github.com/package-url/purl-spec); empty for what is in
	// no registry.
	PURL string `json:"purl,omitempty"`
}

// Hash is a digest in hexadecimal. Algorithm is SHA-256, SHA-384 or SHA-512.
type Hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

// License is a licence by the name that its author gave.
type License struct {
	License struct {
		Name string `json:"name"`
	} `json:"license"`
}

// Text describes a whole with its parts, which it sorts.
func Text(whole Component, parts []Component) ([]byte, error) {
	document := struct {
		Schema   string `json:"$schema"`
		Format   string `json:"bomFormat"`
		Spec     string `json:"specVersion"`
		Version  int    `json:"version"`
		Metadata struct {
			Component Component `json:"component"`
		} `json:"metadata"`
		Components []Component `json:"components,omitempty"`
	}{Schema: "http://cyclonedx.org/schema/bom-1.6.schema.json", Format: "CycloneDX", Spec: "1.6", Version: 1}
	document.Metadata.Component = whole
	document.Components = slices.SortedFunc(slices.Values(parts), func(a, b Component) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Version, b.Version), strings.Compare(a.PURL, b.PURL))
	})
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(document)
	return out.Bytes(), err
}

// purl returns a package URL. The name may have slashes, which stay.
func purl(kind, name, version string) string {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = url.QueryEscape(parts[i]) // it escapes @ and +, as package URLs need
	}
	out := "pkg:" + kind + "/" + strings.Join(parts, "/")
	if version != "" {
		out += "@" + url.QueryEscape(version)
	}
	return out
}
