package kube_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	componentconfigv1alpha1 "k8s.io/component-base/config/v1alpha1"

	"github.com/berth-scheduler/berth/internal/eventually"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/kube"
)

// pluginServer serves berth.dev as an API server does.
type pluginServer struct {
	mu      sync.Mutex
	served  bool
	status  int // of lists and watches; 0 is OK
	objects []*v1alpha1.TenantPlugin
	odd     []json.RawMessage // more of them
	watches []chan *v1alpha1.TenantPlugin
	patches []string
}

const pluginsPath = "/apis/berth.dev/v1alpha1"

func (s *pluginServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	served, status := s.served, s.status
	s.mu.Unlock()
	say := func(body any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(body)
	}
	fail := func(code int, reason metav1.StatusReason) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: int32(code), Reason: reason})
	}
	plural := strings.TrimPrefix(r.URL.Path, pluginsPath+"/")
	if r.Method == http.MethodGet { // of a namespace
		plural = strings.TrimPrefix(plural, "namespaces/a/")
	}
	switch {
	case !served:
		fail(http.StatusNotFound, metav1.StatusReasonNotFound)
	case r.URL.Path == pluginsPath:
		list := metav1.APIResourceList{GroupVersion: "berth.dev/v1alpha1"}
		for _, name := range []string{"schedulerplugins", "plugingrants", "tenantplugins", "tenantplugins/status"} {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: name})
		}
		say(list)
	case r.Method == http.MethodPatch:
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.patches = append(s.patches, plural+" "+string(body))
		s.mu.Unlock()
		say(&v1alpha1.TenantPlugin{TypeMeta: metav1.TypeMeta{APIVersion: "berth.dev/v1alpha1", Kind: "TenantPlugin"}})
	case status == http.StatusForbidden:
		fail(status, metav1.StatusReasonForbidden)
	case r.URL.Query().Get("sendInitialEvents") == "true": // an older server
		fail(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
	case r.URL.Query().Get("watch") != "":
		s.watch(w, r, plural)
	default:
		kind := map[string]string{"schedulerplugins": "SchedulerPlugin", "plugingrants": "PluginGrant", "tenantplugins": "TenantPlugin"}[plural]
		list := map[string]any{"apiVersion": "berth.dev/v1alpha1", "kind": kind + "List", "metadata": map[string]any{"resourceVersion": "1"}, "items": []any{}}
		if plural == "tenantplugins" {
			s.mu.Lock()
			items := []any{}
			for _, o := range s.objects {
				if name, one := strings.CutPrefix(r.URL.Query().Get("fieldSelector"), "metadata.name="); !one || name == o.Name {
					items = append(items, o)
				}
			}
			for _, o := range s.odd {
				items = append(items, o)
			}
			list["items"] = items
			s.mu.Unlock()
		}
		say(list)
	}
}

func (s *pluginServer) watch(w http.ResponseWriter, r *http.Request, plural string) {
	events := make(chan *v1alpha1.TenantPlugin, 10)
	if plural == "tenantplugins" {
		s.mu.Lock()
		s.watches = append(s.watches, events)
		s.mu.Unlock()
	}
	w.Header().Set("Content-Type", "application/json")
	for {
		w.(http.Flusher).Flush()
		select {
		case o := <-events:
			_ = json.NewEncoder(w).Encode(map[string]any{"type": "MODIFIED", "object": o})
		case <-r.Context().Done():
			return
		}
	}
}

func tenantPlugin(name string, generation int64) *v1alpha1.TenantPlugin {
	return &v1alpha1.TenantPlugin{
		TypeMeta:   metav1.TypeMeta{APIVersion: "berth.dev/v1alpha1", Kind: "TenantPlugin"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, UID: types.UID(name), ResourceVersion: fmt.Sprint(generation), Generation: generation},
		Spec:       v1alpha1.TenantPluginSpec{Module: v1alpha1.TenantModule{Image: "registry.test/guest:1"}},
	}
}

// withPlugins starts a cluster whose objects of berth.dev are at a server. It has the namespace a.
func withPlugins(t *testing.T, s *pluginServer) (*kube.Cluster, *fake.Clientset, *ear) {
	t.Helper()
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	connection := kube.Connection{Master: web.URL}
	clients, err := connection.Connect(t.Context(), componentconfigv1alpha1.LeaderElectionConfiguration{LeaderElect: new(bool)})
	if err != nil {
		t.Fatal(err)
	}
	objects := fake.NewClientset(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "1", Labels: map[string]string{"team": "yes"}}})
	objects.Resources = []*metav1.APIResourceList{{GroupVersion: "events.k8s.io/v1"}}
	c, e := clusterWith(t, objects, clients.Plugins)
	return c, objects, e
}

// send has the watch tell of an object, and returns when the cluster knows it.
func (s *pluginServer) send(t *testing.T, c *kube.Cluster, o *v1alpha1.TenantPlugin) {
	t.Helper()
	eventually.Holds(t, "it watches", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.watches) > 0 })
	s.watches[0] <- o
	<-c.PluginsChanged()
}

