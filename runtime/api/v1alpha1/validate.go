package v1alpha1

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
)

const (
	maxFuel       = 1 << 50 // of a call or a cycle: with that of any number of rows it fits into 64 bits
	maxFuelPerRow = 1 << 30
	leastMemory   = 64 << 10
	maxMemory     = 3 << 30
	leastTotal    = 1 << 20
	maxTotal      = 1 << 40
	maxLog        = 64 << 20
)

// Validate returns all mistakes; path is that of the args.
func (a *WasmPluginArgs) Validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if want := GroupVersion().String(); a.APIVersion != want {
		errs = append(errs, field.Invalid(path.Child("apiVersion"), a.APIVersion, "write "+want))
	}
	if a.Kind != KindWasmPluginArgs {
		errs = append(errs, field.Invalid(path.Child("kind"), a.Kind, "write "+KindWasmPluginArgs))
	}
	errs = append(errs, a.Module.Validate(path.Child("module"))...)
	return append(errs, a.PluginSpec.Validate(path)...)
}

// Validate returns all mistakes; path is that of the file's fields, nil for its root.
func (f *FolderPlugin) Validate(path *field.Path) field.ErrorList {
	errs := f.PluginSpec.Validate(path)
	if f.Name != "" && !IsPluginName(f.Name) {
		errs = append(errs, field.Invalid(path.Child("name"), f.Name, PluginNameFix))
	}
	if f.Weight != nil && *f.Weight < 1 {
		errs = append(errs, field.Invalid(path.Child("weight"), *f.Weight, "write a whole number from 1"))
	}
	return errs
}

// Validate returns all mistakes; path is that of the field.
func (m *FileModule) Validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	var named []string
	for _, source := range []struct{ name, value string }{{"path", m.Path}, {"url", m.URL}, {"image", string(m.Image)}} {
		if source.value != "" {
			named = append(named, source.name)
		}
	}
	switch {
	case len(named) == 0:
		errs = append(errs, field.Required(path, "it names no module: add path, url or image"))
	case len(named) > 1:
		errs = append(errs, field.Forbidden(path.Child(named[1]), "the module is given by "+named[0]+" as well: keep one"))
	case m.URL != "" && !strings.HasPrefix(m.URL, "https://") && !strings.HasPrefix(m.URL, "http://"):
		errs = append(errs, field.Invalid(path.Child("url"), m.URL, "write https://HOST/PATH"))
	case m.URL != "" && m.Digest == "":
		errs = append(errs, field.Required(path.Child("digest"), DigestRequired))
	}
	return append(errs, m.Digest.validate(path.Child("digest"))...)
}

// DigestRequired says why a module on a web server needs a digest.
const DigestRequired = "add the module's digest, as berth plugin inspect prints it: a server can replace the file"

func (d Digest) validate(path *field.Path) field.ErrorList {
	if d == "" || d.Valid() {
		return nil
	}
	return field.ErrorList{field.Invalid(path, string(d), "write sha256: and 64 hexadecimal digits, as berth plugin inspect prints")}
}

// Valid reports whether it is sha256: and 64 lower-case hexadecimal digits.
func (d Digest) Valid() bool {
	parsed, err := digest.Parse(string(d))
	return err == nil && parsed.Algorithm() == digest.SHA256
}

// Validate returns all mistakes; path is that of the object with the spec's fields.
func (s *PluginSpec) Validate(path *field.Path) field.ErrorList {
	errs := ValidateNamespaces(s.Namespaces, path.Child("namespaces"))
	if s.Config != nil && s.Config.Omitted == nil && !bytes.HasPrefix(bytes.TrimSpace(s.Config.Raw), []byte("{")) {
		errs = append(errs, field.TypeInvalid(path.Child("config"), field.OmitValueType{},
			"write an object, or leave it out if there is nothing to configure"))
	}
	switch s.Mode {
	case "", ModeEnforce, ModeShadow, ModeDisabled:
	default:
		errs = append(errs, field.NotSupported(path.Child("mode"), s.Mode, []Mode{ModeEnforce, ModeShadow, ModeDisabled}))
	}
	if all := s.FailurePolicy.All; all != "" && !all.valid() {
		errs = append(errs, field.NotSupported(path.Child("failurePolicy"), all, []FailurePolicy{Fail, Ignore}))
	}
	if s.Replaces != "" && s.Mode != ModeShadow {
		errs = append(errs, field.Forbidden(path.Child("replaces"),
			"only a plugin in mode Shadow takes another one's place: add mode Shadow, or leave it out"))
	}
	if s.Grants != nil {
		errs = append(errs, s.Grants.Validate(path.Child("grants"))...)
	}
	if s.Limits != nil {
		errs = append(errs, s.Limits.Validate(path.Child("limits"))...)
	}
	return errs
}

