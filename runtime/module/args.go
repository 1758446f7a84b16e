package module

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-scheduler/berth/abi/schema"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/nearest"
	"github.com/berth-scheduler/berth/internal/plain"
)

// The type of the args of a WASM plugin in KubeSchedulerConfiguration.
const (
	ArgsAPIVersion = "berth.dev/v1alpha1"
	ArgsKind       = "WasmPluginArgs"
)

// WasmPluginArgs are the args of a WASM plugin, pluginConfig[].args:
//
//	apiVersion: berth.dev/v1alpha1
//	kind: WasmPluginArgs
//	module:
//	  path: /plugins/tenant-pool.wasm   # or url: https://…, or image: REGISTRY/REPOSITORY:TAG
//	  digest: sha256:…        # another module is refused; a url needs it
//	config: {pools: {…}}      # checked against the module's schema by Load
//	namespaces: [team-a]      # whose pods it applies to; none means all
//	failurePolicy: Fail       # or by point: {filter: Fail, score: Ignore}
//	grants:                   # what it may do beyond answering; nothing if left out
//	  annotations: [example.com/]
//	  waiting: true
//	limits: {fuelPerRow: 5000, deadline: 2s, memory: 64Mi}   # the defaults if left out
//	mode: Shadow              # or Disabled; Enforce if left out
//	replaces: tenant-pool     # with Shadow: the plugin whose place it takes
type WasmPluginArgs struct {
	Module ArgsModule
	// Config is the configuration as canonical JSON, {} if not given.
	Config []byte
	// Namespaces are sorted.
	Namespaces    []string
	FailurePolicy FailurePolicies
	// Grants are the directives that the plugin may use (ABI-13).
	Grants wire.ManifestDirectives
	Limits Limits
	Use    Use
}

// ArgsModule is the module field of WasmPluginArgs.
type ArgsModule struct {
	// Path is the file as written, relative to the working directory of the process. Exactly one
	// of Path, URL and Image is set.
	Path, URL, Image string
	// Digest is the expected digest of the module; an empty Digest accepts any module.
	Digest string
}

// Reference returns what Load takes. name is the plugin's name in the profile.
func (a *WasmPluginArgs) Reference(name string) Reference {
	return Reference{
		Path: a.Module.Path, URL: a.Module.URL, Image: a.Module.Image, Digest: a.Module.Digest, Name: name, Config: a.Config,
		Namespaces: a.Namespaces, FailurePolicy: a.FailurePolicy, Grants: a.Grants, Limits: a.Limits,
		Use: a.Use,
	}
}

// DecodeArgs reads args from JSON. It refuses unknown fields, duplicate fields and values of
// the wrong type. at is the field path of the args, such as pluginConfig[0].args; the paths in
// errors begin with it.
//
// # Errors
//
// All mistakes, joined. Each is an *Error without a file.
func DecodeArgs(raw []byte, at string) (*WasmPluginArgs, error) {
	d := &argsDecoder{}
	value, err := schema.Parse(raw)
	var p *schema.Problem
	if errors.As(err, &p) {
		if p.Path != "" && at != "" && p.Path[0] != '[' {
			p.Path = "." + p.Path
		}
		d.add(at+p.Path, p.Detail, p.Fix)
		return nil, errors.Join(d.errs...)
	}
	a := &WasmPluginArgs{Config: []byte("{}")}
	var mode, replaces string
	d.object(value, at, map[string]func(any, string){
		"apiVersion":    d.constant(ArgsAPIVersion),
		"kind":          d.constant(ArgsKind),
		"module":        d.module(&a.Module),
		"config":        d.config(&a.Config),
		"namespaces":    d.namespaces(&a.Namespaces),
		"failurePolicy": d.policy(&a.FailurePolicy),
		"grants":        d.grants(&a.Grants),
		"limits":        d.limits(&a.Limits),
		"mode":          d.string(&mode),
		"replaces":      d.string(&replaces),
	}, "apiVersion", "kind", "module")
	d.use(&a.Use, mode, replaces, at)
	if len(d.errs) > 0 {
		return nil, errors.Join(d.errs...)
	}
	return a, nil
}

type argsDecoder struct{ errs []error }

// add records a mistake, with its texts cut. Mistakes after the first schema.MaxProblems are dropped.
func (d *argsDecoder) add(path, detail, fix string) {
	if len(d.errs) >= schema.MaxProblems {
		return
	}
	path, detail, fix = plain.Cut(path, 2*schema.MaxPath), plain.Cut(detail, schema.MaxProblem), plain.Cut(fix, schema.MaxProblem)
	d.errs = append(d.errs, &Error{Path: path, Detail: detail, Fix: fix})
}

// object stores the fields of an object and refuses unknown fields.
func (d *argsDecoder) object(value any, path string, fields map[string]func(any, string), required ...string) {
	m, ok := value.(map[string]any)
	if !ok {
		d.add(path, "expected an object, found "+schema.Show(value), "")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if store, known := fields[name]; known {
			store(m[name], schema.Join(path, name))
		} else {
			d.add(schema.Join(path, name), "unknown field", nearest.DidYouMean(name, slices.Sorted(maps.Keys(fields))))
		}
	}
	for _, name := range required {
		if _, has := m[name]; !has {
			d.add(schema.Join(path, name), "it is missing", "add "+name)
		}
	}
}

