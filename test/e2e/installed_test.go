package e2e

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/test/internal/cluster"
	"github.com/berth-scheduler/berth/test/internal/load"
	"github.com/berth-scheduler/berth/test/internal/manifests"
	"github.com/berth-scheduler/berth/test/internal/workload"
)

// leadsAsInstalled installs each variant of deploy/ as kustomize renders it, and acts as the
// kubelet for a pod of the Deployment: with its arguments and volumes, and with a token of its
// service account, which has the permissions of the rendered roles. The replica must become the
// leader and place pods; none of its requests may be forbidden, and each granted permission
// must be used.
func leadsAsInstalled(t *testing.T) {
	c := start(t)
	first, err := requests(c)
	if err != nil {
		t.Fatal(err)
	}
	var rendered []*unstructured.Unstructured
	for _, v := range manifests.Installed() {
		t.Run(v.Name, func(t *testing.T) {
			b := newInstalled(t, v.Name)
			var err error
			if rendered, err = b.Install(t.Context(), deploy(), v); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { removeExtras(t, b.Cluster) })
			profile := "berth"
			if v.Name == manifests.TakeOver().Name {
				profile = v1.DefaultSchedulerName
				if *skew == "" { // an older API server has no DeviceTaintRules, and kube-scheduler places nothing without them
					upstream := run(t, b.Cluster, cluster.Scheduler{Program: cluster.UpstreamProgram, LeaderElection: true})
					b.place("upstream", profile)
					if err := upstream.Stop(stopped); err != nil {
						t.Log(err) // kube-scheduler exits with an error when it is told to stop
					}
				}
			}
			deployment := find[appsv1.Deployment](t, rendered, "Deployment", "berth")
			pod, err := b.RunPod(t.Context(), cluster.PodConfig{Name: v.Name, Namespace: deployment.Namespace, Spec: deployment.Spec.Template.Spec})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { end(t, pod.Process) })
			b.works(pod, &deployment.Spec.Template.Spec, profile)
			if v.Name == manifests.Beside().Name {
				b.usesItsRights()
			}
			if may, want := b.mayPatchPods(cluster.Berth), v.Name == manifests.PatchPods().Name; may != want {
				t.Errorf("it may patch pods: %v, want %v", may, want)
			}
			if err := pod.Stop(stopped); err != nil {
				t.Error(err)
			}
		})
	}
	seen, err := c.Requests(first)
	if err != nil {
		t.Fatal(err)
	}
	judge(t, seen, rendered)
}

// stopped is the maximum time that a scheduler may take to exit.
const stopped = 30 * time.Second

// notNeededHere lists permissions that these tests do not need.
var notNeededHere = []string{
	"patch events",                                  // of a lease, when two with the same name are written within ten minutes
	"patch events.events.k8s.io",                    // likewise, of a pod
	"create leases.coordination.k8s.io",             // when one was deleted
	"get pods",                                      // when the answer to a binding or an eviction was lost
	"get resourceclaims.resource.k8s.io",            // likewise, to a write of a claim
	"delete resourceclaims.resource.k8s.io",         // to remove the claim for extended resources of a pod that is not bound
	"patch resourceclaims/status.resource.k8s.io",   // to release the claim of a pod that is not bound
	"update resourceclaims/binding.resource.k8s.io", // nobody sends it: the API server asks for this right when the status is written
	"patch resourceclaims/binding.resource.k8s.io",  // likewise
}