// ValidateNamespaces returns the namespaces that are no names or appear twice, or that the list is empty.
func ValidateNamespaces(list []Namespace, path *field.Path) (errs field.ErrorList) {
	if list != nil && len(list) == 0 {
		errs = append(errs, field.Required(path, "list namespaces, or leave the field out for all"))
	}
	for i, ns := range list {
		switch {
		case len(validation.IsDNS1123Label(string(ns))) > 0:
			errs = append(errs, field.Invalid(path.Index(i), string(ns), "write a namespace's name: lower-case letters, digits and dashes"))
		case slices.Contains(list[:i], ns):
			errs = append(errs, field.Duplicate(path.Index(i), string(ns)))
		}
	}
	return errs
}

// Validate returns all prefixes that are not well formed (ABI-9.11).
func (d *Directives) Validate(path *field.Path) (errs field.ErrorList) {
	directives := d.Manifest()
	err := directives.Validate("")
	for _, one := range flatten(err) {
		var bad *wire.ManifestError
		if errors.As(one, &bad) {
			name, index, _ := strings.Cut(strings.Trim(bad.Path, ".]"), "[")
			errs = append(errs, field.Invalid(path.Child(name).Key(index), field.OmitValueType{}, bad.Detail+": "+bad.Fix))
		}
	}
	return errs
}

// Manifest returns the directives as a manifest declares them.
func (d *Directives) Manifest() wire.ManifestDirectives {
	if d == nil {
		return wire.ManifestDirectives{}
	}
	return wire.ManifestDirectives{
		Annotations: d.Annotations, Labels: d.Labels, Nominate: d.Nominate, Bind: d.Bind, Waiting: d.Waiting, Activate: d.Activate,
		Objects: d.Objects,
	}
}

// DirectivesOf returns what a manifest declares as it is granted.
func DirectivesOf(d *wire.ManifestDirectives) *Directives {
	return &Directives{
		Annotations: d.Annotations, Labels: d.Labels, Nominate: d.Nominate, Bind: d.Bind, Waiting: d.Waiting, Activate: d.Activate,
		Objects: d.Objects,
	}
}

// flatten returns the errors that err joins.
func flatten(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// Validate returns all limits that are out of range.
func (l *Limits) Validate(path *field.Path) (errs field.ErrorList) {
	for _, f := range []struct {
		name  string
		value *int64
		most  int64
	}{
		{"fuelPerCall", l.FuelPerCall, maxFuel}, {"fuelPerRow", l.FuelPerRow, maxFuelPerRow}, {"fuelPerCycle", l.FuelPerCycle, maxFuel},
		{"fuelPerCycleRow", l.FuelPerCycleRow, maxFuelPerRow}, {"fuelStart", l.FuelStart, maxFuel}, {"fuelRestarts", l.FuelRestarts, maxFuel},
		{"depth", l.Depth, 1_000_000}, {"tableElements", l.TableElements, 10_000_000},
		{"functions", l.Functions, 1_000_000}, {"globals", l.Globals, 1_000_000}, {"locals", l.Locals, 50_000}, {"nesting", l.Nesting, 50_000},
	} {
		if f.value != nil && (*f.value < 1 || *f.value > f.most) {
			errs = append(errs, field.Invalid(path.Child(f.name), *f.value, fmt.Sprintf("write a whole number from 1 to %d", f.most)))
		}
	}
	for _, f := range []struct {
		name        string
		value       *resource.Quantity
		least, most int64
	}{
		{"memory", l.Memory, leastMemory, maxMemory}, {"memoryTotal", l.MemoryTotal, leastTotal, maxTotal},
		{"moduleSize", l.ModuleSize, 1, wire.MaxModuleSize}, {"configSize", l.ConfigSize, 1, abi.MaxConfigSize},
		{"stateSize", l.StateSize, 1, abi.MaxStateSize}, {"reasonSize", l.ReasonSize, 1, abi.MaxTextsSize},
		{"directiveSize", l.DirectiveSize, 1, abi.MaxDirectiveText}, {"logSize", l.LogSize, 1, maxLog},
	} {
		if f.value != nil && (f.value.Value() < f.least || f.value.Value() > f.most) {
			errs = append(errs, field.Invalid(path.Child(f.name), f.value.String(),
				"write a size from "+size(f.least)+" to "+size(f.most)+", as 64Ki"))
		}
	}
	if d, err := time.ParseDuration(string(l.Deadline)); l.Deadline != "" && (err != nil || d < time.Millisecond) {
		errs = append(errs, field.Invalid(path.Child("deadline"), string(l.Deadline), "write a duration of at least 1ms, as 500ms or 2s"))
	}
	return errs
}

func size(n int64) string { return resource.NewQuantity(n, resource.BinarySI).String() }

// PluginNameFix says how to name a plugin.
const PluginNameFix = "use at most 63 letters, digits, dashes, dots and underscores"

// IsPluginName reports whether a name is readable in profiles and metrics.
func IsPluginName(s string) bool { return len(validation.IsValidLabelValue(s)) == 0 && s != "" }
