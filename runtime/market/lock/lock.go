// Package lock reads and writes berth.lock, which pins the modules of a configuration by
// digest, with what they may see and do. A lock file is made to be reviewed as a diff.
package lock

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/internal/strictyaml"
)

// The kind and version of a lock file.
const (
	APIVersion = "berth.dev/v1alpha1"
	Kind       = "Lock"
)

// MaxSize is the maximum size of a lock file in bytes, maxPlugins the maximum number of its
// entries.
const (
	MaxSize    = 4 << 20
	maxPlugins = 10_000
)

// File is a lock file:
//
//	apiVersion: berth.dev/v1alpha1
//	kind: Lock
//	plugins:
//	- name: rack-aware
//	  source: oci://ghcr.io/example/rack-aware:1.2.0
//	  version: 1.2.0
//	  module: sha256:…
//	  image: sha256:…
//	  signers: [example-2026]
//	  points: [filter, score]
//	  reads: {nodeLabels: [example.com/rack]}
//	  grants: {annotations: [example.com/]}
type File struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Plugins    []Plugin `json:"plugins"`
}

// Plugin is a module as a profile uses it.
type Plugin struct {
	// Name is the name in profiles. Source is the reference in the configuration.
	Name   string `json:"name"`
	Source string `json:"source"`
	// Version and Publisher are from the manifest.
	Version   string `json:"version"`
	Publisher string `json:"publisher,omitempty"`
	// Module is the digest of the module's bytes. Image is the digest of the image's manifest;
	// empty without an image.
	Module string `json:"module"`
	Image  string `json:"image,omitempty"`
	// Signers are the policy's keys that signed it.
	Signers []string `json:"signers,omitempty"`
	// Points and Reads are what the manifest declares. Grants are the directives that the plugin
	// was granted.
	Points []string                `json:"points"`
	Reads  map[string][]string     `json:"reads,omitempty"`
	Grants wire.ManifestDirectives `json:"grants"`
}

// Parse reads a lock file.
func Parse(text []byte) (*File, error) {
	if len(text) > MaxSize {
		return nil, fmt.Errorf("it has %d bytes, at most %d are allowed", len(text), MaxSize)
	}
	var f File
	if err := strictyaml.Decode(text, MaxSize, &f); err != nil {
		return nil, errors.New(plain.Lines(err.Error(), 1<<10))
	}
	if f.APIVersion != APIVersion || f.Kind != Kind {
		return nil, fmt.Errorf("it is %s of %s: write kind: %s and apiVersion: %s, or make it with berth plugin lock", plain.Quote(f.Kind, 64), plain.Quote(f.APIVersion, 64), Kind, APIVersion)
	}
	if len(f.Plugins) > maxPlugins {
		return nil, fmt.Errorf("it has %d plugins, at most %d are allowed", len(f.Plugins), maxPlugins)
	}
	seen := map[[2]string]bool{}
	for i := range f.Plugins {
		p := &f.Plugins[i]
		key := [2]string{p.Name, p.Source}
		switch {
		case !v1alpha1.Digest(p.Module).Valid() || p.Image != "" && !v1alpha1.Digest(p.Image).Valid():
			return nil, fmt.Errorf("plugins[%d]: invalid digest: write sha256: and 64 hexadecimal digits", i)
		case seen[key]:
			return nil, fmt.Errorf("plugins[%d]: %s of %s appears twice", i, plain.Quote(p.Name, 64), plain.Quote(p.Source, 256))
		}
		seen[key] = true
	}
	return &f, nil
}

// Text formats a lock file. The same plugins give the same bytes in any order, and equal
// entries are written once.
func Text(plugins []Plugin) ([]byte, error) {
	plugins = slices.Clone(plugins)
	slices.SortStableFunc(plugins, func(a, b Plugin) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Source, b.Source))
	})
	plugins = slices.CompactFunc(plugins, func(a, b Plugin) bool { return reflect.DeepEqual(a, b) })
	for i := 1; i < len(plugins); i++ {
		if a, b := plugins[i-1], plugins[i]; a.Name == b.Name && a.Source == b.Source {
			return nil, fmt.Errorf("%s of %s is used with two different settings: give one of them another name", a.Name, a.Source)
		}
	}
	body, err := yaml.Marshal(File{APIVersion: APIVersion, Kind: Kind, Plugins: plugins})
	return append([]byte("# Written by berth plugin lock. Review it, then start berth run with --lock and this file.\n"), body...), err
}

// find returns the entry of a plugin; nil if there is none.
func (f *File) find(name, source string) *Plugin {
	for i := range f.Plugins {
		if p := &f.Plugins[i]; p.Name == name && p.Source == source {
			return p
		}
	}
	return nil
}

// Has reports whether the lock file has a module with this digest and this image digest.
func (f *File) Has(module, image string) bool {
	return slices.ContainsFunc(f.Plugins, func(p Plugin) bool { return p.Module == module && p.Image == image })
}

// Check returns an error if a plugin differs from its entry, also in what follows from the module: then somebody has edited what others
// review. It ignores signers, which are up to the policy, because keys rotate.
func (f *File) Check(p *Plugin) error {
	const fix = "run berth plugin lock, and review what it changes"
	locked := f.find(p.Name, p.Source)
	if locked == nil { // a version of a rollout, which has a role in its name and names its image by the digest
		name, _, _ := strings.Cut(p.Name, "@")
		source, _, _ := strings.Cut(p.Source, "@sha256:")
		locked = f.find(name, source)
	}
	switch {
	case locked == nil:
		return fmt.Errorf("%s of %s is not in the lock file: %s", p.Name, p.Source, fix)
	case locked.Module != p.Module:
		return fmt.Errorf("the module is %s, the lock file has %s: %s", p.Module, locked.Module, fix)
	case locked.Image != p.Image:
		return fmt.Errorf("the image is %s, the lock file has %s: %s", p.Image, locked.Image, fix)
	case !slices.Equal(words(&locked.Grants), words(&p.Grants)):
		return fmt.Errorf("it is granted [%s], in the lock file [%s]: %s", strings.Join(words(&p.Grants), ", "), strings.Join(words(&locked.Grants), ", "), fix)
	}
	for _, field := range []struct{ name, locked, module string }{
		{"version", locked.Version, p.Version}, {"publisher", locked.Publisher, p.Publisher},
		{"points", fmt.Sprint(locked.Points), fmt.Sprint(p.Points)}, {"reads", fmt.Sprint(locked.Reads), fmt.Sprint(p.Reads)},
	} {
		if field.locked != field.module {
			return fmt.Errorf("the lock file was edited: it has the %s %s, the module with this digest has %s: %s",
				field.name, plain.Quote(field.locked, 256), plain.Quote(field.module, 256), fix)
		}
	}
	return nil
}
