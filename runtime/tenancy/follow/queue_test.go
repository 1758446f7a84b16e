package follow

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// TestManyNamespaces: what a plugin costs does not depend on how many plugins other namespaces have.
func TestManyNamespaces(t *testing.T) {
	const plugins, most = 4000, 4 << 10 // bytes for each
	q := newQueue(clock.NewStep(time.Unix(0, 0)), true, nil, func() {}, func(context.Context, int, bool) (int, error) { return 0, nil })
	compared := 0
	q.adopt = func(context.Context, int, int, int) (int, bool) { compared++; return 0, false }
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range plugins {
		namespace := fmt.Sprint("n", i)
		_, _, _ = q.get(t.Context(), owner{"all", namespace}, namespace+"/p", i)
	}
	q.wait()
	runtime.ReadMemStats(&after)
	if got := (after.TotalAlloc - before.TotalAlloc) / plugins; got > most {
		t.Errorf("%d bytes are allocated for each of %d plugins", got, plugins)
	}
	if compared > 0 {
		t.Errorf("%d plugins of other namespaces were considered", compared)
	}
}

// TestPanicIsTold: a panic while a module is fetched or compiled is that plugin's failure, and is counted.
func TestPanicIsTold(t *testing.T) {
	var told []*plugin.Panic
	q := newQueue(clock.NewStep(time.Unix(0, 0)), false, func(p *plugin.Panic) { told = append(told, p) }, func() {},
		func(context.Context, int, bool) (int, error) { panic("injected") })
	_, _, _ = q.get(t.Context(), owner{}, "p", 1)
	q.wait()
	if _, ended, err := q.get(t.Context(), owner{}, "p", 1); !ended || err == nil || len(told) != 1 || told[0].Value != "injected" {
		t.Errorf("ended %v, error %v, told of %v", ended, err, told)
	}
}

// begun is a queue whose work never ends, and the keys whose work has begun.
type begun struct {
	*queue[module.Reference, int]
	names chan string
	end   chan struct{}
}

func newBegun(t *testing.T) *begun {
	t.Helper()
	b := &begun{names: make(chan string, 1000), end: make(chan struct{})}
	b.queue = newQueue(clock.NewStep(time.Unix(0, 0)), true, nil, func() {}, func(_ context.Context, ref module.Reference, _ bool) (int, error) {
		b.names <- ref.Name
		<-b.end
		return 0, nil
	})
	b.uses = servers
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		b.mu.Lock()
		for _, l := range b.mu.waiting.lanes {
			for _, jobs := range l.jobs {
				for _, j := range jobs {
					j.dropped = true
				}
			}
		}
		b.mu.Unlock()
		b.resume(ctx)
		close(b.end)
		b.wait()
	})
	return b
}

// ask has a module of an image fetched for a plugin of a namespace.
func (b *begun) ask(t *testing.T, grant, namespace, image string) {
	t.Helper()
	name := namespace + "/" + image
	_, _, _ = b.get(t.Context(), owner{grant, namespace}, name, module.Reference{Name: name, Tenant: namespace, Image: image})
}

// working is how many workers are at work.
func (b *begun) working() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.running
}

// TestServerThatNeverAnswers: 60 plugins on a registry that never answers keep two workers, in however many namespaces they are, and
// the next plugin on another registry is fetched at once.
func TestServerThatNeverAnswers(t *testing.T) {
	b := newBegun(t)
	for i := range 60 {
		b.ask(t, "all", fmt.Sprint("loud-", i), "hangs.example/team/p:1")
	}
	if n := b.working(); n != 2 {
		t.Errorf("%d workers are at a registry that never answers", n)
	}
	b.ask(t, "all", "quiet", "answers.example/team/p:1")
	if n := b.working(); n != 3 {
		t.Errorf("%d workers are at work, with another registry", n)
	}
	for range 3 {
		if name := <-b.names; name == "quiet/answers.example/team/p:1" {
			return
		}
	}
	t.Error("the plugin on another registry waits")
}

