// Package module finds plugin modules and checks them: it reads a module from a file, web
// server or registry, checks its size, digest, structure and manifest, and checks the
// configuration against the manifest's JSON Schema. It does not run modules.
package module

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/schema"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/bounded"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/market/policy"
)

// Loaded is a module that conforms to the ABI, with its configuration.
type Loaded struct {
	// Name is the plugin's name in profiles: the reference's, or else the manifest's.
	Name string
	// Path is the file's path as given.
	Path string
	// Digest is the digest of the module's bytes: "sha256:" and 64 hexadecimal digits.
	Digest string
	Bytes  []byte
	Module *wire.Module
	// Manifest is the module's, with the names that the configuration brings. Without a configuration they are missing.
	Manifest *wire.Manifest
	// Warnings about the module and its manifest, in a fixed order.
	Warnings []string
	// Config is the configuration as canonical JSON, {} if not given. Read leaves it nil.
	Config []byte
	// Grants are the directives that the plugin may use.
	Grants wire.ManifestDirectives
	// Image is the digest of the image's manifest; empty if the module is not from an image.
	Image string
	// Origin is what OriginFile has of an image; nil for a file.
	Origin []byte
	// Signers are the names of the policy's keys that signed the module; empty without a policy.
	Signers []string

	schema *schema.Schema
	// embedded is the manifest as the module has it; nil if that is Manifest.
	embedded *wire.Manifest
	subject  *policy.Subject // of policies
	fetched  *fetched        // without its data; nil if the module was not loaded by Sources
}

// Read reads a module without a configuration.
//
// # Errors
//
// All mistakes, joined. Each is an *Error.
func Read(path string) (*Loaded, error) {
	data, err := readFile(path, sectionModule, wire.MaxModuleSize)
	if err != nil {
		return nil, err
	}
	return Parse(path, data)
}

// Parse is Read for a module in memory; path is for errors.
func Parse(path string, data []byte) (*Loaded, error) {
	l := &Loaded{Path: path, Digest: Digest(data), Bytes: data}
	var err error
	if l.Module, err = wire.ReadModule(data); err != nil {
		return nil, wrap(path, sectionModule, err)
	}
	if l.Manifest, err = wire.ReadManifest(l.Module, ""); err != nil {
		return nil, wrap(path, "", err)
	}
	if err := wire.Check(l.Module, l.Manifest, ""); err != nil {
		return nil, wrap(path, "", err)
	}
	l.Name = l.Manifest.Name
	l.Warnings = wire.Warnings(l.Module, l.Manifest)
	var unknown []string
	l.schema, unknown, err = schema.New(l.Manifest.Config)
	if err != nil {
		return nil, wrap(path, sectionSchema, err)
	}
	l.Warnings = append(l.Warnings, unknown...)
	if over := len(l.Warnings) - maxWarnings; over > 0 {
		l.Warnings = append(l.Warnings[:maxWarnings], fmt.Sprintf("and %d more warnings", over))
	}
	for i, text := range l.Warnings {
		l.Warnings[i] = plain.Line(text, maxWarning)
	}
	return l, nil
}

// Share replaces what depends on the module's bytes alone by that of another Loaded of the same
// digest, so that the bytes are in memory once.
func (l *Loaded) Share(o *Loaded) {
	if l.embedded == nil {
		l.Manifest = o.Declared()
	} else { // Manifest depends on the configuration, too
		l.embedded = o.Declared()
	}
	l.Bytes, l.Module, l.schema = o.Bytes, o.Module, o.schema
	if l.subject != nil {
		subject := *l.subject
		subject.Data = o.Bytes
		l.subject = &subject
	}
}

// Limits of warnings: their number, and bytes of each.
const (
	maxWarnings = 64
	maxWarning  = 1 << 10
)

// Load calls Sources.Load without a folder for fetched modules.
func Load(ref Reference) (*Loaded, error) {
	return NewSources(SourcesConfig{}).Load(context.Background(), ref)
}

// Load gets the module of a reference and checks its digest. It also checks the configuration,
// which the reference contains or names. Nothing is stored before Keep is called.
//
// # Errors
//
// All mistakes, joined. Each is an *Error.
func (s *Sources) Load(ctx context.Context, ref Reference) (*Loaded, error) {
	f, err := s.fetch(ctx, &ref, ref.Fresh)
	if err != nil {
		return nil, err
	}
	l, err := s.accept(ctx, &ref, f)
	if err != nil && f.kept { // the registry may have newer signatures
		if newer, again := s.fetch(ctx, &ref, true); again == nil {
			f = newer
			l, err = s.accept(ctx, &ref, f)
		}
	}
	if err != nil {
		return nil, err
	}
	l.fetched, f.data = f, nil // the module has them
	return s.configure(l, ref, f.pinned)
}

// accept checks what was fetched against the reference, the ABI and the policy.
func (s *Sources) accept(ctx context.Context, ref *Reference, f *fetched) (*Loaded, error) {
	source := ref.Source()
	if limits, size := &ref.Limits, len(f.data); limits.ModuleSize > 0 && size > limits.ModuleSize || limits.MemoryTotal > 0 &&
		int64(size) > limits.MemoryTotal {
		return nil, tooLarge(ref, int64(size))
	}
	if got := Digest(f.data); ref.Digest != "" && got != ref.Digest {
		return nil, &Error{File: source, Section: sectionDigest, Detail: "the module has " + got + ", expected " + ref.Digest,
			Fix: "get the module that was meant, or change the digest if the new one is trusted"}
	}
	l, err := Parse(source, f.data)
	if err != nil {
		return nil, err
	}
	if err := tagAgrees(ref, l.Manifest.Version); err != nil {
		return nil, err
	}
	if len(f.origin.Manifest) > 0 {
		l.Image = Digest(f.origin.Manifest)
		if l.Origin, err = json.Marshal(f.origin); err != nil {
			return nil, err
		}
	}
	if l.Signers, err = s.admit(ctx, ref, f, l); err != nil {
		return nil, err
	}
	return l, nil
}