func clusterWith(t *testing.T, objects *fake.Clientset, plugins rest.Interface) (*kube.Cluster, *ear) {
	t.Helper()
	c, err := kube.New(kube.Config{Profiles: []string{"default-scheduler"}}, kube.Deps{Client: objects, Plugins: plugins, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close(context.Background())
	})
	e := newEar(c)
	if err := c.Start(e); err != nil {
		t.Fatal(err)
	}
	return c, e
}

func synced(t *testing.T, c *kube.Cluster) {
	t.Helper()
	if err := c.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestPluginObjects: objects are listed before the caches count as synced. Changes are told,
// those of status are not.
func TestPluginObjects(t *testing.T) {
	s := &pluginServer{served: true, objects: []*v1alpha1.TenantPlugin{tenantPlugin("pool", 1)}}
	c, _, _ := withPlugins(t, s)
	synced(t, c)
	if o := c.PluginObjects(); len(o.TenantPlugins) != 1 || o.TenantPlugins[0].Spec.Module.Image != "registry.test/guest:1" {
		t.Fatalf("%+v", o)
	}
	<-c.PluginsChanged()
	eventually.Holds(t, "it watches", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.watches) > 0 })
	for len(c.PluginsChanged()) > 0 {
		<-c.PluginsChanged()
	}
	written := tenantPlugin("pool", 1)
	written.ResourceVersion, written.Status.Version = "7", "1.0.0"
	s.watches[0] <- written
	eventually.Holds(t, "the status arrives", func() bool { return c.PluginObjects().TenantPlugins[0].Status.Version != "" })
	if len(c.PluginsChanged()) > 0 {
		t.Error("a change of status is told")
	}
	changed := tenantPlugin("pool", 2)
	changed.ResourceVersion = "8"
	s.send(t, c, changed)
	if err := c.WritePluginStatus(t.Context(), v1alpha1.KindTenantPlugin, types.NamespacedName{Namespace: "a", Name: "pool"}, "pool", "8", v1alpha1.PluginStatus{Version: "2"}); err != nil {
		t.Fatal(err)
	}
	want := `namespaces/a/tenantplugins/pool/status [{"op":"test","path":"/metadata/uid","value":"pool"},{"op":"test","path":"/metadata/resourceVersion","value":"8"},{"op":"add","path":"/status","value":{"version":"2"}}]`
	if !slices.Equal(s.patches, []string{want}) {
		t.Errorf("patches %q, want %q", s.patches, want)
	}
}