// judge compares the requests of the service account with the permissions that it was granted.
func judge(t *testing.T, seen []cluster.Request, rendered []*unstructured.Unstructured) {
	t.Helper()
	used := make(map[string]bool)
	for _, r := range seen {
		right := r.Verb + " " + strings.TrimSuffix(r.Resource+"."+r.Group, ".")
		if r.Forbidden() {
			t.Errorf("it is not allowed to %s: %s", right, r.URL)
		}
		used[right] = true
		if r.Resource == "leases" {
			used[right+" "+r.Name] = true
		}
	}
	granted := make(map[string]bool)
	for _, name := range []string{"ClusterRole", "Role"} {
		for _, rule := range find[rbacv1.Role](t, rendered, name, "berth").Rules { // a Role has the fields of a ClusterRole that are of use here
			for _, verb := range rule.Verbs {
				for _, group := range rule.APIGroups {
					for _, resource := range rule.Resources {
						right := verb + " " + strings.TrimSuffix(resource+"."+group, ".")
						if len(rule.ResourceNames) == 0 {
							granted[right] = true
						}
						for _, object := range rule.ResourceNames {
							granted[right+" "+object] = true
						}
					}
				}
			}
		}
	}
	if len(granted) < 20 || len(used) < 20 {
		t.Fatalf("%d rights are granted and %d are used", len(granted), len(used))
	}
	for _, right := range slices.Sorted(maps.Keys(granted)) {
		// Informers list where the API server does not support streaming lists.
		listed := strings.HasPrefix(right, "list ") && used["watch "+strings.TrimPrefix(right, "list ")]
		if !used[right] && !listed && !slices.Contains(notNeededHere, right) {
			t.Errorf("it is granted %s, which it never uses", right)
		}
	}
}

// leadsAsStaticPod runs deploy/static-pod.yaml with the kubeconfig and the lease of
// kube-scheduler, the Role that docs/run.md has for it, and nothing else of deploy/.
func leadsAsStaticPod(t *testing.T) {
	b := newInstalled(t, "static-pod")
	var pod v1.Pod
	text, err := os.ReadFile(filepath.Join(deploy(), "static-pod.yaml"))
	if err == nil {
		err = yaml.UnmarshalStrict(text, &pod)
	}
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := b.Kubeconfig(cluster.KubeScheduler, "")
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "scheduler.yaml")
	if err := os.WriteFile(config, []byte(`apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: true, resourceNamespace: kube-system, resourceName: kube-scheduler}
profiles: [{schedulerName: default-scheduler}]
`), 0o600); err != nil {
		t.Fatal(err)
	}
	b.grantProfiles()
	p, err := b.RunPod(t.Context(), cluster.PodConfig{
		Name: "static-pod", Namespace: pod.Namespace, Spec: pod.Spec, User: cluster.KubeScheduler,
		HostFiles: map[string]string{"/etc/kubernetes/scheduler.conf": kubeconfig, "/etc/kubernetes/berth/scheduler.yaml": config},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(t, p.Process) })
	b.works(p, &pod.Spec, v1.DefaultSchedulerName)
	if strings.Contains(p.Log(), "orbidden") {
		t.Errorf("requests were forbidden:\n%s", p.Tail(20))
	}
	if b.mayPatchPods(cluster.KubeScheduler) {
		t.Error("kube-scheduler's user may patch pods")
	}
	// As docs/run.md says where plugins need it.
	b.apply(filepath.Join(deploy(), "patch-pods", "rbac.yaml"))
	t.Cleanup(func() { removeExtras(t, b.Cluster) })
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "berth:patch-pods-static"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "berth:patch-pods"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: string(cluster.KubeScheduler)}},
	}
	if _, err := b.client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// The authorizer learns of rights by a watch.
	awaitThat(t, "kube-scheduler's user may patch pods", func() bool { return b.mayPatchPods(cluster.KubeScheduler) })
	if err := p.Stop(stopped); err != nil {
		t.Error(err)
	}
}

// installed is a bench with one node, whose pods are placed by the installed scheduler.
type installed struct {
	*bench
	pods view
}

func newInstalled(t *testing.T, name string) *installed {
	t.Helper()
	b := newBench(t, "installed-"+name, 1, workload.Capacity{CPU: 4, Memory: 16, Pods: 110})
	return &installed{bench: b, pods: view{client: b.client, namespace: b.namespace}}
}

// place creates a pod and waits until it is bound.
func (b *installed) place(name, profile string) {
	b.Helper()
	pod := workload.Pod(b.namespace, name, 100, 100)
	pod.Spec.SchedulerName = profile
	if err := load.Pod(b.Context(), b.client, pod); err != nil {
		b.Fatal(err)
	}
	if err := b.pods.await(b.Context(), name, bound, "", patience); err != nil {
		b.Fatal(err)
	}
}

