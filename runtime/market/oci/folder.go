package oci

import (
	"errors"
	"io/fs"
	"strings"
)

// folder is an OCI layout folder from a stranger. Manifests in it are read whole, and a file with
// holes can have any size, so it refuses files that are larger than those of a plugin, and pipes.
type folder struct{ fs.FS }

// Open implements fs.FS.
func (f folder) Open(name string) (fs.File, error) {
	info, err := fs.Stat(f.FS, name)
	if err != nil {
		return nil, err
	}
	limit := int64(maxIndex)
	if strings.HasPrefix(name, "blobs/") {
		limit = maxAllLayers
	}
	switch {
	case info.IsDir():
	case !info.Mode().IsRegular():
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("it is not a regular file")}
	case info.Size() > limit:
		return nil, &fs.PathError{Op: "open", Path: name, Err: tooLarge(info.Size(), limit)}
	}
	return f.FS.Open(name)
}