// TestUnreadableObjects: an object that does not fit its kind keeps no other from being read. Of its
// spec, what says which pods wait is read.
func TestUnreadableObjects(t *testing.T) {
	odd := func(name, rest string) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"apiVersion":"berth.dev/v1alpha1","kind":"TenantPlugin","metadata":{"namespace":"a","name":%q,"uid":%q,"resourceVersion":"1"},%s}`, name, name, rest))
	}
	s := &pluginServer{served: true, objects: []*v1alpha1.TenantPlugin{tenantPlugin("pool", 1)}, odd: []json.RawMessage{
		odd("weight", `"spec":{"module":{"image":"r.test/p:1"},"weight":"heavy","failurePolicy":"Ignore"}`),
		odd("future", `"spec":{"module":{"image":"r.test/p:1"},"later":{"a":[1]}}`),
		odd("edited", `"spec":{"module":{"image":"r.test/p:1"}},"status":{"rollout":{"canary":{"step":1e30}}}`),
		odd("empty", `"spec":null`),
	}}
	c, _, _ := withPlugins(t, s)
	synced(t, c)
	o := c.PluginObjects()
	var got []string
	for _, p := range o.TenantPlugins {
		text := fmt.Sprintf("%s %s %s", p.Name, p.Spec.Module.Image, p.Spec.FailurePolicy)
		for _, err := range []error{o.BadSpec[p.UID], o.BadStatus[p.UID]} {
			if err != nil {
				text += " " + strings.SplitN(err.Error(), ":", 2)[0]
			}
		}
		got = append(got, strings.TrimSpace(text))
	}
	slices.Sort(got)
	want := []string{"edited r.test/p:1  status", "empty", "future r.test/p:1", "pool registry.test/guest:1", "weight  Ignore spec"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestMetadataOfPlugins: labels, annotations and managers of an object take no memory once it was read.
func TestMetadataOfPlugins(t *testing.T) {
	const objects, each = 100, 16 << 10 // bytes that an object may take
	s, text := &pluginServer{served: true}, strings.Repeat("x", 250<<10)
	for i := range objects {
		p := tenantPlugin(fmt.Sprint("pool-", i), 1)
		p.Annotations, p.Finalizers = map[string]string{"a": text}, []string{text}
		p.Labels, p.ManagedFields = map[string]string{"l": text}, []metav1.ManagedFieldsEntry{{Manager: text}}
		s.objects = append(s.objects, p)
	}
	kept(t, s, objects*each)
}

// kept starts a cluster whose objects may take this many bytes once they were read.
func kept(t *testing.T, s *pluginServer, most int64) *kube.Cluster {
	t.Helper()
	live := func() int64 {
		var m runtime.MemStats
		for range 3 { // buffers in pools outlive one collection
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := live()
	c, _, _ := withPlugins(t, s)
	synced(t, c)
	grown := live() - before
	if n := len(c.PluginObjects().TenantPlugins); n != len(s.objects) {
		t.Fatalf("%d objects", n)
	}
	if grown > most+(4<<20) {
		t.Errorf("%d objects take %d bytes", len(s.objects), grown)
	}
	return c
}

// TestConfigsOfPlugins: large configurations take no memory once they were read, and can be read again, unless they have changed.
func TestConfigsOfPlugins(t *testing.T) {
	const objects, each = 400, 8 << 10 // bytes that an object may take
	s := &pluginServer{served: true}
	for i := range objects {
		p := tenantPlugin(fmt.Sprint("pool-", i), 1)
		text := fmt.Appendf(nil, `{"n":%d,"x":%q}`, i, strings.Repeat("x", 250<<10))
		p.Spec.Config = &v1alpha1.Config{RawExtension: apiruntime.RawExtension{Raw: text}}
		s.objects = append(s.objects, p)
	}
	c := kept(t, s, objects*each)
	for _, p := range c.PluginObjects().TenantPlugins[:3] {
		i := slices.IndexFunc(s.objects, func(o *v1alpha1.TenantPlugin) bool { return o.Name == p.Name })
		at, want := s.objects[i], s.objects[i].Spec.Config
		if p.Spec.Config.Size() != len(want.Raw) {
			t.Errorf("%s: a configuration of %d bytes, not %d", p.Name, p.Spec.Config.Size(), len(want.Raw))
		}
		again := func(change func(o *v1alpha1.TenantPlugin)) (*v1alpha1.Config, error) {
			s.mu.Lock()
			s.objects[i] = at.DeepCopy()
			change(s.objects[i])
			s.mu.Unlock()
			return c.PluginConfig(t.Context(), p)
		}
		for _, change := range []func(*v1alpha1.TenantPlugin){
			func(*v1alpha1.TenantPlugin) {},
			func(o *v1alpha1.TenantPlugin) { o.Generation++ }, // of another field
		} {
			if got, err := again(change); err != nil || !bytes.Equal(got.Raw, want.Raw) {
				t.Errorf("%s: %v, %d bytes", p.Name, err, got.Size())
			}
		}
		for _, change := range []func(*v1alpha1.TenantPlugin){
			func(o *v1alpha1.TenantPlugin) { o.Generation, o.Spec.Config.Raw = 2, []byte(`{}`) },
			func(o *v1alpha1.TenantPlugin) { o.Generation, o.Spec.Config = 2, nil },
			func(o *v1alpha1.TenantPlugin) { o.UID = "another" },
			func(o *v1alpha1.TenantPlugin) { o.Name = "renamed" },
		} {
			if got, err := again(change); err == nil {
				t.Errorf("%s has changed, and its configuration of %d bytes is read", p.Name, got.Size())
			}
		}
	}
}

// TestRestPluginsNotServed: without the kinds, or without the right to list them, the scheduler goes
// on. It asks again, and finds them when they are there.
func TestRestPluginsNotServed(t *testing.T) {
	for _, s := range []*pluginServer{{}, {served: true, status: http.StatusForbidden}} {
		s.objects = []*v1alpha1.TenantPlugin{tenantPlugin("pool", 1)}
		c, _, _ := withPlugins(t, s)
		synced(t, c)
		if o := c.PluginObjects(); len(o.TenantPlugins) > 0 {
			t.Fatalf("%+v", o)
		}
		s.mu.Lock()
		s.served, s.status = true, 0
		s.mu.Unlock()
		eventually.Holds(t, "the kinds are found", func() bool { return len(c.PluginObjects().TenantPlugins) > 0 })
	}
}

// TestPluginsUnknown: while the server does not answer, it is unknown whether plugins are missing.
func TestPluginsUnknown(t *testing.T) {
	refusing := httptest.NewServer(http.NotFoundHandler())
	refusing.Close()
	connection := kube.Connection{Master: refusing.URL}
	clients, err := connection.Connect(t.Context(), componentconfigv1alpha1.LeaderElectionConfiguration{LeaderElect: new(bool)})
	if err != nil {
		t.Fatal(err)
	}
	objects := fake.NewClientset()
	objects.Resources = []*metav1.APIResourceList{{GroupVersion: "events.k8s.io/v1"}}
	c, _ := clusterWith(t, objects, clients.Plugins)
	eventually.Holds(t, "the others are synced", func() bool {
		err := c.Synced()
		return err != nil && strings.Contains(err.Error(), "berth.dev") && !strings.Contains(err.Error(), "not listed yet")
	})
}
