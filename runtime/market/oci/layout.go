package oci

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/plain"
)

// The media types of the CNCF's layout for WebAssembly modules in registries
// (https://tag-runtime.cncf.io/wgs/wasm/deliverables/wasm-oci-artifact).
const (
	ConfigMediaType = "application/vnd.wasm.config.v0+json"
	LayerMediaType  = "application/wasm"
)

// maxManifest is the maximum size of an image's manifest, in bytes. A module's manifest only
// names a config and a layer.
const maxManifest = 64 << 10

// Limits of the layers of an image, one of which is the module: their number, and their bytes
// together.
const (
	maxLayers    = 16
	maxAllLayers = 2 * wire.MaxModuleSize
)

// Image is the manifest of a plugin's image, checked against its digest.
type Image struct {
	// Ref is where the image is.
	Ref Reference
	// Descriptor has the digest and size of the manifest.
	Descriptor  ocispec.Descriptor
	Annotations map[string]string
	// Module describes the module's layer.
	Module ocispec.Descriptor
	// Text is the manifest as fetched.
	Text   []byte
	config ocispec.Descriptor
	layers int64 // bytes of all layers together, as announced
}

// ParseImage reads the manifest of an image at a reference.
func ParseImage(ctx context.Context, ref Reference, text []byte) (*Image, error) {
	return readImage(ctx, ref, content.NewDescriptorFromBytes(ocispec.MediaTypeImageManifest, text), text)
}

// readImage reads an image manifest in the CNCF's layout.
func readImage(ctx context.Context, ref Reference, described ocispec.Descriptor, text []byte) (*Image, error) {
	const fix = "push it with berth plugin push FILE.wasm REFERENCE"
	if described.MediaType != ocispec.MediaTypeImageManifest {
		return nil, ref.problem(fix, "it is of type %s, not %s", plain.Cut(described.MediaType, 64), ocispec.MediaTypeImageManifest)
	}
	var manifest ocispec.Manifest
	if err := decode(ctx, text, &manifest); err != nil {
		return nil, ref.problem(fix, "its manifest: %v", err)
	}
	if (manifest.Versioned != specs.Versioned{SchemaVersion: 2}) {
		return nil, ref.problem(fix, "its manifest's schemaVersion is not 2")
	}
	switch {
	case manifest.Subject != nil:
		return nil, ref.problem(fix, "it refers to another image, as a signature does")
	case len(manifest.Layers) > maxLayers:
		return nil, ref.problem(fix, "it has %d layers, at most %d are allowed", len(manifest.Layers), maxLayers)
	}
	var found []ocispec.Descriptor
	var types []string
	var bytes int64
	for _, layer := range manifest.Layers {
		if !fits(layer, maxAllLayers) {
			return nil, ref.fail("its layers", tooLarge(layer.Size, maxAllLayers))
		}
		bytes += layer.Size
		if len(types) < 10 {
			types = append(types, plain.Cut(layer.MediaType, 64))
		}
		if layer.MediaType == LayerMediaType {
			found = append(found, layer)
		}
	}
	switch {
	case len(found) != 1:
		return nil, ref.problem(fix, "it has %d layers of type %s, not one (its layers: %s)", len(found), LayerMediaType, plain.List(types, ", ", 512, "layers"))
	case !fits(manifest.Config, maxManifest):
		return nil, ref.problem("", "its config has %d bytes, at most %d are allowed", manifest.Config.Size, maxManifest)
	case !fits(found[0], wire.MaxModuleSize):
		return nil, ref.problem("", "its module has %d bytes, at most %d are allowed", found[0].Size, wire.MaxModuleSize)
	}
	return &Image{Ref: ref, Descriptor: described, Annotations: manifest.Annotations, Module: found[0], Text: text, config: manifest.Config, layers: bytes}, nil
}

// Annotations returns the image annotations for a plugin's manifest. They help people search
// for plugins. A loader trusts only the manifest in the module, and refuses an image whose
// annotations differ from it (CheckAnnotations).
func Annotations(m *wire.Manifest) map[string]string {
	points := make([]string, 0, 16)
	for _, p := range m.Declared() {
		points = append(points, wire.PointName(p))
	}
	out := map[string]string{}
	for key, value := range map[string]string{
		ocispec.AnnotationTitle:       m.Name,
		ocispec.AnnotationVersion:     m.Version,
		ocispec.AnnotationVendor:      m.Publisher,
		ocispec.AnnotationLicenses:    m.License,
		ocispec.AnnotationDescription: m.Description,
		"dev.berth.plugin.abi":        m.ABI,
		"dev.berth.plugin.points":     strings.Join(points, ","),
	} {
		if value != "" {
			out[key] = value
		}
	}
	return out
}

