package follow

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/berth-scheduler/berth/internal/eventually"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/module"
)

// TestQuietTenant: a tenant's new plugin runs while 60 plugins of others are on a registry that never answers, and five large modules
// of others never finish compiling: it waits for none of them.
func TestQuietTenant(t *testing.T) {
	w := newWorld(t)
	w.start()
	w.grant(1)
	w.mu.objects.PluginGrants[0].Spec.Modules[0].Repositories = []v1alpha1.Repository{"registry.test/*", "hangs.test/*"}
	end := make(chan struct{})
	t.Cleanup(func() { close(end) })
	var hanging, large atomic.Int32
	w.fetch = func(_ context.Context, ref module.Reference) error {
		if strings.HasPrefix(ref.Name, "loud-") {
			hanging.Add(1)
			<-end
		}
		return nil
	}
	w.size = func(ref module.Reference) int {
		if strings.HasPrefix(ref.Name, "large-") {
			return 12 << 20
		}
		return 100 << 10
	}
	w.compile = func(_ context.Context, name string) error {
		if strings.HasPrefix(name, "large-") {
			large.Add(1)
			<-end
		}
		return nil
	}
	for i := range 60 {
		w.apply(fmt.Sprint("loud-", i), "p", "1")
		w.mu.objects.TenantPlugins[i].Spec.Module.Image = "hangs.test/guest:1"
	}
	for i := range 5 {
		w.apply(fmt.Sprint("large-", i), "p", fmt.Sprint(2+i))
	}
	eventually.Holds(t, "the others are at work", func() bool {
		_ = w.follower.Sync(t.Context())
		return hanging.Load() == serverWorkers && large.Load() == 1
	})
	w.apply("quiet", "p", "1")
	eventually.Holds(t, "the new plugin runs", func() bool {
		_ = w.follower.Sync(t.Context())
		return w.now()["quiet/p"] == "sha256:1"
	})
	if hanging.Load() != serverWorkers || large.Load() != 1 {
		t.Errorf("%d plugins are at the registry that never answers, %d large modules at the compiler", hanging.Load(), large.Load())
	}
}
