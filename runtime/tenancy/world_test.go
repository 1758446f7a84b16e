package tenancy_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/internal/wat"
	"github.com/berth-scheduler/berth/runtime/market/oci"
	"github.com/berth-scheduler/berth/runtime/market/registry"
	"github.com/berth-scheduler/berth/runtime/market/signing"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/tenancy"
)

// host is the registry in test files. Requests go to a registry of the test.
const host = "registry.test"

// world is a registry with signed images.
type world struct {
	t       *testing.T
	server  *httptest.Server
	sources *module.Sources
	keys    map[string]*signing.PrivateKey
	// asked are the images that Load was called for.
	asked map[string]bool
}

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	handler, err := registry.New(registry.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		t: t, server: httptest.NewServer(handler), keys: map[string]*signing.PrivateKey{}, asked: map[string]bool{},
		sources: module.NewSources(module.SourcesConfig{Dir: t.TempDir()}),
	}
	t.Cleanup(w.server.Close)
	return w
}

// key returns the key of a name.
func (w *world) key(name string) *signing.PrivateKey {
	if w.keys[name] == nil {
		key, err := signing.Generate(signing.ECDSA)
		if err != nil {
			w.t.Fatal(err)
		}
		w.keys[name] = key
	}
	return w.keys[name]
}

// real translates host to the registry of the test, and shown translates it back.
func (w *world) real(text string) string {
	return strings.ReplaceAll(text, host, strings.TrimPrefix(w.server.URL, "http://"))
}

func (w *world) shown(text string) string {
	return strings.ReplaceAll(text, strings.TrimPrefix(w.server.URL, "http://"), host)
}

// load is Config.Load. It asks no server but the test's.
func (w *world) load(ref module.Reference, _ string) (*module.Loaded, error) {
	w.asked[ref.Source()] = true
	ref.Image = w.real(ref.Image)
	l, err := w.sources.Load(w.t.Context(), ref)
	if err != nil {
		return nil, fmt.Errorf("%s", w.shown(err.Error()))
	}
	return l, nil
}

// pushed is an image in a test file.
type pushed struct {
	Image    string         `json:"image"`
	SignedBy string         `json:"signedBy"`
	Manifest map[string]any `json:"manifest"`
}

// push makes a module of a manifest, with all exports that it needs, and stores it.
func (w *world) push(p *pushed) {
	w.t.Helper()
	for field, value := range map[string]any{
		"name": "guest", "version": "1.0.0", "publisher": "Example", "license": "Apache-2.0", "description": "a guest of tests", "abi": "1.0",
	} {
		if p.Manifest[field] == nil {
			p.Manifest[field] = value
		}
	}
	manifest, err := json.Marshal(p.Manifest)
	if err != nil {
		w.t.Fatal(err)
	}
	source := filepath.Join(w.t.TempDir(), "guest.wat")
	if err := os.WriteFile(source, []byte(guest(p.Manifest)), 0o600); err != nil {
		w.t.Fatal(err)
	}
	data := wat.Compile(w.t, source, string(manifest))
	l, err := module.Parse("guest.wasm", data)
	if err != nil {
		w.t.Fatal(err)
	}
	at, err := oci.ParseReference(w.real(p.Image))
	if err != nil {
		w.t.Fatal(err)
	}
	store, err := oci.New(oci.Config{}).Create(w.t.Context(), at)
	if err != nil {
		w.t.Fatal(err)
	}
	image, err := store.Push(w.t.Context(), data, l.Manifest)
	if err != nil {
		w.t.Fatal(err)
	}
	if p.SignedBy == "" {
		return
	}
	text, err := signing.SignImage(w.key(p.SignedBy), image.Descriptor.Digest.String())
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := store.Attach(w.t.Context(), image.Descriptor, oci.Attachment{Type: oci.BundleType, Data: text}); err != nil {
		w.t.Fatal(err)
	}
}

// guest is a module that exports what a manifest declares, and imports its functions.
func guest(manifest map[string]any) string {
	exports := map[string]string{ // by the manifest's names; w has one parameter, www three
		"preEnqueue": abi.ExportPreEnqueue + " www", "queueSort": abi.ExportQueueKey + " www", "hint": abi.ExportHint + " www",
		"preFilter": abi.ExportPreFilter + " w", "addPod": abi.ExportAddPod + " www", "removePod": abi.ExportRemovePod + " www",
		"filter": abi.ExportFilter + " www", "postFilter": abi.ExportPostFilter + " www",
		"preScore": abi.ExportPreScore + " www", "score": abi.ExportScore + " www", "normalize": abi.ExportNormalize + " www",
		"reserve": abi.ExportReserve + " w", "unreserve": abi.ExportUnreserve + " w", "permit": abi.ExportPermit + " w",
		"preBind": abi.ExportPreBind + " w", "bind": abi.ExportBind + " w", "postBind": abi.ExportPostBind + " w",
	}
	var b strings.Builder
	b.WriteString("(module\n")
	imports, _ := manifest["host"].([]any)
	for i, name := range imports {
		fmt.Fprintf(&b, "  (import %q %q (func $import%d (param i32 i32 i32) (result i32)))\n", abi.HostModule, name, i)
	}
	fmt.Fprintf(&b, "  (memory (export %q) 2)\n  (func (export %q) (result i32) (i32.const 65536))\n  (func (export %q) (param i32 i32) (result i32) (i32.const 65536))\n",
		abi.ExportMemory, abi.ExportABI, abi.ExportAlloc)
	if manifest["config"] != nil {
		fmt.Fprintf(&b, "  (func (export %q) (param i32 i32) (result i32) (i32.const 0))\n", abi.ExportConfigure)
	}
	points, _ := manifest["points"].(map[string]any)
	for _, point := range slices.Sorted(maps.Keys(points)) {
		name, arity, _ := strings.Cut(exports[point], " ")
		fmt.Fprintf(&b, "  (func (export %q) (param%s) (result i32) (i32.const 0))\n", name, strings.Repeat(" i32", len(arity)))
	}
	b.WriteString(")\n")
	return b.String()
}

