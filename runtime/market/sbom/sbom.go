// Package sbom writes bills of materials: what a plugin or a program was built from, as
// CycloneDX 1.6 in JSON (https://cyclonedx.org/docs/1.6/json). The same parts always give the
// same bytes: there is neither a time nor a serial number in them.
package sbom

import (
	"bytes"
	"cmp"
	"net/url"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// Text describes a whole with its parts, which it sorts.
func Text(whole *cdx.Component, parts []cdx.Component) ([]byte, error) {
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: whole}
	if len(parts) > 0 {
		sorted := slices.SortedFunc(slices.Values(parts), func(a, b cdx.Component) int {
			return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Version, b.Version), strings.Compare(a.PackageURL, b.PackageURL))
		})
		bom.Components = &sorted
	}
	var out bytes.Buffer
	err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false).EncodeVersion(bom, cdx.SpecVersion1_6)
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