// works requires a pod of Berth to place pods, to pass its probes and to explain its decisions
// as docs/run.md describes.
func (b *installed) works(p *cluster.Pod, spec *v1.PodSpec, profile string) {
	b.Helper()
	b.placesAndAnswers(p, spec, "pod", profile)
}

// placesAndAnswers is works with a pod of another name.
func (b *installed) placesAndAnswers(p *cluster.Pod, spec *v1.PodSpec, name, profile string) {
	b.Helper()
	b.place(name, profile)
	client := serverAt(0).client
	for _, probe := range []*v1.Probe{spec.Containers[0].StartupProbe, spec.Containers[0].LivenessProbe, spec.Containers[0].ReadinessProbe} {
		if err := p.Probe(b.Context(), probe, client); err != nil {
			b.Error(err)
		}
	}
	if code, text := (&server{url: fmt.Sprintf("https://127.0.0.1:%d", p.Port), client: client}).get(b.T, "/metrics", cluster.Admin); code != http.StatusOK {
		b.Errorf("/metrics: %d %s", code, text)
	}
	explain := exec.CommandContext(b.Context(), b.Binaries().Berth, "explain", b.namespace+"/"+name)
	explain.Env = slices.Concat(os.Environ(), p.Env)
	if out, err := explain.CombinedOutput(); err != nil || !strings.Contains(string(out), "node-") {
		b.Errorf("berth explain: %v: %s", err, out)
	}
}

// usesItsRights creates pods that need the scheduler's other permissions: to evict, to bind and
// provision volumes, and to allocate devices.
func (b *installed) usesItsRights() {
	b.Helper()
	objects, err := b.Objects(b.namespace)
	if err != nil {
		b.Fatal(err)
	}
	if err := objects.Apply(b.Context(), []byte(demanding)); err != nil {
		b.Fatal(err)
	}
	for _, pod := range []string{"small", "with-device", "with-resource"} {
		if err := b.pods.await(b.Context(), pod, bound, "", patience); err != nil {
			b.Fatal(err)
		}
	}
	if err := objects.Apply(b.Context(), []byte(urgent)); err != nil {
		b.Fatal(err)
	}
	b.writesPluginStatus()
	b.until("the small pod goes", func(ctx context.Context) bool {
		pod, err := b.client.CoreV1().Pods(b.namespace).Get(ctx, "small", metav1.GetOptions{})
		return apierrors.IsNotFound(err) || err == nil && pod.DeletionTimestamp != nil
	})
	b.until("the volume has a claim", func(ctx context.Context) bool {
		volume, err := b.client.CoreV1().PersistentVolumes().Get(ctx, "disk", metav1.GetOptions{})
		return err == nil && volume.Spec.ClaimRef != nil
	})
	b.until("a volume is asked for", func(ctx context.Context) bool {
		claim, err := b.client.CoreV1().PersistentVolumeClaims(b.namespace).Get(ctx, "new", metav1.GetOptions{})
		return err == nil && claim.Annotations["volume.kubernetes.io/selected-node"] != ""
	})
}

// writesPluginStatus creates an object of each kind of berth.dev, and waits until the scheduler
// says what became of it.
func (b *installed) writesPluginStatus() {
	b.Helper()
	objects := installKinds(b.T, b.Cluster)
	if err := objects.Apply(b.Context(), []byte(attaching)); err != nil {
		b.Fatal(err)
	}
	for _, kind := range []string{"schedulerplugins", "plugingrants", "tenantplugins"} {
		b.until("the status of "+kind, func(ctx context.Context) bool {
			status, err := objects.Status(ctx, kind, "mine")
			return err == nil && strings.Contains(string(status), `"type":"Ready"`)
		})
	}
}

func (b *installed) until(what string, done func(context.Context) bool) {
	b.Helper()
	for end := time.Now().Add(patience); !done(b.Context()); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			b.Fatalf("not after %v: %s", patience, what)
		}
	}
}

