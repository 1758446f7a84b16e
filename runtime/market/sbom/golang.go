package sbom

import (
	"runtime/debug"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// Go lists the modules of a build, and the standard library of a version such as go1.26.0.
// A module that a folder replaces, such as the SDK in a plugin's project, is in no registry. It has the version that go.mod requires,
// unless that is v0.0.0, which stands for none.
func Go(version string, modules []*debug.Module) []cdx.Component {
	version, _, _ = strings.Cut(strings.TrimPrefix(version, "go"), " ")
	out := []cdx.Component{{Type: cdx.ComponentTypeLibrary, Name: "std", Version: version, PackageURL: purl("golang", "std", version)}}
	for _, m := range modules {
		c := cdx.Component{Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version}
		folder := m.Replace != nil && m.Replace.Version == ""
		switch {
		case folder && m.Version == "v0.0.0":
			c.Version = ""
		case m.Replace != nil && !folder:
			c.Name, c.Version = m.Replace.Path, m.Replace.Version
		}
		if !folder && c.Version != "" && c.Version != "(devel)" {
			c.PackageURL = purl("golang", c.Name, c.Version)
		}
		out = append(out, c)
	}
	return out
}