// objects reads YAML documents, in which $NAME is the public key of a name.
func (w *world) objects(text string) *tenancy.Objects {
	w.t.Helper()
	o := &tenancy.Objects{Namespaces: map[string]map[string]string{}}
	for document := range strings.SplitSeq(text, "\n---\n") {
		document = os.Expand(document, func(name string) string {
			quoted, _ := json.Marshal(string(w.key(name).Public().PEM())) // a string always has JSON
			return string(quoted)
		})
		var head struct {
			Kind     string
			Metadata struct {
				Name, Namespace string
				Labels          map[string]string
			}
		}
		if err := yaml.Unmarshal([]byte(document), &head); err != nil {
			w.t.Fatal(err)
		}
		var into any
		switch head.Kind {
		case v1alpha1.KindSchedulerPlugin:
			p := &v1alpha1.SchedulerPlugin{}
			into, o.SchedulerPlugins = p, append(o.SchedulerPlugins, p)
		case v1alpha1.KindPluginGrant:
			p := &v1alpha1.PluginGrant{}
			into, o.PluginGrants = p, append(o.PluginGrants, p)
		case v1alpha1.KindTenantPlugin:
			p := &v1alpha1.TenantPlugin{}
			into, o.TenantPlugins = p, append(o.TenantPlugins, p)
			if _, ok := o.Namespaces[head.Metadata.Namespace]; !ok {
				o.Namespaces[head.Metadata.Namespace] = nil
			}
		case "Namespace":
			o.Namespaces[head.Metadata.Name] = head.Metadata.Labels
			continue
		default:
			w.t.Fatalf("kind %q", head.Kind)
		}
		if err := yaml.UnmarshalStrict([]byte(document), into); err != nil {
			w.t.Fatalf("%v in\n%s", err, document)
		}
	}
	return o
}

// show writes what became of objects.
func show(r *tenancy.Result) string {
	var b strings.Builder
	for i := range r.Plugins {
		p := &r.Plugins[i]
		fmt.Fprintf(&b, "%s %s: ", p.Kind, strings.TrimPrefix(p.Namespace+"/"+p.Object, "/"))
		if p.Refusal != nil {
			hold := "its pods wait"
			if !p.Holds {
				hold = "its pods go on"
			}
			fmt.Fprintf(&b, "%s, %s: %s\n", p.Refusal.Reason, hold, p.Refusal.Message)
			continue
		}
		ref := &p.Reference
		fmt.Fprintf(&b, "runs as %s", p.Name)
		if len(p.Namespaces) > 0 {
			fmt.Fprintf(&b, " for pods of %s", strings.Join(p.Namespaces, ", "))
		}
		for _, s := range []struct {
			format string
			value  any
			zero   bool
		}{
			{", at %v", ref.Points, len(ref.Points) == 0},
			{", weight %d", ref.Weight, ref.Weight == 0},
			{", signed by %v", p.Module.Signers, len(p.Module.Signers) == 0},
			{", granted by %s", p.Grant, p.Grant == ""},
			{", %d fuel for a pod", ref.Limits.FuelPerCycle, ref.Limits.FuelPerCycle == 0},
			{" and %d for each node", ref.Limits.FuelPerCycleRow, ref.Limits.FuelPerCycleRow == 0},
			{", %d for starts", ref.Limits.FuelRestarts, ref.Limits.FuelRestarts == 0},
			{", %d bytes", ref.Limits.MemoryTotal, ref.Limits.MemoryTotal == 0},
			{", attempts %+v", ref.Attempts, ref.Attempts == module.Attempts{}},
			{", at most of priority %d", ptr.Deref(ref.MaxPriority, 0), ref.MaxPriority == nil},
			{", configured as %s", p.Module.Config, string(p.Module.Config) == "{}"},
		} {
			if !s.zero {
				fmt.Fprintf(&b, s.format, s.value)
			}
		}
		b.WriteByte('\n')
	}
	for _, g := range r.Grants {
		fmt.Fprintf(&b, "PluginGrant %s: ", g.Object)
		if g.Refusal != nil {
			fmt.Fprintf(&b, "%s: %s\n", g.Refusal.Reason, g.Refusal.Message)
			continue
		}
		fmt.Fprintf(&b, "admits %d\n", g.Plugins)
	}
	return b.String()
}
