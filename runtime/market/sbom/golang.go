package sbom

import (
	"runtime/debug"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// Go lists the modules of a build, and the standard library of a version such as go1.26.0.
// A module that a folder replaces is in no registry.
func Go(version string, modules []*debug.Module) []cdx.Component {
	version, _, _ = strings.Cut(strings.TrimPrefix(version, "go"), " ")
	out := []cdx.Component{{Type: cdx.ComponentTypeLibrary, Name: "std", Version: version, PackageURL: purl("golang", "std", version)}}
	for _, m := range modules {
		c := cdx.Component{Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version}
		if m.Replace != nil {
			c.Version = m.Replace.Version
			if c.Version != "" {
				c.Name = m.Replace.Path
			}
		}
		if c.Version != "" && c.Version != "(devel)" {
			c.PackageURL = purl("golang", c.Name, c.Version)
		}
		out = append(out, c)
	}
	return out
}