// TestManyOfAServer: what waits for a server is not looked at for each plugin that comes.
func TestManyOfAServer(t *testing.T) {
	const plugins = 1000
	b := newBegun(t)
	for i := range plugins {
		b.ask(t, fmt.Sprint("grant-", i), fmt.Sprint("n-", i), "hangs.example/team/p:1")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.running != serverWorkers || b.mu.waiting.seen > 2*plugins {
		t.Errorf("%d workers are at work, and looked at %d lanes for %d plugins", b.mu.running, b.mu.waiting.seen, plugins)
	}
}

// TestGrantsInTurn: the plugins of one grant leave workers to those of others, also if each is on a server of its own.
func TestGrantsInTurn(t *testing.T) {
	b := newBegun(t)
	for i := range 60 {
		b.ask(t, "loud", fmt.Sprint("loud-", i), fmt.Sprintf("hangs-%d.example/team/p:1", i))
	}
	if n := b.working(); n != grantWorkers {
		t.Errorf("%d workers are at work for one grant", n)
	}
	b.ask(t, "quiet", "quiet", "answers.example/team/p:1")
	b.ask(t, "", "", "platform.example/team/p:1")
	if n := b.working(); n != workers {
		t.Errorf("%d workers are at work", n)
	}
}

// TestTurns: grants have their turns, and of a grant's work the smallest comes first.
func TestTurns(t *testing.T) {
	var order []int
	q := newQueue(clock.NewStep(time.Unix(0, 0)), true, nil, func() {}, func(_ context.Context, key int, _ bool) (int, error) {
		order = append(order, key)
		return 0, nil
	})
	q.size = func(key int) int { return key }
	q.uses = func(int) []use { return []use{{"one", 1}} }
	q.mu.used["one"] = 1 // until all have come
	for _, key := range []int{12, 11, 10, 3} {
		_, _, _ = q.get(t.Context(), owner{"a", fmt.Sprint("a-", key)}, "p", key)
	}
	_, _, _ = q.get(t.Context(), owner{"b", "b"}, "p", 20)
	delete(q.mu.used, "one")
	q.resume(t.Context())
	q.wait()
	if want := []int{3, 20, 10, 11, 12}; !slices.Equal(order, want) {
		t.Errorf("worked in the order %d, want %d", order, want)
	}
}

// TestLargeModules: of large modules one is compiled at a time, and a small one waits for none of them.
func TestLargeModules(t *testing.T) {
	w := newWorld(t)
	names, end := make(chan string, 6), make(chan struct{})
	w.compile = func(_ context.Context, name string) error {
		names <- name
		<-end
		return nil
	}
	ask := func(namespace string, size int) {
		l := &module.Loaded{Name: namespace + "/p", Digest: digestOf(namespace), Bytes: make([]byte, size)}
		_, _, _ = w.follower.compile.get(t.Context(), owner{"all", namespace}, l.Name, code{loaded: l})
	}
	for i := range 5 {
		ask(fmt.Sprint("large-", i), 12<<20)
	}
	ask("small", 1<<20)
	first := []string{<-names, <-names}
	if slices.Sort(first); !slices.Equal(first, []string{"large-0/p", "small/p"}) || len(names) > 0 {
		t.Errorf("compiles %q, and %d more", first, len(names))
	}
	close(end)
	w.follower.compile.wait()
	if len(names) != 4 {
		t.Errorf("%d more were compiled", len(names))
	}
}

// TestServerNames: a server is the same one however it is written.
func TestServerNames(t *testing.T) {
	want := servers(module.Reference{Image: "hangs.example/p:1"})
	for _, ref := range []module.Reference{
		{Image: "Hangs.Example/p:1"}, {Image: "hangs.example:443/p:1"}, {URL: "https://HANGS.example/p.wasm"},
		{URL: "https://hangs.example:443/p.wasm"}, {URL: "http://hangs.example:80/p.wasm"}, {Image: "hangs.example./p:1"},
		{Image: "hangs.example.:443/p:1"}, {URL: "https://hangs.example./p.wasm"}, {URL: "http://hangs.example.:80/p.wasm"},
	} {
		if got := servers(ref); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", ref.Source(), got, want)
		}
	}
	if other := servers(module.Reference{URL: "https://hangs.example:80/p.wasm"}); slices.Equal(other, want) {
		t.Error("another port is another server")
	}
}

// TestOtherGrant: work that is done again is that of the grant which a plugin has then.
func TestOtherGrant(t *testing.T) {
	c := clock.NewStep(time.Unix(0, 0))
	q := newQueue(c, false, nil, func() {}, func(context.Context, int, bool) (int, error) { return 0, errors.New("no answer") })
	_, _, _ = q.get(t.Context(), owner{"before", "n"}, "p", 1)
	q.wait()
	c.Advance(lastRepeat)
	q.mu.used["the grant after"] = grantWorkers // they are at work
	_, _, _ = q.get(t.Context(), owner{"after", "n"}, "p", 1)
	q.wait()
	if j := q.mu.jobs["n"]["p"]; j.grant != "after" || j.times != 1 {
		t.Errorf("the work was done %d times, at last for the grant %q", j.times, j.grant)
	}
}
