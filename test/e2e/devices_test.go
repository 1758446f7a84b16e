package e2e

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/test/internal/cluster"
	"github.com/berth-scheduler/berth/test/internal/load"
	"github.com/berth-scheduler/berth/test/internal/workload"
)

const deviceResource = "example.com/device"

// newDevicesBench returns a cluster of nodes with devices, each of which a pod will have in the end, with
// kube-controller-manager's controller of resource claims. Every other pod has a claim from a template,
// and the others request an extended resource.
func newDevicesBench(t *testing.T, name string, nodes int) (b *bench, pods int, pod func(i int) *v1.Pod) {
	t.Helper()
	b = newBench(t, name, nodes, workload.Large())
	ctx := t.Context()
	extended := deviceResource
	if err := load.Devices(ctx, b.client, name, &extended, nodes); err != nil {
		t.Fatal(err)
	}
	if err := load.Template(ctx, b.client, b.namespace, "one", name); err != nil {
		t.Fatal(err)
	}
	end, err := load.ControlClaims(b.client)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	return b, nodes * load.DevicesEach, func(i int) *v1.Pod {
		pod := b.pod(i)
		if i%2 == 0 {
			name := "one"
			pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "device", ResourceClaimTemplateName: &name}}
			return pod
		}
		one := v1.ResourceList{deviceResource: *resource.NewQuantity(1, resource.DecimalSI)}
		container := &pod.Spec.Containers[0]
		maps.Copy(container.Resources.Requests, one)
		container.Resources.Limits = one
		return pod
	}
}

// The writes of a pod with devices. All but the first and the fourth are of pods that name claims, too.
var deviceWrites = []string{"special claim", "finalizer", "status", "pod status", "binding"}

// deviceWrite returns which write a request is; empty if it is another one.
func deviceWrite(r *http.Request) string {
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	last := path[len(path)-1]
	claims := slices.Contains(path, "resourceclaims")
	switch {
	case claims && r.Method == http.MethodPost:
		return "special claim"
	case claims && r.Method == http.MethodPut && last == "status":
		return "status"
	case claims && r.Method == http.MethodPut:
		return "finalizer"
	case r.Method == http.MethodPost && last == "binding":
		return "binding"
	case r.Method == http.MethodPatch && last == "status" && slices.Contains(path, "pods"):
		// It may be about a condition.
		body, err := io.ReadAll(r.Body)
		r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), failing{err}))
		if bytes.Contains(body, []byte("extendedResourceClaimStatus")) {
			return "pod status"
		}
	}
	return ""
}

// failing is the end of a body.
type failing struct{ err error }

// Read implements io.Reader.
func (f failing) Read([]byte) (int, error) {
	if f.err == nil {
		return 0, io.EOF
	}
	return 0, f.err
}

// deviceGateway calls passed with each successful write of a pod with devices, before the scheduler gets the answer.
func (b *bench) deviceGateway(passed func(write string, r *http.Response)) *cluster.Gateway {
	b.Helper()
	const header = "Berth-Test-Write"
	return b.gateway(cluster.GatewayConfig{
		Answer: func(_ http.ResponseWriter, r *http.Request) bool {
			r.Header.Set(header, deviceWrite(r))
			return false
		},
		Passed: func(r *http.Response) {
			if write := r.Request.Header.Get(header); write != "" && r.StatusCode < 300 {
				passed(write, r)
			}
		},
	})
}

// TestDevicesKilled kills the scheduler after each kind of write of a pod with devices, under load. No device is
// ever two claims', and in the end each pod has one.
func TestDevicesKilled(t *testing.T) {
	b, pods, pod := newDevicesBench(t, "devices-killed", 30)
	type shot struct {
		write string
		after int64 // so many writes
	}
	var armed atomic.Pointer[shot]
	var killed chan struct{}
	var p *cluster.Process
	gateway := b.deviceGateway(func(write string, _ *http.Response) {
		if s := armed.Load(); s != nil && s.write == write && atomic.AddInt64(&s.after, -1) == 0 {
			if err := p.Kill(); err != nil {
				t.Error(err)
			}
			armed.Store(nil)
			close(killed)
		}
	})
	b.create(pods, pod)
	random := dice(t)
	for range 2 {
		for _, write := range deviceWrites {
			killed = make(chan struct{})
			p = b.run(cluster.Scheduler{Server: gateway.URL()})
			armed.Store(&shot{write, 1 + random.Int64N(6)})
			select {
			case <-killed:
				t.Logf("killed after a write of a %s, with %d pods placed", write, b.placed())
			case <-time.After(drained):
				t.Fatalf("no %s was written", write)
			}
		}
	}
	b.run(cluster.Scheduler{})
	b.finishDevices(pods)
}

