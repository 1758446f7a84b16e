package follow

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
)

// flooded adds 400 objects of a namespace with configurations of 250 KiB, which the source omits, and returns how many times each was
// read.
func flooded(w *world, text func(p *v1alpha1.TenantPlugin) string) (reads map[string]int) {
	reads = map[string]int{}
	full := func(p *v1alpha1.TenantPlugin) *v1alpha1.Config {
		return &v1alpha1.Config{RawExtension: runtime.RawExtension{Raw: []byte(text(p))}}
	}
	w.config = func(p *v1alpha1.TenantPlugin) (*v1alpha1.Config, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		reads[p.Name]++
		return full(p), nil
	}
	for i := range 400 {
		w.apply("loud", fmt.Sprintf("p%03d", i), "1")
		p := w.mu.objects.TenantPlugins[i]
		p.Spec.Config = full(p)
		p.Spec.Config.Omit(4 << 10)
	}
	return reads
}

// held returns the configurations that the follower has read and keeps, and their bytes.
func (w *world) held() (n, bytes int) {
	w.follower.configs.mu.Lock()
	defer w.follower.configs.mu.Unlock()
	for _, jobs := range w.follower.configs.mu.jobs {
		for _, j := range jobs {
			n++
			bytes += j.result.Size()
		}
	}
	return n, bytes
}

func configOf(p *v1alpha1.TenantPlugin) string {
	return fmt.Sprintf(`{"name":%q,"x":%q}`, p.Name, strings.Repeat("x", 250<<10))
}

// TestOmittedConfigs: of 400 objects, the configurations of those are read and kept that may run: once for each, whatever else changes,
// and as grant and quota allow.
func TestOmittedConfigs(t *testing.T) {
	w := newWorld(t)
	w.start()
	reads := flooded(w, configOf)
	expect := func(when string, want ...string) {
		t.Helper()
		w.sync()
		n, bytes := w.held()
		if n != len(want) || bytes > len(want)*(251<<10) {
			t.Errorf("%s: %d configurations of %d bytes are kept, not %d", when, n, bytes, len(want))
		}
		all := 0
		for _, n := range reads {
			all += n
		}
		for _, name := range want {
			if w.now()["loud/"+name] != "sha256:1" || reads[name] != 1 {
				t.Errorf("%s: %s is %s, read %d times", when, name, w.now()["loud/"+name], reads[name])
			}
		}
		for _, x := range w.last() {
			name := strings.TrimPrefix(x.Name, "loud/")
			if x.Module != nil && string(x.Module.Reference.Config) != configOf(&v1alpha1.TenantPlugin{ObjectMeta: metav1.ObjectMeta{Name: name}}) {
				t.Errorf("%s: %s has another configuration, of %d bytes", when, x.Name, len(x.Module.Reference.Config))
			}
		}
		if all != len(want) {
			t.Errorf("%s: %d reads, not %d", when, all, len(want))
		}
	}
	expect("without a grant")
	w.grant(1)
	expect("a grant of one", "p000")
	w.mu.objects.TenantPlugins[0] = w.mu.objects.TenantPlugins[0].DeepCopy()
	w.mu.objects.TenantPlugins[0].Generation++
	expect("another generation", "p000")
	w.report()
	if s := w.mu.objects.TenantPlugins[0].Status.Rollout; s == nil || s.Stable == nil || len(s.Stable.Config.Raw) < 250<<10 {
		t.Errorf("status has %+v", s)
	}
	w.grant(3)
	expect("a grant of three", "p000", "p001", "p002")
	w.mu.objects.TenantPlugins = w.mu.objects.TenantPlugins[2:]
	clear(reads)
	reads["p002"] = 1
	expect("two are gone", "p002", "p003", "p004")
	w.mu.objects.PluginGrants = nil
	clear(reads)
	expect("no grant")
}

// TestOmittedAndWrong: no more objects are read than are tried if their configurations are wrong or cannot be read.
func TestOmittedAndWrong(t *testing.T) {
	for name, mode := range map[string]v1alpha1.Mode{"enforced": "", "disabled": v1alpha1.ModeDisabled} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.start()
			reads := flooded(w, func(p *v1alpha1.TenantPlugin) string { return "{" + strings.Repeat(" ", 250<<10) + p.Name })
			for _, p := range w.mu.objects.TenantPlugins {
				p.Spec.Mode = mode
			}
			w.grant(1)
			for range 60 {
				w.sync()
				w.clock.Advance(changePause)
			}
			if n, _ := w.held(); len(reads) > 1+32 || n > 1+32 {
				t.Errorf("%d of 400 are read, and %d kept", len(reads), n)
			} else if n == 0 {
				t.Error("nothing was read")
			}
		})
	}
	w := newWorld(t)
	w.start()
	reads := flooded(w, configOf)
	full := w.config
	w.config = func(*v1alpha1.TenantPlugin) (*v1alpha1.Config, error) { return nil, errors.New("no answer") }
	w.grant(1)
	w.sync()
	if got := w.now()["loud/p000"]; got != "Fetching" {
		t.Errorf("the plugin is %q while its configuration cannot be read", got)
	}
	w.config = full
	w.clock.Advance(firstRepeat)
	w.sync()
	if got := w.now()["loud/p000"]; got != "sha256:1" || len(reads) != 1 {
		t.Errorf("the plugin is %q, and %d were read", got, len(reads))
	}
}
