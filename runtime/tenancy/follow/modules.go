package follow

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/market/oci"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/tenancy"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// code is a module to be compiled.
type code struct {
	loaded *module.Loaded
	limits module.Limits
}

// newQueues makes the queues that read configurations, and fetch and compile modules.
func (f *Follower) newQueues() {
	done := func() { signal(f.ready) }
	fetch := func(ctx context.Context, ref module.Reference, again bool) (*module.Loaded, error) {
		ref.Fresh = again
		loaded, err := f.deps.Modules.Fetch(ctx, ref)
		if err != nil {
			return nil, err
		}
		return f.shared.share(loaded), nil
	}
	read := func(ctx context.Context, p *v1alpha1.TenantPlugin, _ bool) (*v1alpha1.Config, error) {
		return f.deps.Source.PluginConfig(ctx, p)
	}
	f.configs = newQueue(f.deps.Clock, true, f.deps.Panicked, done, read)
	f.configs.adopt = func(
		_ context.Context, from *v1alpha1.TenantPlugin, c *v1alpha1.Config, p *v1alpha1.TenantPlugin,
	) (*v1alpha1.Config, bool) {
		return c, sameConfig(from, p)
	}
	f.fetch = newQueue(f.deps.Clock, true, f.deps.Panicked, done, fetch)
	f.fetch.adopt, f.fetch.uses = renamed, servers
	compile := func(ctx context.Context, c code, _ bool) (func(), error) {
		return f.deps.Modules.Compile(ctx, &assembly.Module{Loaded: c.loaded, Reference: module.Reference{Limits: c.limits}})
	}
	f.compile = newQueue(f.deps.Clock, false, f.deps.Panicked, done, compile)
	f.compile.size = func(c code) int { return len(c.loaded.Bytes) }
	f.compile.uses = func(c code) []use {
		if !assembly.IsSmall(c.loaded.Bytes) {
			return []use{{"the turn of large modules", 1}}
		}
		return nil
	}
	f.compile.free = func(release func()) { release() }
	f.compile.adopt = func(ctx context.Context, from code, _ func(), c code) (func(), bool) {
		if from.loaded.Digest != c.loaded.Digest || from.limits != c.limits {
			return nil, false
		}
		release, err := compile(ctx, c, false) // it is compiled, which counts its users
		return release, err == nil
	}
}

// renamed makes a module of a reference from that of another one, if they differ in nothing but the name, whether the
// module is tried, and which digests they name. A tag without a digest is read again, and so is one that was not read.
func renamed(_ context.Context, from module.Reference, loaded *module.Loaded, ref module.Reference) (*module.Loaded, bool) {
	image, was := v1alpha1.Image(ref.Image), v1alpha1.Image(from.Image)
	pinned := image != image.Unpinned()
	switch {
	case pinned && (image.Unpinned() != was.Unpinned() || image != image.Pinned(v1alpha1.Digest(loaded.Image))),
		!pinned && (image != was || ref.Digest == ""), ref.Digest != "" && ref.Digest != loaded.Digest:
		return nil, false
	}
	from.Name, from.Use, from.Digest, from.Image = ref.Name, ref.Use, ref.Digest, ref.Image
	if !reflect.DeepEqual(from, ref) {
		return nil, false
	}
	out := *loaded
	out.Name = ref.Name
	return &out, true
}

// serverWorkers is how many modules are fetched from a server at once: one that does not answer keeps no more workers.
const serverWorkers = 2

// servers names the server that a module is fetched from, in one way however it is written.
func servers(ref module.Reference) []use {
	host := ""
	if at, err := oci.ParseReference(ref.Image); err == nil {
		host = hostOf(at.Registry, ":443")
	}
	if u, err := url.Parse(ref.URL); err == nil && ref.URL != "" {
		host = hostOf(u.Host, map[string]string{"https": ":443", "http": ":80"}[u.Scheme])
	}
	if host == "" {
		return nil
	}
	return []use{{"the server " + host, serverWorkers}}
}

// hostOf returns a host without its default port, and without the dot that ends an absolute name: a.example.:443 is a.example.
func hostOf(host, defaultPort string) string {
	name, port, found := strings.Cut(strings.ToLower(strings.TrimSuffix(host, defaultPort)), ":")
	if found && !strings.Contains(port, ":") {
		port = ":" + port
	} else if found { // an address of IPv6
		return name + ":" + port
	}
	return strings.TrimSuffix(name, ".") + port
}

// load is tenancy.Config.Load.
func (f *Follower) load(ctx context.Context, ref module.Reference, grant string) (*module.Loaded, error) {
	loaded, ended, err := f.fetch.get(ctx, owner{grant, ref.Tenant}, ref.Name, ref)
	if !ended {
		return nil, fmt.Errorf("%s: %w", ref.Source(), tenancy.ErrPending)
	}
	return loaded, err
}

// readConfig is tenancy.Config.Read.
func (f *Follower) readConfig(ctx context.Context, p *v1alpha1.TenantPlugin, plugin, grant string) (*v1alpha1.Config, error) {
	c, ended, err := f.configs.get(ctx, owner{grant, p.Namespace}, plugin, omitted(p))
	if !ended {
		err = tenancy.ErrPending
	}
	return c, err
}

func sameConfig(a, b *v1alpha1.TenantPlugin) bool {
	return reflect.DeepEqual(a.Spec.Config, b.Spec.Config)
}

// omitted is what PluginConfig needs of an object.
func omitted(p *v1alpha1.TenantPlugin) *v1alpha1.TenantPlugin {
	out := &v1alpha1.TenantPlugin{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, UID: p.UID, Generation: p.Generation}}
	out.Spec.Config = p.Spec.Config
	return out
}

// compiled lets a plugin wait until its module is compiled. It returns why that cannot be done. A host that is too busy to compile it
// refuses nothing: the plugin goes on waiting, and the queue tries again.
func (f *Follower) compiled(ctx context.Context, grant string, x *assembly.Attached) error {
	if x.Module == nil {
		return nil
	}
	ref := &x.Module.Reference
	_, ended, err := f.compile.get(ctx, owner{grant, ref.Tenant}, x.Name, code{loaded: x.Module.Loaded, limits: ref.Limits})
	busy := errors.As(err, new(*sandbox.BusyError))
	switch {
	case err != nil && !busy:
		x.Module, x.NotReady = nil, assembly.Refused
	case !ended || busy:
		x.Module, x.NotReady = nil, Compiling
	}
	return err
}