// TestDevicesUnanswered loses the answers to a third of the writes of claims.
func TestDevicesUnanswered(t *testing.T) {
	b, pods, pod := newDevicesBench(t, "devices-unanswered", 12)
	b.loseAnswers()
	var writes, lost atomic.Int64
	gateway := b.deviceGateway(func(write string, r *http.Response) {
		if write != "binding" && writes.Add(1)%3 == 0 {
			lost.Add(1)
			r.Body.Close()
			r.Body, r.ContentLength = io.NopCloser(failing{errors.New("lost")}), -1
			r.Header.Del("Content-Length")
		}
	})
	b.create(pods, pod)
	b.run(cluster.Scheduler{Server: gateway.URL()})
	b.finishDevices(pods)
	t.Logf("%d answers were lost", lost.Load())
	if lost.Load() < int64(pods)/2 {
		t.Errorf("only %d answers were lost", lost.Load())
	}
}

// TestDevicesPaused pauses a leader between two writes of a claim, until another replica leads. The first one must not
// write any more.
func TestDevicesPaused(t *testing.T) {
	b, pods, pod := newDevicesBench(t, "devices-paused", 12)
	var first *cluster.Process
	var finalizers, late atomic.Int64 // late: writes after it was resumed
	var resumed atomic.Bool
	paused := make(chan struct{})
	gateway := b.deviceGateway(func(write string, _ *http.Response) {
		if resumed.Load() {
			late.Add(1)
		}
		if write == "finalizer" && finalizers.Add(1) == int64(pods)/8 {
			if err := first.Pause(); err != nil {
				t.Error(err)
			}
			close(paused)
		}
	})
	first = b.run(cluster.Scheduler{Server: gateway.URL(), LeaderElection: true})
	b.create(pods, pod)
	<-paused
	// The last tenth is created now: the first replica cannot have placed it, however fast it was.
	b.complete()
	b.run(cluster.Scheduler{LeaderElection: true})
	b.reach(pods - pods/20)
	resumed.Store(true)
	if err := first.Resume(); err != nil {
		t.Fatal(err)
	}
	awaitThat(t, "the first leader exits", func() bool { return !first.Running() })
	b.finishDevices(pods)
	if late.Load() > 0 {
		t.Errorf("%d writes were sent after the lease was lost", late.Load())
	}
}

// finishDevices waits until all pods are placed, and checks what devices they have.
func (b *bench) finishDevices(pods int) {
	b.Helper()
	b.complete()
	b.drain()
	b.sound()
	b.devicesOnce()
	b.eachHasDevice(pods)
	accepted(b.T, b.Cluster, b.since, b.decided)
}

// devicesOnce replays all writes of claims: at no time may two of them have a device.
func (b *bench) devicesOnce() {
	b.Helper()
	type device struct{ pool, name string }
	holds := make(map[string][]device) // by UID of a claim
	holder := make(map[device]string)
	writes := 0
	if err := b.History(b.Context(), b.since, func(change cluster.Change) error {
		claim, ok := change.Object.(*resourcev1.ResourceClaim)
		if !ok {
			return nil
		}
		writes++
		uid := string(claim.UID)
		for _, d := range holds[uid] {
			delete(holder, d)
		}
		delete(holds, uid)
		if change.Deleted || claim.Status.Allocation == nil {
			return nil
		}
		for _, r := range claim.Status.Allocation.Devices.Results {
			d := device{r.Pool, r.Device}
			if other, taken := holder[d]; taken {
				b.Errorf("at revision %d device %v is %s's and %s's (%s)", change.Revision, d, other, uid, claim.Name)
			}
			holder[d] = uid
			holds[uid] = append(holds[uid], d)
		}
		return nil
	}); err != nil {
		b.Error(err)
	}
	b.Logf("%d writes of claims", writes)
	if writes == 0 {
		b.Error("no claim was written")
	}
}

// eachHasDevice checks that each pod has a device of its node, reserved for it.
func (b *bench) eachHasDevice(pods int) {
	b.Helper()
	list, err := b.client.CoreV1().Pods(b.namespace).List(b.Context(), metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	has := make(map[string]string)
	for i := range list.Items {
		pod := &list.Items[i]
		name := ""
		if s := pod.Status.ExtendedResourceClaimStatus; s != nil {
			name = s.ResourceClaimName
		}
		if len(pod.Status.ResourceClaimStatuses) > 0 {
			name = *pod.Status.ResourceClaimStatuses[0].ResourceClaimName
		}
		claim, err := b.client.ResourceV1().ResourceClaims(b.namespace).Get(b.Context(), name, metav1.GetOptions{})
		if err != nil {
			b.Errorf("%s has no claim %q: %v", pod.Name, name, err)
			continue
		}
		reserved := slices.ContainsFunc(claim.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID == pod.UID })
		if a := claim.Status.Allocation; a == nil || !reserved || len(a.Devices.Results) != 1 || a.Devices.Results[0].Pool != pod.Spec.NodeName {
			b.Errorf("%s on %s has the claim %+v", pod.Name, pod.Spec.NodeName, claim.Status)
			continue
		}
		d := claim.Status.Allocation.Devices.Results[0]
		if other := has[d.Pool+"/"+d.Device]; other != "" {
			b.Errorf("%s and %s have %s/%s", pod.Name, other, d.Pool, d.Device)
		}
		has[d.Pool+"/"+d.Device] = pod.Name
	}
	if len(has) != pods {
		b.Errorf("%d pods have devices, want %d", len(has), pods)
	}
}
