package kube

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/state"
)

// refusing is an API server in memory that carries out all writes, or refuses those of a verb and a kind.
type refusing struct {
	requests *Requests // to parse with

	mu       sync.Mutex
	refuses  writeKind
	code     int // 0 for no answer
	refusals int
	notes    []string      // of events
	cut      chan struct{} // closed to end all watches
	expired  string        // a kind whose watches are too old, so that it is listed again
	takes    time.Duration // to answer a write of an event or of a pod's status
	last     map[writeKind]time.Time
}

const refusal = "refused by the test"

// RoundTrip implements http.RoundTripper.
func (s *refusing) RoundTrip(q *http.Request) (*http.Response, error) {
	info := s.requests.parse(q)
	if s.takes > 0 && info != nil && (info.Resource == "events" || info.Subresource == "status") {
		time.Sleep(s.takes)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if info == nil { // discovery
		return respond(q, http.StatusOK, runtime.ContentTypeJSON, []byte(`{"kind":"APIResourceList","resources":[{"name":"resourceclaims"},
			{"name":"resourceslices"},{"name":"deviceclasses"},{"name":"devicetaintrules"}]}`)), nil
	}
	kind := info.Resource
	if info.APIGroup != "" {
		kind += "." + info.APIGroup
	}
	if info.Subresource != "" {
		kind += "/" + info.Subresource
	}
	if s.last != nil {
		s.last[writeKind{info.Verb, kind}] = time.Now()
	}
	var body []byte
	if q.Body != nil {
		body, _ = io.ReadAll(q.Body)
	}
	if s.refuses == (writeKind{info.Verb, kind}) {
		s.refusals++
		if s.code == 0 {
			return nil, errors.New(refusal)
		}
		status := &metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Message: refusal, Code: int32(s.code),
			Reason: map[int]metav1.StatusReason{403: metav1.StatusReasonForbidden, 409: metav1.StatusReasonConflict, 422: metav1.StatusReasonInvalid,
				429: metav1.StatusReasonTooManyRequests, 500: metav1.StatusReasonInternalError}[s.code],
		}
		if strings.Contains(q.Header.Get("Accept"), "protobuf") {
			var out bytes.Buffer
			if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(status, &out); err != nil {
				return nil, err
			}
			return respond(q, s.code, runtime.ContentTypeProtobuf, out.Bytes()), nil
		}
		return respond(q, s.code, runtime.ContentTypeJSON, []byte(runtime.EncodeOrDie(scheme.Codecs.LegacyCodec(metav1.SchemeGroupVersion), status))), nil
	}
	if info.Resource == "events" {
		s.notes = append(s.notes, string(body))
	}
	if info.Verb == "create" && info.Subresource == "" || info.Verb == "update" {
		return respond(q, http.StatusOK, q.Header.Get("Content-Type"), body), nil
	}
	if info.Verb == "watch" {
		if q.URL.Query().Get("sendInitialEvents") != "" { // an older server
			return respond(q, 422, runtime.ContentTypeJSON, []byte(`{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"Invalid","code":422}`)), nil
		}
		if s.expired == kind {
			return respond(q, 410, runtime.ContentTypeJSON, []byte(`{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"Expired","code":410}`)), nil
		}
		out := respond(q, http.StatusOK, runtime.ContentTypeJSON, nil)
		out.Body, out.ContentLength = &silent{s.cut, q.Context()}, -1
		return out, nil
	}
	if info.Verb == "list" {
		return respond(q, http.StatusOK, runtime.ContentTypeJSON, fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q,"metadata":{"resourceVersion":"%d"}}`,
			path.Join(info.APIGroup, info.APIVersion), listKind(info.Resource), time.Now().Unix())), nil
	}
	name := `"metadata":{"namespace":"ns","name":"` + info.Name + `","uid":"` + info.Name + `","resourceVersion":"2"}`
	of := map[string]string{
		"pods": `"apiVersion":"v1","kind":"Pod",`, "resourceclaims": `"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim",`,
		"events": `"apiVersion":"events.k8s.io/v1","kind":"Event",`,
	}[info.Resource]
	if info.Verb == "delete" || info.Subresource == "binding" {
		of, name = `"apiVersion":"v1","kind":"Status",`, `"status":"Success"`
	}
	return respond(q, http.StatusOK, runtime.ContentTypeJSON, []byte("{"+of+name+"}")), nil
}

// silent is the body of a watch without events.
type silent struct {
	cut <-chan struct{}
	ctx context.Context
}

// Read implements io.Reader.
func (b *silent) Read([]byte) (int, error) {
	select {
	case <-b.cut:
		return 0, io.EOF
	case <-b.ctx.Done():
		return 0, b.ctx.Err()
	}
}

// Close implements io.Closer.
func (*silent) Close() error { return nil }

// listKind returns the kind of a list of a resource.
func listKind(resource string) string {
	for kind := range scheme.Scheme.AllKnownTypes() {
		if plural, _ := meta.UnsafeGuessKindToResource(kind); plural.Resource == resource && kind.Version == "v1" {
			return kind.Kind + "List"
		}
	}
	return ""
}

func respond(q *http.Request, code int, contentType string, body []byte) *http.Response {
	return &http.Response{
		StatusCode: code, Status: fmt.Sprint(code, " ", http.StatusText(code)), Request: q, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {contentType}}, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
}

func (s *refusing) set(refuses writeKind, code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuses, s.code = refuses, code
}

func (s *refusing) expire(kind string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expired = kind
}

// endWatches ends those that there are.
func (s *refusing) endWatches() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.cut)
	s.cut = make(chan struct{})
}

// clients returns clients of the server whose requests are observed.
func (s *refusing) clients(t *testing.T) (*kubernetes.Clientset, rest.Interface) {
	t.Helper()
	observed := s.requests.client(&http.Client{Transport: s})
	config := &rest.Config{Host: "http://server/below", QPS: -1}
	plugins, err := newPluginClient(config, observed, readAlone)
	if err != nil {
		t.Fatal(err)
	}
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	client, err := kubernetes.NewForConfigAndClient(config, observed)
	if err != nil {
		t.Fatal(err)
	}
	return client, plugins
}

// deaf is a scheduler that is told of claims.
type deaf struct{ Scheduler }

func (deaf) Written(*resourcev1.ResourceClaim) {}
func (deaf) Activate(...types.UID)             {}

// TestFailingWatches: a kind that cannot be watched is named, whether it can be listed or not, and the replica is not ready if it is
// required. A kind that is listed again and again is not watched by that.
func TestFailingWatches(t *testing.T) {
	c, err := New(Config{Profiles: []string{"default-scheduler"}}, Deps{Client: fake.NewClientset()})
	if err != nil {
		t.Fatal(err)
	}
	kinds := c.Watches()
	c.Close(t.Context())
	for _, kind := range kinds {
		for _, verb := range []string{"watch", "list"} {
			for _, code := range []int{0, 403, 500} {
				t.Run(fmt.Sprintf("%s %s %d", verb, kind.Kind, code), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { testFailingWatch(t, kind, verb, code) })
				})
			}
		}
	}
}

func testFailingWatch(t *testing.T, kind FailingWatch, verb string, code int) {
	var log bytes.Buffer
	requests := newRequests(clock.Real{})
	server := &refusing{requests: requests, cut: make(chan struct{})}
	client, _ := server.clients(t)
	c, err := New(Config{Profiles: []string{"default-scheduler"}},
		Deps{Client: client, Requests: requests, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	if err := c.Start(deaf{}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Minute)
	now := func() FailingWatch {
		for _, w := range c.Watches() {
			if w.Kind == kind.Kind {
				return w
			}
		}
		return FailingWatch{}
	}
	state := func(when string, failing bool, lines, ends int) {
		t.Helper()
		synctest.Wait()
		w, err := now(), c.Unwatched()
		if failing != (w.For >= 30*time.Second) || !failing && w.For != 0 {
			t.Errorf("%s: failing for %v", when, w.For)
		}
		if notReady := failing && kind.Required; notReady != (err != nil) || notReady && !strings.Contains(err.Error(), kind.Kind+": not watched for ") {
			t.Errorf("%s: ready: %v", when, err)
		}
		told := slices.ContainsFunc(c.FailingParts(), func(p Part) bool { return p.Failed && p.Name == "watch of "+kind.Kind })
		if told != failing {
			t.Errorf("%s: an event: %v", when, told)
		}
		if n, m := strings.Count(log.String(), "cannot watch the cluster"), strings.Count(log.String(), "is watched again"); n != lines || m != ends {
			t.Errorf("%s: the log has %d beginnings, want %d, and %d ends, want %d:\n%s", when, n, lines, m, ends, &log)
		}
	}
	state("before", false, 0, 0)
	refuses := writeKind{verb, kind.Kind}
	server.set(refuses, code)
	if verb == "list" { // what ended is listed again
		server.expire(kind.Kind)
	}
	server.endWatches()
	time.Sleep(50 * time.Second)
	state("refused", true, 1, 0)
	server.set(writeKind{}, 0)
	server.expire("")
	time.Sleep(5 * time.Minute)
	state("afterwards", false, 1, 1)
}

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), ResourceVersion: "1"}
}

// allWrites makes a write of each verb and kind about an object. It returns after the last request.
func allWrites(c *Cluster, client kubernetes.Interface) map[writeKind]func(ctx context.Context, name string) {
	const claims, events = "resourceclaims.resource.k8s.io", "events.events.k8s.io"
	pod := func(name string) *state.Pod {
		return state.NewPod(&v1.Pod{ObjectMeta: named(name), Spec: v1.PodSpec{SchedulerName: "default-scheduler"}})
	}
	claim := func(name string) *resourcev1.ResourceClaim {
		return &resourcev1.ResourceClaim{TypeMeta: metav1.TypeMeta{APIVersion: "resource.k8s.io/v1", Kind: "ResourceClaim"}, ObjectMeta: named(name)}
	}
	failed := func(name, message string) {
		c.Failed(scheduler.Failure{Pod: pod(name), Reason: "Unschedulable", Message: message})
	}
	return map[writeKind]func(context.Context, string){
		{"create", "pods/binding"}: func(ctx context.Context, name string) { _ = c.Bind(ctx, objects.Binding{Pod: pod(name), Node: "n"}) },
		{"patch", "pods"}: func(ctx context.Context, name string) {
			_, _ = c.Patch(ctx, pod(name), state.Patch{Annotations: map[string]string{"a": "b"}})
		},
		{"patch", "pods/status"}: func(_ context.Context, name string) { failed(name, "no room") },
		{"delete", "pods"}:       func(ctx context.Context, name string) { _ = c.Evict(ctx, objects.Eviction{Victim: pod(name)}) },
		{"update", "persistentvolumes"}: func(ctx context.Context, name string) {
			_, _ = c.UpdateVolume(ctx, &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}})
		},
		{"update", "persistentvolumeclaims"}: func(ctx context.Context, name string) {
			_, _ = c.UpdateClaim(ctx, &v1.PersistentVolumeClaim{ObjectMeta: named(name)})
		},
		{"create", claims}:             func(ctx context.Context, name string) { _, _ = c.claims.Create(ctx, claim(name)) },
		{"update", claims}:             func(ctx context.Context, name string) { _, _ = c.claims.Update(ctx, claim(name)) },
		{"delete", claims}:             func(_ context.Context, name string) { <-c.claims.Delete(claim(name)) },
		{"update", claims + "/status"}: func(ctx context.Context, name string) { _, _ = c.claims.UpdateStatus(ctx, claim(name)) },
		{"patch", claims + "/status"}:  func(ctx context.Context, name string) { _ = c.claims.release(ctx, claim(name), "pod") },
		{"create", events}:             func(context.Context, string) { c.Scheduled(pod("p"), "n", 0) },
		{"patch", events}: func(_ context.Context, name string) { // the second one of a series
			name += fmt.Sprint(time.Now().Unix()) // a series is repeated after minutes only
			failed(name, "no room")
			failed(name, "no room")
		},
		{"patch", "schedulerplugins.berth.dev/status"}: func(ctx context.Context, name string) {
			_ = c.WritePluginStatus(ctx, "SchedulerPlugin", types.NamespacedName{Name: name}, types.UID(name), "1", map[string]any{})
		},
		{"create", "leases.coordination.k8s.io"}: func(ctx context.Context, name string) {
			lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
			_, _ = client.CoordinationV1().Leases("ns").Create(ctx, lease, metav1.CreateOptions{})
		},
		{"update", "leases.coordination.k8s.io"}: func(ctx context.Context, name string) {
			leases := client.CoordinationV1().Leases("ns")
			if lease, err := leases.Get(ctx, name, metav1.GetOptions{}); err == nil {
				_, _ = leases.Update(ctx, lease, metav1.UpdateOptions{})
			}
		},
	}
}

// TestFailingWrites: whatever write fails and with whatever answer, if it lasts the log names it once at its beginning and once at its
// end with the number of failures, and events, metrics and the check of readiness name it meanwhile.
func TestFailingWrites(t *testing.T) {
	for kind := range allWrites(nil, nil) {
		for _, code := range []int{0, 403, 409, 422, 429, 500} {
			if kind == (writeKind{"patch", "events.events.k8s.io"}) && code == 409 { // it is given up, and only its series has a conflict
				continue
			}
			t.Run(fmt.Sprintf("%s %s %d", kind.verb, strings.ReplaceAll(kind.kind, "/", "-"), code), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { testFailingWrite(t, kind, code) })
			})
		}
	}
}

func testFailingWrite(t *testing.T, kind writeKind, code int) {
	var log bytes.Buffer
	requests := newRequests(clock.Real{})
	server := &refusing{requests: requests}
	client, plugins := server.clients(t)
	c, err := New(Config{Profiles: []string{"default-scheduler"}},
		Deps{Client: client, Plugins: plugins, Requests: requests, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	c.claims.start(deaf{})
	names := []string{"a", "b"}
	for _, name := range names {
		if err := c.watches.pods.GetStore().Add(&v1.Pod{ObjectMeta: named(name), Spec: v1.PodSpec{SchedulerName: "default-scheduler"}}); err != nil {
			t.Fatal(err)
		}
	}
	write := allWrites(c, client)[kind]
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	server.set(kind, code)
	for _, name := range names {
		all.Go(func() {
			for ctx.Err() == nil {
				write(ctx, name)
				time.Sleep(2 * time.Second)
			}
		})
	}
	time.Sleep(45 * time.Second)
	synctest.Wait()
	begins, ends := "writes to the API server fail; retrying", "writes to the API server no longer fail"
	logged := func(text string, want int) {
		t.Helper()
		if n := strings.Count(log.String(), text); n != want {
			t.Errorf("%q is logged %d times, want %d:\n%s", text, n, want, log.String())
		}
	}
	logged(begins, 1)
	logged(ends, 0)
	if !strings.Contains(log.String(), "verb="+kind.verb+" kind="+kind.kind+" code=") || !strings.Contains(log.String(), refusal) {
		t.Errorf("the log does not name it:\n%s", &log)
	}
	failing := func() (out FailingWrites) {
		for _, f := range c.FailingWrites() {
			if f.Verb == kind.verb && f.Kind == kind.kind {
				out = f
			}
		}
		return out
	}
	f := failing()
	if f.Objects == 0 || f.Oldest < 30*time.Second || !f.Lasts || f.Failures != int64(server.refusals) {
		t.Errorf("%d refusals: %+v", server.refusals, f)
	}
	blocked := c.Blocked()
	if want := code != 409; (blocked != nil) != want || want && !strings.Contains(blocked.Error(), kind.verb+" "+kind.kind+": every write has failed for ") {
		t.Errorf("ready: %v", blocked)
	}
	failed := func(p Part) bool {
		return p.Failed && strings.Contains(p.Failure.Note, kind.verb+" "+kind.kind+" fails")
	}
	if parts := c.FailingParts(); !slices.ContainsFunc(parts, failed) {
		t.Errorf("no event: %+v", parts)
	}
	if w := c.FailedWrite(types.NamespacedName{Namespace: "ns", Name: "a"}); kind.ofPods() && (w == nil || w.Tries < 2 || !strings.Contains(w.Error, refusal)) {
		t.Errorf("the pod's: %+v", w)
	}
	if told := strings.Count(strings.Join(server.notes, "\n"), "FailedBinding"); kind.kind == bindings && told != len(names) {
		t.Errorf("%d events FailedBinding", told)
	}

	server.set(writeKind{}, 0)
	time.Sleep(2 * time.Minute)
	logged(begins, 1)
	logged(ends, 1)
	if want := fmt.Sprintf("failures=%d", server.refusals); !strings.Contains(log.String(), want) {
		t.Errorf("%s is missing:\n%s", want, &log)
	}
	if f, err := failing(), c.Blocked(); f.Objects != 0 || f.Lasts || f.Wholly != 0 || err != nil {
		t.Errorf("afterwards %+v, ready: %v", f, err)
	}
	stop()
	all.Wait()
	c.Close(context.Background())
}

// TestAllWritesFail: the table above has all that deploy/ permits to write.
func TestAllWritesFail(t *testing.T) {
	text, err := os.ReadFile("../../deploy/rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	known := allWrites(nil, nil)
	permitted := 0
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var role rbacv1.ClusterRole
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				kind, sub, _ := strings.Cut(resource, "/")
				if group := rule.APIGroups[len(rule.APIGroups)-1]; group != "" {
					kind += "." + group
				}
				switch {
				case sub == "binding" && kind != "pods": // a name for fields of the status
					continue
				case kind == "plugingrants.berth.dev" || kind == "tenantplugins.berth.dev": // are written as SchedulerPlugins are
					kind = "schedulerplugins.berth.dev"
				}
				if sub != "" {
					kind += "/" + sub
				}
				for _, verb := range rule.Verbs {
					if verb == "get" || verb == "list" || verb == "watch" {
						continue
					}
					permitted++
					if known[writeKind{verb, kind}] == nil {
						t.Errorf("%s %s is permitted, and not among the writes that fail in TestFailingWrites", verb, kind)
					}
				}
			}
		}
	}
	if permitted < len(known)-1 { // patch of pods is another component's
		t.Errorf("%d writes are permitted", permitted)
	}
}

// TestFailureOnce: failures that nothing repeats do not last, and an object that is written again does not fail any more.
func TestFailureOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := newRequests(clock.Real{})
		server := &refusing{requests: requests, refuses: writeKind{"delete", "pods"}, code: 403}
		client, _ := server.clients(t)
		remove := func(name string) { _ = client.CoreV1().Pods("ns").Delete(t.Context(), name, metav1.DeleteOptions{}) }
		remove("a")
		remove("b")
		for range 2 * time.Minute / (10 * time.Second) {
			time.Sleep(10 * time.Second)
			if w := requests.Writes(); len(w) != 1 || w[0].Lasts || w[0].Wholly != 0 || requests.Blocked() != nil {
				t.Fatalf("%+v, ready: %v", w, requests.Blocked())
			}
		}
		for range 4 {
			remove("a")
			remove("b")
			time.Sleep(10 * time.Second)
		}
		if requests.Blocked() == nil {
			t.Error("all deletions fail, and it is ready")
		}
		server.set(writeKind{}, 0)
		remove("a")
		if w := requests.Writes(); w[0].Objects != 1 || w[0].Wholly != 0 || requests.Blocked() != nil {
			t.Errorf("%+v, ready: %v", w, requests.Blocked())
		}
	})
}
