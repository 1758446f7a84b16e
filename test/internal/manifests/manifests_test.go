package manifests_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/test/internal/manifests"
)

var deploy = filepath.Join("..", "..", "..", "deploy")

// TestRenderedNames: all names in the rendered manifests of each variant refer to existing
// objects.
func TestRenderedNames(t *testing.T) {
	for _, v := range manifests.Installed() {
		t.Run(v.Name, func(t *testing.T) {
			for _, problem := range problems(render(t, v)) {
				t.Error(problem)
			}
		})
	}
}

// TestRenderedTenants: the component tenants adds the kinds and the roles, and nothing else.
func TestRenderedTenants(t *testing.T) {
	var added []string
	for _, o := range render(t, manifests.Tenants()) {
		if !slices.ContainsFunc(render(t, manifests.Beside()), func(b *unstructured.Unstructured) bool {
			return b.GetKind() == o.GetKind() && b.GetName() == o.GetName()
		}) {
			added = append(added, o.GetKind()+" "+o.GetName())
		}
	}
	slices.Sort(added)
	want := []string{
		"ClusterRole berth:platform", "ClusterRole berth:tenant", "ClusterRole berth:tenant-view",
		"CustomResourceDefinition plugingrants.berth.dev", "CustomResourceDefinition schedulerplugins.berth.dev",
		"CustomResourceDefinition tenantplugins.berth.dev",
	}
	if !slices.Equal(added, want) {
		t.Errorf("it adds %q, want %q", added, want)
	}
}

// TestRenderedNamesFound: the problems that TestRenderedNames looks for are found.
func TestRenderedNamesFound(t *testing.T) {
	for _, test := range []struct{ file, text, by, want string }{
		{"kustomization.yaml", "- name: berth-config", "- name: berth", "ConfigMap berth-config is not there"},
		{"deployment.yaml", "configMap: {name: berth-config}", "configMap: {name: other}", "ConfigMap other is not there"},
		{"deployment.yaml", "serviceAccountName: berth", "serviceAccountName: other", "ServiceAccount other is not there"},
		{"deployment.yaml", "{name: https, containerPort", "{name: web, containerPort", "port https"},
		{"lease.yaml", "name: berth", "name: other", "Lease berth is not there"},
		{"scheduler.yaml", "resourceName: berth", "resourceName: other", "may not use the lease other"},
		{"rbac.yaml", "resourceNames: [berth, ", "resourceNames: [other, ", "may not use the lease berth"},
		{"networkpolicy.yaml", "matchLabels: {app.kubernetes.io/name: berth}", "matchLabels: {app: berth}", "NetworkPolicy berth selects no pod"},
		{"podmonitor.yaml", ", berth-static]", "]", "does not select the static pod"},
		{"podmonitor.yaml", "key: app.kubernetes.io/name", "key: app", "PodMonitor berth selects no pod"},
	} {
		t.Run(test.want, func(t *testing.T) {
			v := manifests.Variant{Name: "broken", Edit: func(files map[string]string) error {
				if err := manifests.Monitored().Edit(files); err != nil {
					return err
				}
				if !strings.Contains(files[test.file], test.text) {
					t.Fatalf("%s has no %q", test.file, test.text)
				}
				files[test.file] = strings.Replace(files[test.file], test.text, test.by, 1)
				return nil
			}}
			if got := strings.Join(problems(render(t, v)), "\n"); !strings.Contains(got, test.want) {
				t.Errorf("found are %q, want %q", got, test.want)
			}
		})
	}
	// Why a Lease and a generated ConfigMap must not have the same name: kustomize takes the
	// name in a Role for that of the ConfigMap.
	v := manifests.Variant{Name: "one name", Edit: func(files map[string]string) error {
		for name := range files {
			files[name] = strings.ReplaceAll(files[name], "berth-config", "berth")
		}
		return nil
	}}
	if got := strings.Join(problems(render(t, v)), "\n"); !strings.Contains(got, "may not use the lease berth") {
		t.Errorf("found are %q", got)
	}
}

func render(t *testing.T, v manifests.Variant) []*unstructured.Unstructured {
	t.Helper()
	objects, err := manifests.Render(deploy, v)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// known are roles that every API server creates.
var known = []string{"ClusterRole system:auth-delegator", "Role extension-apiserver-authentication-reader"}

// checker finds references to objects that do not exist.
type checker struct {
	objects  []*unstructured.Unstructured
	problems []string
}

func problems(objects []*unstructured.Unstructured) []string {
	c := &checker{objects: objects}
	for _, o := range objects {
		switch o.GetKind() {
		case "Deployment":
			c.deployment(convert[appsv1.Deployment](o))
		case "RoleBinding", "ClusterRoleBinding":
			b := convert[rbacv1.RoleBinding](o)
			c.want(b.RoleRef.Kind, b.RoleRef.Name)
			for _, s := range b.Subjects {
				c.want(s.Kind, s.Name)
			}
		case "PodDisruptionBudget":
			c.selects(o, convert[policyv1.PodDisruptionBudget](o).Spec.Selector)
		case "NetworkPolicy":
			c.selects(o, &convert[networkingv1.NetworkPolicy](o).Spec.PodSelector)
		case "PodMonitor":
			c.podMonitor(o)
		}
	}
	return c.problems
}

func convert[T any](o *unstructured.Unstructured) *T {
	out := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, out, true); err != nil {
		panic(err)
	}
	return out
}