// CheckAnnotations refuses an image whose annotations differ from the manifest in its module.
// It ignores annotations that Berth does not write.
func (i *Image) CheckAnnotations(m *wire.Manifest) error {
	want := Annotations(m)
	for _, key := range annotationKeys() {
		if got, ok := i.Annotations[key]; ok && got != want[key] {
			return i.Ref.At(i.Descriptor.Digest).problem("ask its publisher, or push it again with berth plugin push",
				"its annotation %s is %s, the manifest in the module says %s", key, plain.Quote(got, 64), plain.Quote(want[key], 64))
		}
	}
	return nil
}

// annotationKeys returns the keys that Annotations uses.
func annotationKeys() []string {
	return []string{
		ocispec.AnnotationTitle, ocispec.AnnotationVersion, ocispec.AnnotationVendor, ocispec.AnnotationLicenses,
		ocispec.AnnotationDescription, "dev.berth.plugin.abi", "dev.berth.plugin.points",
	}
}

// wasmConfig is the config in the CNCF's layout. Its time is fixed, so that the same module
// gives the same image.
type wasmConfig struct {
	Created      string          `json:"created"`
	Author       string          `json:"author,omitempty"`
	Architecture string          `json:"architecture"`
	OS           string          `json:"os"`
	LayerDigests []digest.Digest `json:"layerDigests"`
}

// Push stores a module as an image under the tag of the reference, or else of its version, and
// returns the image. The same module always gives the same image.
func (s *Store) Push(ctx context.Context, module []byte, m *wire.Manifest) (*Image, error) {
	tag := s.ref.Tag
	if tag == "" {
		tag = strings.ReplaceAll(m.Version, "+", "_") // tags cannot contain a plus; helm replaces it too
	}
	tagged := *s // so that errors name the tag
	tagged.ref = s.ref.named(tag)
	return tagged.push(ctx, module, m, tag)
}

func (s *Store) push(ctx context.Context, module []byte, m *wire.Manifest, tag string) (*Image, error) {
	layer := content.NewDescriptorFromBytes(LayerMediaType, module)
	config, err := json.Marshal(wasmConfig{Created: "1970-01-01T00:00:00Z", Author: m.Publisher, Architecture: "wasm", OS: "wasip1", LayerDigests: []digest.Digest{layer.Digest}})
	if err != nil {
		return nil, err
	}
	manifest := ocispec.Manifest{
		Versioned:   specs.Versioned{SchemaVersion: 2},
		MediaType:   ocispec.MediaTypeImageManifest,
		Config:      content.NewDescriptorFromBytes(ConfigMediaType, config),
		Layers:      []ocispec.Descriptor{layer},
		Annotations: Annotations(m),
	}
	if err := s.blob(ctx, layer, module); err != nil {
		return nil, err
	}
	if err := s.blob(ctx, manifest.Config, config); err != nil {
		return nil, err
	}
	described, err := s.manifest(ctx, manifest)
	if err != nil {
		return nil, err
	}
	if err := s.target.Tag(ctx, described, tag); err != nil {
		return nil, s.ref.fail("tag", err)
	}
	return &Image{Ref: s.ref, Descriptor: described, Annotations: manifest.Annotations, Module: layer, config: manifest.Config, layers: layer.Size}, nil
}

// manifest stores a manifest.
func (s *Store) manifest(ctx context.Context, m ocispec.Manifest) (ocispec.Descriptor, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	if len(text) > maxManifest {
		return ocispec.Descriptor{}, fmt.Errorf("the image's manifest has %d bytes, at most %d are allowed: shorten the description", len(text), maxManifest)
	}
	described := content.NewDescriptorFromBytes(m.MediaType, text)
	described.ArtifactType, described.Annotations = m.ArtifactType, m.Annotations
	return described, s.blob(ctx, described, text)
}