func (b *installed) apply(file string) {
	b.Helper()
	objects, err := b.Objects("kube-system")
	if err != nil {
		b.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err == nil {
		err = objects.Apply(b.Context(), text)
	}
	if err != nil {
		b.Fatal(err)
	}
}

// mayPatchPods asks the API server whether a user may patch pods.
func (b *installed) mayPatchPods(user cluster.User) bool {
	b.Helper()
	review, err := b.client.AuthorizationV1().SubjectAccessReviews().Create(b.Context(), &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               string(user),
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: b.namespace, Verb: "patch", Resource: "pods"},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		b.Fatal(err)
	}
	return review.Status.Allowed
}

// removeExtras removes what other tests must not have: deploy/patch-pods.
func removeExtras(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	client, err := c.Client(cluster.Admin)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, name := range []string{"berth:patch-pods", "berth:patch-pods-static"} {
		if err := client.RbacV1().ClusterRoleBindings().Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	}
}

// requests is the number of requests in the API server's audit log.
func requests(c *cluster.Cluster) (int, error) {
	all, err := c.Requests(0)
	return len(all), err
}

// find returns the object of a kind and a name.
func find[T any](t *testing.T, objects []*unstructured.Unstructured, kind, name string) *T {
	t.Helper()
	for _, o := range objects {
		if o.GetKind() == kind && o.GetName() == name {
			out := new(T)
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, out); err != nil {
				t.Fatal(err)
			}
			return out
		}
	}
	t.Fatalf("there is no %s %s", kind, name)
	return nil
}

// demanding fills the node, and needs volumes and a device.
const demanding = `
{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: {selectors: [{cel: {expression: "device.driver == 'gpu.example.com'"}}]}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: gpus}
spec: {driver: gpu.example.com, pool: {name: gpus, generation: 1, resourceSliceCount: 1}, allNodes: true, devices: [{name: gpu-0}, {name: gpu-1}]}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: gpu}, spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: with-device}
spec: {schedulerName: berth, resourceClaims: [{name: gpu, resourceClaimName: gpu}], containers: [{name: c, image: i, resources: {claims: [{name: gpu}]}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: with-resource}
spec:
  schedulerName: berth
  containers:
  - name: c
    image: i
    resources:
      requests: {deviceclass.resource.kubernetes.io/gpu: "1"}
      limits: {deviceclass.resource.kubernetes.io/gpu: "1"}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: late}, provisioner: kubernetes.io/no-provisioner, volumeBindingMode: WaitForFirstConsumer}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: provisioned}, provisioner: example.com/disks, volumeBindingMode: WaitForFirstConsumer}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk}
spec:
  storageClassName: late
  accessModes: [ReadWriteOnce]
  capacity: {storage: 1Gi}
  local: {path: /disk}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: Exists}]}]}}
status: {phase: Available}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {storageClassName: late, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: new}, spec: {storageClassName: provisioned, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: with-volume}, spec: {schedulerName: berth, containers: [{name: c, image: i}], volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: with-new-volume}, spec: {schedulerName: berth, containers: [{name: c, image: i}], volumes: [{name: new, persistentVolumeClaim: {claimName: new}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: small}, spec: {schedulerName: berth, containers: [{name: c, image: i, resources: {requests: {cpu: "3"}}}]}}
`

// attaching are objects of berth.dev. Nothing is fetched for them.
const attaching = `
{apiVersion: berth.dev/v1alpha1, kind: SchedulerPlugin, metadata: {name: mine}, spec: {failurePolicy: Ignore, module: {url: "https://127.0.0.1:1/x.wasm", digest: "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}}}
---
{apiVersion: berth.dev/v1alpha1, kind: PluginGrant, metadata: {name: mine}, spec: {namespaces: [nobody], modules: [{repositories: [registry.test/x]}]}}
---
{apiVersion: berth.dev/v1alpha1, kind: TenantPlugin, metadata: {name: mine}, spec: {module: {image: "registry.test/x:1"}}}
`

// urgent needs the place of the small pod.
const urgent = `
{apiVersion: v1, kind: Pod, metadata: {name: urgent}, spec: {schedulerName: berth, priority: 2000000000, priorityClassName: system-cluster-critical, containers: [{name: c, image: i, resources: {requests: {cpu: "3"}}}]}}
`
