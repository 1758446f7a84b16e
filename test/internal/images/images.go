// Package images serves modules as images, from a registry in the process.
package images

import (
	"context"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/berth-scheduler/berth/runtime/market/oci"
	"github.com/berth-scheduler/berth/runtime/market/registry"
	"github.com/berth-scheduler/berth/runtime/module"
)

// Publish stores a module in a registry, which keeps its files in dir, and returns its image.
func Publish(ctx context.Context, file, dir string) (image string, stop func(), err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", nil, err
	}
	loaded, err := module.Parse(file, data)
	if err != nil {
		return "", nil, err
	}
	handler, err := registry.New(registry.Config{Dir: dir})
	if err != nil {
		return "", nil, err
	}
	server := httptest.NewServer(handler)
	image = strings.TrimPrefix(server.URL, "http://") + "/guest:1"
	at, err := oci.ParseReference(image)
	if err == nil {
		var store *oci.Store
		if store, err = oci.New(oci.Config{}).Create(ctx, at); err == nil {
			_, err = store.Push(ctx, data, loaded.Manifest)
		}
	}
	if err != nil {
		server.Close()
	}
	return image, server.Close, err
}
