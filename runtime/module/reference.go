package module

import (
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/nearest"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/market/policy"
)

// Reference names a module and how it is used.
type Reference struct {
	// Path is the module's file, URL its address on a web server, Image its image in an OCI
	// registry, as REGISTRY/REPOSITORY:TAG. Exactly one is set.
	Path, URL, Image string
	// Digest is the expected digest of the module's bytes; empty accepts any. A URL needs one.
	Digest string
	// Name is the plugin's name in profiles; empty means the manifest's.
	Name string
	// Weight is the weight of the score; 0 if not given.
	Weight int32
	// ConfigFile is a JSON or YAML file, Config is the configuration itself in JSON. At most one
	// is set; without either the configuration is {}.
	ConfigFile string
	Config     []byte
	// Namespaces are the namespaces that the plugin applies to, sorted; empty means all.
	Namespaces []string
	// Tenant is empty for a plugin of the platform. Plugins share fuel if both fields are equal.
	Tenant string
	// HideSeed and HideGeneration are as in wasm.Config.
	HideSeed, HideGeneration bool
	// Points are the points of a profile at which the plugin runs, by their names in manifests;
	// empty means all that the manifest declares.
	Points []string
	// FailurePolicy has the policies of the plugin's points.
	FailurePolicy FailurePolicies
	// Grants are the directives that the plugin may use. GrantAll grants all that its manifest
	// declares.
	Grants   wire.ManifestDirectives
	GrantAll bool
	Limits   Limits
	// Attempts are those that the plugin may cause, as its grant says.
	Attempts Attempts `json:",omitzero"`
	// MaxPriority is as in plugin.Info, as its grant says.
	MaxPriority *int32 `json:",omitempty"`
	Use         Use
	// Policy (optional) must admit the module too, beside that of Sources.
	Policy *policy.Policy
	// Signed fetches the module's signatures, for Loaded.Judge, although no policy asks for them.
	Signed bool
	// Fresh asks the server again even if the module is stored, for newer signatures.
	Fresh bool
	// Folder is true for a module in a plugin folder; the lock file does not cover it.
	Folder bool
}

// Attempts is how many attempts a minute a plugin may cause for pods of a namespace, as in plugin.Budget; 0 is the default.
type Attempts struct{ Pending, Wakeups, Activations, All int }

// Source describes where the module comes from.
func (r *Reference) Source() string {
	switch {
	case r.URL != "":
		return r.URL
	case r.Image != "":
		return ociScheme + r.Image
	}
	return r.Path
}

const ociScheme = "oci://"

// ParseReference reads a reference from a command line:
//
//	PATH.wasm[?key=value&…]
//	https://HOST/PATH.wasm?digest=sha256:…[&key=value…]
//	oci://REGISTRY/REPOSITORY:TAG[?key=value&…]
//
// with the keys config (a file), digest, failurePolicy (Fail or Ignore), grant
// (nominate, bind, waiting, activate, annotations:PREFIX and labels:PREFIX, separated
// by commas), mode (Enforce, Shadow or Disabled), name, namespaces (likewise), replaces and weight. In values, %XX is a byte.
//
// # Errors
//
// All mistakes at once, joined, each an *Error.
func ParseReference(text string) (Reference, error) {
	p := referenceParser{text: text}
	query, ok := p.source()
	if !ok {
		return Reference{}, errors.Join(p.errs...)
	}
	seen := map[string]bool{}
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		key, raw, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(raw)
		switch {
		case !slices.Contains(referenceKeys(), key):
			p.add(key, "unknown key", nearest.DidYouMean(key, referenceKeys()))
		case seen[key]:
			p.add(key, "the key appears twice", "keep one")
		case !ok || raw == "":
			p.add(key, "it has no value", "write "+key+"=…")
		case err != nil:
			p.add(key, err.Error(), "write a percent sign as %25")
		default:
			p.set(key, value)
		}
		seen[key] = true
	}
	p.check()
	if len(p.errs) > 0 {
		return Reference{}, errors.Join(p.errs...)
	}
	return p.ref, nil
}

// check reports what is wrong with values that a plugin has elsewhere, too.
func (p *referenceParser) check() {
	m := v1alpha1.FileModule{Path: p.ref.Path, ModuleSource: v1alpha1.ModuleSource{
		URL: p.ref.URL, Image: v1alpha1.Image(p.ref.Image), Digest: v1alpha1.Digest(p.ref.Digest),
	}}
	for _, mistake := range append(m.Validate(nil), p.spec.Validate(nil)...) {
		if mistake.Field != "failurePolicy" { // set has reported it
			p.add(mistake.Field, mistake.ErrorBody(), "")
		}
	}
	p.ref.Use = useOf(p.spec.Mode, p.spec.Replaces)
	for _, namespace := range p.spec.Namespaces {
		p.ref.Namespaces = append(p.ref.Namespaces, string(namespace))
	}
	slices.Sort(p.ref.Namespaces)
	p.ref.FailurePolicy = FailurePolicies(p.spec.FailurePolicy)
}

// source parses where the module comes from and returns the rest of the text.
func (p *referenceParser) source() (query string, ok bool) {
	if image, is := strings.CutPrefix(p.text, ociScheme); is {
		p.ref.Image, query, _ = strings.Cut(image, "?")
		if p.ref.Image == "" {
			p.add("", "it names no image", "write oci://REGISTRY/REPOSITORY:TAG")
		}
		return query, p.ref.Image != ""
	}
	if strings.HasPrefix(p.text, "https://") || strings.HasPrefix(p.text, "http://") {
		p.ref.URL, query, _ = strings.Cut(p.text, "?")
		return query, true
	}
	path, query, has := strings.Cut(p.text, ".wasm?")
	if has {
		path += ".wasm"
	} else {
		path = p.text
	}
	p.ref.Path = path
	if base := path[strings.LastIndexAny(path, `/\`)+1:]; !strings.HasSuffix(base, ".wasm") || base == ".wasm" {
		p.add("", "it names no .wasm file", "write PATH.wasm, or PATH.wasm?weight=2&config=FILE")
		return "", false
	}
	return query, true
}

func referenceKeys() []string {
	return []string{"config", "digest", "failurePolicy", "grant", "mode", "name", "namespaces", "replaces", "weight"}
}

type referenceParser struct {
	text string
	ref  Reference
	spec v1alpha1.PluginSpec
	errs []error
}

func (p *referenceParser) add(key, detail, fix string) {
	p.errs = append(p.errs, &Error{Section: sectionReference + " " + strconv.Quote(p.text), Path: key, Detail: detail, Fix: fix})
}

func (p *referenceParser) set(key, value string) {
	switch key {
	case "config":
		p.ref.ConfigFile = value
	case "digest":
		p.ref.Digest = value
	case "failurePolicy":
		if err := p.spec.FailurePolicy.Set(value); err != nil {
			p.add(key, err.Error(), "")
		}
	case "grant":
		p.grant(value)
	case "mode":
		p.spec.Mode = v1alpha1.Mode(value)
	case "replaces":
		p.spec.Replaces = value
	case "name":
		if p.ref.Name = value; !v1alpha1.IsPluginName(value) {
			p.add(key, strconv.Quote(value)+" is not a plugin name", v1alpha1.PluginNameFix)
		}
	case "namespaces":
		for namespace := range strings.SplitSeq(value, ",") {
			p.spec.Namespaces = append(p.spec.Namespaces, v1alpha1.Namespace(namespace))
		}
	case "weight":
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil || n < 1 {
			p.add(key, strconv.Quote(value)+" is not a weight", "write a whole number from 1")
		}
		p.ref.Weight = int32(n)
	}
}
