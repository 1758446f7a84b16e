package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/berth-scheduler/berth/test/internal/cluster"
	"github.com/berth-scheduler/berth/test/internal/load"
	"github.com/berth-scheduler/berth/test/internal/workload"
)

// TestConflict lets another client bind a pod that the scheduler is about to bind: while it
// decides, while the binding is in flight, and so that the refusal arrives before the watch
// event that explains it. The pod stays where it was bound and counts there, and the node that
// the scheduler had chosen for it has its capacity back.
func TestConflict(t *testing.T) {
	b := newBench(t, "conflict", 2, workload.Capacity{CPU: 1, Memory: 4, Pods: 10})
	ours, theirs := workload.NodeName(0), workload.NodeName(1)
	on := func(node, name string) *v1.Pod { // fills its node
		pod := workload.Pod(b.namespace, name, 1000, 100)
		pod.Spec.NodeSelector = map[string]string{v1.LabelHostname: node}
		return pod
	}
	putElsewhere := func(name string) {
		if err := b.client.CoreV1().Pods(b.namespace).Bind(t.Context(), &v1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: name}, Target: v1.ObjectReference{Kind: "Node", Name: theirs},
		}, metav1.CreateOptions{}); err != nil {
			t.Errorf("binding %s elsewhere: %v", name, err)
		}
	}
	const deciding, late, early = "while-it-decides", "after-the-watch-has-told", "before-the-watch-tells"

	// watches of pods deliver nothing while it is locked.
	var silence sync.RWMutex
	speak := sync.OnceFunc(silence.Unlock)
	// What the other client does during the first attempt of a pod.
	decides := sync.OnceFunc(func() {
		putElsewhere(deciding)
		time.Sleep(noticed)
	})
	binds := map[string]func(){
		late: sync.OnceFunc(func() {
			putElsewhere(late)
			time.Sleep(noticed)
		}),
		early: sync.OnceFunc(func() {
			silence.Lock()
			putElsewhere(early)
		}),
	}
	extender := httptest.NewServer(answer(func(in *extenderv1.ExtenderArgs) any {
		if in.Pod.Name == deciding {
			decides()
		}
		return &extenderv1.ExtenderFilterResult{NodeNames: in.NodeNames}
	}))
	t.Cleanup(extender.Close)

	refused := make(map[string]*atomic.Int64) // bindings, by pod
	for _, name := range []string{deciding, late, early} {
		refused[name] = new(atomic.Int64)
	}
	gateway := b.gateway(cluster.GatewayConfig{
		Answer: func(_ http.ResponseWriter, r *http.Request) bool {
			if do := binds[bindingOf(r)]; do != nil {
				do()
			}
			return false
		},
		Passed: func(r *http.Response) {
			pod := bindingOf(r.Request)
			if n := refused[pod]; n != nil && r.StatusCode == http.StatusConflict {
				n.Add(1)
			}
			if pod == early {
				time.AfterFunc(noticed, speak)
			}
			if r.Request.URL.Query().Get("watch") != "" && strings.HasSuffix(r.Request.URL.Path, "/pods") {
				r.Body = &muted{ReadCloser: r.Body, silence: &silence}
			}
		},
	})
	port, err := cluster.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	b.run(cluster.Scheduler{Server: gateway.URL(), Port: port, Config: fmt.Sprintf(`
profiles: [{schedulerName: default-scheduler}]
extenders: [{urlPrefix: %q, filterVerb: filter, nodeCacheCapable: true}]
`, extender.URL)})
	scheduler := serverAt(port)

	for _, name := range []string{deciding, late, early} {
		t.Run(name, func(t *testing.T) {
			seen := view{client: b.client, namespace: b.namespace}
			create := func(pod *v1.Pod) {
				t.Helper()
				if err := load.Pod(t.Context(), b.client, pod); err != nil {
					t.Fatal(err)
				}
			}
			contested := on(ours, name)
			create(contested)
			awaitThat(t, "the pod is bound by somebody else", func() bool {
				pod, err := b.client.CoreV1().Pods(b.namespace).Get(t.Context(), name, metav1.GetOptions{})
				return err == nil && pod.Spec.NodeName != ""
			})
			if name != deciding { // there it may have found out by itself
				awaitThat(t, "the binding is refused", func() bool { return refused[name].Load() > 0 })
			}
			create(on(ours, name+"-next"))
			if err := seen.await(t.Context(), name+"-next", bound, "", patience); err != nil {
				t.Error(err)
			}
			create(on(theirs, name+"-too-many"))
			if err := seen.await(t.Context(), name+"-too-many", rejected, "Insufficient cpu", patience); err != nil {
				t.Error(err)
			}
			awaitThat(t, "nothing is assumed", func() bool {
				_, text := scheduler.get(t, "/metrics", cluster.Admin)
				return strings.Contains(text, "\n"+`scheduler_cache_size{type="assumed_pods"} 0`+"\n")
			})
			pod, err := b.client.CoreV1().Pods(b.namespace).Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if pod.Spec.NodeName != theirs {
				t.Errorf("the pod is on %s, want %s", pod.Spec.NodeName, theirs)
			}
			if n := refused[name].Load(); n > 1 {
				t.Errorf("the binding was tried again and refused %d times", n)
			}
			// A scheduler that does not know yet why its binding was refused reports a failure, as
			// kube-scheduler always does.
			if name != early && program() == cluster.BerthProgram && condition(pod, v1.PodScheduled).Status != v1.ConditionTrue {
				t.Errorf("the pod has a node, and its conditions are %+v", pod.Status.Conditions)
			}
			if err := load.Clear(t.Context(), b.client, b.namespace); err != nil {
				t.Fatal(err)
			}
		})
	}
	b.sound()
}

// noticed is the longest time until a watch event takes effect.
const noticed = 300 * time.Millisecond

// bindingOf returns the pod that a request binds; empty if it is another request.
func bindingOf(r *http.Request) string {
	path, ok := strings.CutSuffix(r.URL.Path, "/binding")
	if !ok || r.Method != http.MethodPost {
		return ""
	}
	return path[strings.LastIndexByte(path, '/')+1:]
}

// muted is a watch that delivers nothing while silence is locked.
type muted struct {
	io.ReadCloser
	silence *sync.RWMutex
}

// Read implements io.Reader.
func (m *muted) Read(p []byte) (int, error) {
	n, err := m.ReadCloser.Read(p)
	m.silence.RLock()
	defer m.silence.RUnlock()
	return n, err
}

func awaitThat(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after %v this does not hold: %s", patience, what)
		}
	}
}
