package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/test/internal/cluster"
	"github.com/berth-scheduler/berth/test/internal/workload"
)

// installsChart installs deploy/chart with Helm as its users do: as it is, then with another value for everything in values.yaml,
// rolls that back, removes the release, and installs it again. Each time the pod of the Deployment must start and place pods, and
// what is kept must be there: configurations, and the kinds of berth.dev.
func installsChart(t *testing.T) {
	c := bare(t)
	b := &installed{bench: benchOn(t, c, "installed-chart", 1, workload.Capacity{CPU: 4, Memory: 16, Pods: 110})}
	b.pods = view{client: b.client, namespace: b.namespace}
	h := newHelm(t, c)
	values := filepath.Join("..", "chart", "testdata")

	h.run("install", "berth", filepath.Join(deploy(), "chart"), "--namespace=kube-system")
	first := b.startsFromChart("default", "berth")

	b.mustApply(surroundings)
	h.run("upgrade", "berth", filepath.Join(deploy(), "chart"), "--namespace=kube-system", "--values="+filepath.Join(values, "all.values.yaml"))
	second := b.startsFromChart("all", "berth")
	if first == second {
		t.Errorf("both configurations are %s", first)
	}
	b.hasConfigs(first, second) // kubectl rollout undo finds the one before

	h.run("rollback", "berth", "1", "--namespace=kube-system")
	if got := b.startsFromChart("back", "berth"); got != first {
		t.Errorf("after the rollback it is %s, not %s", got, first)
	}

	h.run("uninstall", "berth", "--namespace=kube-system")
	if _, err := b.client.AppsV1().Deployments("kube-system").Get(t.Context(), "berth", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Deployment is left behind: %v", err)
	}
	b.hasConfigs(first, second)
	if _, err := c.Objects("default"); err != nil {
		t.Fatal(err)
	} else if kinds, err := b.client.Discovery().ServerResourcesForGroupVersion("berth.dev/v1alpha1"); err != nil || len(kinds.APIResources) == 0 {
		t.Errorf("the kinds of berth.dev are gone: %v", err)
	}

	// kube-scheduler, which is not here, would have made its Lease.
	h.run("install", "berth", filepath.Join(deploy(), "chart"), "--namespace=kube-system", "--values="+filepath.Join(values, "takeover.values.yaml"))
	b.startsFromChart("takeover", v1.DefaultSchedulerName)
}

// surroundings are what the values of all.values.yaml name.
const surroundings = `
{apiVersion: v1, kind: Namespace, metadata: {name: team-a}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: trust, namespace: kube-system}, data: {settings.yaml: "kube-api-qps: 60\n"}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: podmonitors.monitoring.coreos.com}
spec:
  group: monitoring.coreos.com
  scope: Namespaced
  names: {kind: PodMonitor, listKind: PodMonitorList, plural: podmonitors, singular: podmonitor}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`

// startsFromChart runs a pod of the Deployment until it has placed one, and returns the name of its configuration.
func (b *installed) startsFromChart(name, profile string) string {
	b.Helper()
	deployment, err := b.client.AppsV1().Deployments("kube-system").Get(b.Context(), "berth", metav1.GetOptions{})
	if err != nil {
		b.Fatal(err)
	}
	spec := &deployment.Spec.Template.Spec
	pod, err := b.RunPod(b.Context(), cluster.PodConfig{Name: name, Namespace: "kube-system", Spec: *spec})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { end(b.T, pod.Process) })
	b.placesAndAnswers(pod, spec, name, profile)
	if strings.Contains(pod.Log(), "orbidden") {
		b.Errorf("requests were forbidden:\n%s", pod.Tail(20))
	}
	if err := pod.Stop(stopped); err != nil {
		b.Error(err)
	}
	return configOf(deployment)
}

func configOf(d *appsv1.Deployment) string {
	for i := range d.Spec.Template.Spec.Volumes {
		if v := &d.Spec.Template.Spec.Volumes[i]; v.Name == "config" {
			return v.ConfigMap.Name
		}
	}
	return ""
}

func (b *installed) hasConfigs(names ...string) {
	b.Helper()
	for _, name := range names {
		if _, err := b.client.CoreV1().ConfigMaps("kube-system").Get(b.Context(), name, metav1.GetOptions{}); err != nil {
			b.Error(err)
		}
	}
}

func (b *installed) mustApply(documents string) {
	b.Helper()
	objects, err := b.Objects("default")
	if err == nil {
		err = objects.Apply(b.Context(), []byte(documents))
	}
	if err != nil {
		b.Fatal(err)
	}
}

// helm is Helm's program, at the version of test/chart/go.mod, with folders of its own.
type helm struct {
	*testing.T
	path string
	env  []string
}

func newHelm(t *testing.T, c *cluster.Cluster) *helm {
	t.Helper()
	module, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	path, err := cluster.BuildOwn(t.Context(), module, filepath.Join("test", "chart"), "helm.sh/helm/v3/cmd/helm")
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := c.Kubeconfig(cluster.Admin, "")
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"KUBECONFIG=" + kubeconfig}
	for _, name := range []string{"CACHE", "CONFIG", "DATA"} {
		env = append(env, "HELM_"+name+"_HOME="+t.TempDir())
	}
	return &helm{T: t, path: path, env: env}
}

func (h *helm) run(args ...string) {
	h.Helper()
	command := exec.CommandContext(h.Context(), h.path, args...)
	command.Env = slices.Concat(os.Environ(), h.env)
	if out, err := command.CombinedOutput(); err != nil {
		h.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
