// Package crds has the CustomResourceDefinitions of the kinds of berth.dev, which are generated from package v1alpha1, for what reads
// objects that no API server has checked.
package crds

import (
	"embed"
	"io/fs"
)

//go:embed *.yaml
var files embed.FS

// Files returns the manifests, one for each kind.
func Files() fs.FS { return files }