// configure gives a module the name, grants and configuration of its reference.
func (s *Sources) configure(l *Loaded, ref Reference, pinned bool) (*Loaded, error) {
	if !pinned {
		l.Warnings = append(l.Warnings, "the tag can be moved to another module: write @sha256:… instead of the tag, or give the digest "+l.Digest)
	}
	if ref.Name != "" {
		l.Name = ref.Name
	}
	var denied error
	l.Grants, denied = l.granted(ref)
	var err error
	if l.Config, err = l.config(ref); err == nil && ref.Limits.ConfigSize > 0 && len(l.Config) > ref.Limits.ConfigSize {
		err = &Error{File: ref.Source(), Section: sectionConfig,
			Detail: fmt.Sprintf("%d bytes, at most %d are allowed", len(l.Config), ref.Limits.ConfigSize), Fix: "raise limits.configSize"}
	}
	if err == nil {
		err = l.resolve(ref.ConfigFile)
	}
	if err != nil || denied != nil {
		return nil, errors.Join(err, denied)
	}
	return l, s.locked(l, &ref)
}

// Declared returns the manifest as the module has it, whatever the configuration.
func (l *Loaded) Declared() *wire.Manifest { return cmp.Or(l.embedded, l.Manifest) }

// Brought returns the names that the configuration brings to what the manifest reads (ABI-9.15).
func (l *Loaded) Brought() []wire.BroughtName {
	brought, _ := l.Declared().Brought(l.Config) // resolve has seen all errors
	return brought
}

// resolve adds the names that the configuration brings to the manifest (ABI-9.15). file is the configuration's; empty for the module's.
func (l *Loaded) resolve(file string) error {
	m, err := l.Manifest.Resolve(l.Config)
	if err != nil {
		return wrap(cmp.Or(file, l.Path), sectionConfig, err)
	}
	if m != l.Manifest {
		l.embedded, l.Manifest = l.Manifest, m
	}
	return nil
}

// Digest returns the digest of bytes: "sha256:" and 64 hexadecimal digits.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// config returns the configuration of a reference in canonical form.
func (l *Loaded) config(ref Reference) ([]byte, error) {
	if ref.ConfigFile == "" {
		raw := ref.Config
		if len(raw) == 0 {
			raw = []byte("{}")
		}
		out, err := l.CheckConfig(l.Path, raw)
		if err != nil && len(ref.Config) == 0 {
			err = errors.Join(err, &Error{File: l.Path, Section: sectionConfig, Detail: "none is given",
				Fix: "write ?config=FILE after a module on a command line, --config FILE beside a folder, or config where a file names the module"})
		}
		return out, err
	}
	raw, err := ReadConfig(ref.ConfigFile)
	if err != nil {
		return nil, err
	}
	return l.CheckConfig(ref.ConfigFile, raw)
}

// ReadConfig returns the configuration in a JSON or YAML file as JSON, which no schema has checked.
func ReadConfig(file string) ([]byte, error) {
	data, err := readFile(file, sectionConfig, abi.MaxConfigSize)
	if err != nil {
		return nil, err
	}
	raw, err := toJSON(data)
	if err != nil {
		return nil, wrap(file, sectionConfig, err)
	}
	return raw, nil
}

// CheckConfig checks a configuration in JSON against the manifest's schema and returns it in
// canonical form: compact, with sorted fields and unchanged numbers (ABI-9.8). file is for
// errors.
func (l *Loaded) CheckConfig(file string, raw []byte) ([]byte, error) {
	if len(raw) > abi.MaxConfigSize {
		return nil, &Error{File: file, Section: sectionConfig,
			Detail: fmt.Sprintf("%d bytes, at most %d are allowed (ABI-10)", len(raw), abi.MaxConfigSize)}
	}
	out, err := l.schema.Check(raw)
	if err != nil {
		return nil, wrap(file, sectionConfig, err)
	}
	return out, nil
}

// readFile reads a regular file of at most limit bytes.
func readFile(path, section string, limit int) ([]byte, error) {
	f, err := bounded.OpenRegular(path)
	if err != nil {
		fix := "name a file that can be read"
		if errors.Is(err, bounded.ErrIrregular) {
			fix = "name a file"
		}
		return nil, &Error{File: path, Section: section, Detail: reason(err), Fix: fix, Err: err}
	}
	defer f.Close() //nolint:errcheck // it was only read
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, &Error{File: path, Section: section, Detail: reason(err), Err: err}
	case info.Size() > int64(limit):
		return nil, &Error{File: path, Section: section, Detail: fmt.Sprintf("%d bytes, at most %d are allowed", info.Size(), limit)}
	}
	data, err := bounded.All(f, int64(limit))
	if err != nil {
		return nil, &Error{File: path, Section: section, Detail: reason(err), Err: err}
	}
	return data, nil
}

// reason returns the text of err without the operation and the path.
func reason(err error) string {
	var at *os.PathError
	if errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}