func (d *argsDecoder) constant(want string) func(any, string) {
	return func(value any, path string) {
		if value != want {
			d.add(path, "expected "+strconv.Quote(want)+", found "+schema.Show(value), "write "+want)
		}
	}
}

func (d *argsDecoder) text(value any, path string) (string, bool) {
	s, ok := value.(string)
	if !ok {
		d.add(path, "expected a string, found "+schema.Show(value), "")
	}
	return s, ok
}

func (d *argsDecoder) module(into *ArgsModule) func(any, string) {
	return func(value any, path string) {
		source := func(to *string, fix string) func(any, string) {
			return func(value any, path string) {
				if *to, _ = d.text(value, path); value == "" {
					d.add(path, "it is empty", fix)
				}
			}
		}
		d.object(value, path, map[string]func(any, string){
			"path":  source(&into.Path, "write the path of the module's file"),
			"url":   source(&into.URL, "write https://HOST/PATH"),
			"image": source(&into.Image, "write REGISTRY/REPOSITORY:TAG"),
			"digest": func(value any, path string) {
				s, ok := d.text(value, path)
				if !ok {
					return
				}
				if bad := checkDigest(s); bad != nil {
					d.add(path, bad.Detail, bad.Fix)
				}
				into.Digest = s
			},
		})
		fields, ok := value.(map[string]any)
		if !ok {
			return
		}
		var named []string
		for _, name := range []string{"path", "url", "image"} {
			if _, has := fields[name]; has {
				named = append(named, name)
			}
		}
		switch _, pinned := fields["digest"]; {
		case len(named) == 0:
			d.add(path, "it names no module", "add path, url or image")
		case len(named) > 1:
			d.add(schema.Join(path, named[1]), "the module is given twice, by "+named[0]+" as well", "keep one")
		case named[0] == "url" && into.URL != "" && !strings.HasPrefix(into.URL, "https://") && !strings.HasPrefix(into.URL, "http://"):
			d.add(schema.Join(path, "url"), strconv.Quote(into.URL)+" is not an https URL", "write https://HOST/PATH")
		case named[0] == "url" && !pinned:
			d.add(schema.Join(path, "digest"), "it is missing", digestFix)
		}
	}
}

func (d *argsDecoder) weight(into *int32) func(any, string) {
	return func(value any, path string) {
		n, ok := value.(json.Number)
		w, err := strconv.ParseInt(n.String(), 10, 32)
		if !ok || err != nil || w < 1 {
			d.add(path, schema.Show(value)+" is not a weight", "write a whole number from 1")
			return
		}
		*into = int32(w)
	}
}

func (d *argsDecoder) config(into *[]byte) func(any, string) {
	return func(value any, path string) {
		if _, ok := value.(map[string]any); !ok {
			d.add(path, "expected an object, found "+schema.Show(value), "leave it out if there is nothing to configure")
			return
		}
		out, err := schema.Canonical(value)
		if err != nil {
			d.add(path, err.Error(), "")
		}
		*into = out
	}
}

func (d *argsDecoder) namespaces(into *[]string) func(any, string) {
	return func(value any, path string) {
		list, ok := value.([]any)
		if !ok {
			d.add(path, "expected a list, found "+schema.Show(value), "")
			return
		}
		for i, item := range list {
			if s, ok := d.text(item, schema.Index(path, i)); ok {
				*into = append(*into, s)
			}
		}
		if len(*into) < len(list) {
			return
		}
		if len(list) == 0 {
			d.add(path, "the list is empty", "list namespaces, or leave the field out for all")
		}
		if bad := checkNamespaces(*into); bad != nil {
			d.add(path+bad.Path, bad.Detail, bad.Fix)
		}
		slices.Sort(*into)
	}
}

func (d *argsDecoder) string(into *string) func(any, string) {
	return func(value any, path string) { *into, _ = d.text(value, path) }
}

func (d *argsDecoder) use(into *Use, mode, replaces, at string) {
	if bad := into.check(mode, replaces); bad != nil {
		d.add(schema.Join(at, bad.Path), bad.Detail, bad.Fix)
	}
}

func (d *argsDecoder) policy(into *FailurePolicies) func(any, string) {
	one := func(value any, path string) FailurePolicy {
		s, ok := value.(string)
		if !ok || !FailurePolicy(s).valid() {
			d.add(path, schema.Show(value)+" is not a policy", policyFix)
		}
		return FailurePolicy(s)
	}
	return func(value any, path string) {
		if _, ok := value.(map[string]any); !ok {
			into.All = one(value, path)
			return
		}
		into.Points = map[string]FailurePolicy{}
		fields := map[string]func(any, string){}
		for _, name := range policyPoints() {
			fields[name] = func(value any, path string) { into.Points[name] = one(value, path) }
		}
		d.object(value, path, fields)
	}
}