func (c *checker) complain(text ...string) { c.problems = append(c.problems, strings.Join(text, " ")) }

// find returns the object of a kind and a name; nil if there is none.
func (c *checker) find(kind, name string) *unstructured.Unstructured {
	for _, o := range c.objects {
		if o.GetKind() == kind && o.GetName() == name {
			return o
		}
	}
	return nil
}

func (c *checker) want(kind, name string) {
	if c.find(kind, name) == nil && !slices.Contains(known, kind+" "+name) {
		c.complain(kind, name, "is not there")
	}
}

func (c *checker) deployment(d *appsv1.Deployment) {
	pod := &d.Spec.Template.Spec
	c.want("ServiceAccount", pod.ServiceAccountName)
	container := &pod.Containers[0]
	for _, probe := range []*v1.Probe{container.LivenessProbe, container.ReadinessProbe, container.StartupProbe} {
		c.port(container, probe.HTTPGet.Port.StrVal)
	}
	for i := range pod.Volumes {
		switch v := &pod.Volumes[i]; {
		case v.ConfigMap != nil:
			c.want("ConfigMap", v.ConfigMap.Name)
			if o := c.find("ConfigMap", v.ConfigMap.Name); o != nil {
				c.config(convert[v1.ConfigMap](o), pod.ServiceAccountName)
			}
		case v.Secret != nil:
			c.want("Secret", v.Secret.SecretName)
		case v.PersistentVolumeClaim != nil:
			c.want("PersistentVolumeClaim", v.PersistentVolumeClaim.ClaimName)
		}
	}
}

func (c *checker) port(container *v1.Container, name string) {
	if !slices.ContainsFunc(container.Ports, func(p v1.ContainerPort) bool { return p.Name == name }) {
		c.complain("the container has no port", name)
	}
}

// config requires the lease of a configuration to exist, and the user to be allowed to use it.
// kube-scheduler's lease exists where kube-scheduler has run.
func (c *checker) config(m *v1.ConfigMap, user string) {
	var config struct {
		LeaderElection struct{ ResourceName, ResourceNamespace string }
	}
	if err := yaml.Unmarshal([]byte(m.Data["scheduler.yaml"]), &config); err != nil {
		c.complain(err.Error())
	}
	lease := config.LeaderElection
	if lease.ResourceName != "kube-scheduler" {
		c.want("Lease", lease.ResourceName)
	}
	for _, verb := range []string{"get", "update"} {
		if !c.allowed(user, verb, lease.ResourceNamespace, lease.ResourceName) {
			c.complain(user, "may not use the lease", lease.ResourceName+":", verb, "is missing")
		}
	}
}

// allowed reports whether a Role lets a service account do something with a lease.
func (c *checker) allowed(user, verb, namespace, lease string) bool {
	for _, o := range c.objects {
		if o.GetKind() != "RoleBinding" || o.GetNamespace() != namespace {
			continue
		}
		binding := convert[rbacv1.RoleBinding](o)
		role := c.find(binding.RoleRef.Kind, binding.RoleRef.Name)
		if role == nil || !slices.ContainsFunc(binding.Subjects, func(s rbacv1.Subject) bool { return s.Name == user }) {
			continue
		}
		for _, rule := range convert[rbacv1.Role](role).Rules {
			if slices.Contains(rule.Resources, "leases") && slices.Contains(rule.Verbs, verb) && slices.Contains(rule.ResourceNames, lease) {
				return true
			}
		}
	}
	return false
}

func (c *checker) selects(o *unstructured.Unstructured, selector *metav1.LabelSelector) {
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		c.complain(o.GetKind(), o.GetName(), err.Error())
		return
	}
	for _, d := range c.objects {
		if d.GetKind() == "Deployment" && d.GetNamespace() == o.GetNamespace() && !s.Empty() && s.Matches(labels.Set(convert[appsv1.Deployment](d).Spec.Template.Labels)) {
			return
		}
	}
	c.complain(o.GetKind(), o.GetName(), "selects no pod")
}

func (c *checker) podMonitor(o *unstructured.Unstructured) {
	var monitor struct {
		Selector            metav1.LabelSelector
		PodMetricsEndpoints []struct{ Port string }
	}
	spec, err := yaml.Marshal(o.Object["spec"])
	if err == nil {
		err = yaml.Unmarshal(spec, &monitor)
	}
	if err != nil || len(monitor.PodMetricsEndpoints) == 0 {
		c.complain("PodMonitor", o.GetName(), "has no endpoints")
		return
	}
	c.selects(o, &monitor.Selector)
	var static v1.Pod
	text, err := os.ReadFile(filepath.Join(deploy, "static-pod.yaml"))
	if err == nil {
		err = yaml.UnmarshalStrict(text, &static)
	}
	s, also := metav1.LabelSelectorAsSelector(&monitor.Selector)
	if err = errors.Join(err, also); err != nil || !s.Matches(labels.Set(static.Labels)) {
		c.complain("PodMonitor", o.GetName(), "does not select the static pod:", fmt.Sprint(err))
	}
	c.port(&static.Spec.Containers[0], monitor.PodMetricsEndpoints[0].Port)
	for _, d := range c.objects {
		if d.GetKind() == "Deployment" {
			c.port(&convert[appsv1.Deployment](d).Spec.Template.Spec.Containers[0], monitor.PodMetricsEndpoints[0].Port)
		}
	}
}
