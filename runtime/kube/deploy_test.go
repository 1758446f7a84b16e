package kube_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/component-helpers/auth/rbac/validation"

	"github.com/berth-scheduler/berth/runtime/kube"
)

// manifests reads the objects of deploy/ and of its components, strictly, but for kinds
// that are not Kubernetes' own.
func manifests(t *testing.T) (out []runtime.Object) {
	t.Helper()
	files, err := filepath.Glob("../../deploy/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	components, err := filepath.Glob("../../deploy/*/*.yaml")
	if err != nil || len(components) == 0 {
		t.Fatalf("no components: %v", err)
	}
	files = append(files, components...)
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		switch filepath.Base(file) {
		case "kustomization.yaml", "podmonitor.yaml", "alerts.yaml", "scheduler.yaml":
			continue
		}
		switch filepath.Base(filepath.Dir(file)) {
		case "crds", "chart": // the API server's tests and test/chart read these
			continue
		}
		documents := yaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(text)))
		for {
			document := make([]byte, len(text))
			n, err := documents.Read(document)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			object, _, err := decoder.Decode(document[:n], nil, nil)
			if err != nil {
				t.Fatalf("%s: %v\n%s", file, err, document[:n])
			}
			out = append(out, object)
		}
	}
	return out
}

// TestTenantRoles: who edits in a namespace gets the rights to attach plugins there, and who views it to see them. Nobody gets
// grants, plugins of the platform or status by that.
func TestTenantRoles(t *testing.T) {
	aggregated := map[string][]rbacv1.PolicyRule{} // by label
	for _, object := range manifests(t) {
		if role, ok := object.(*rbacv1.ClusterRole); ok {
			for label := range role.Labels {
				aggregated[label] = append(aggregated[label], role.Rules...)
			}
		}
	}
	for _, c := range []struct {
		role, verb, resource string
		may                  bool
	}{
		{"edit", "create", "tenantplugins", true},
		{"edit", "patch", "tenantplugins", true},
		{"edit", "patch", "tenantplugins/status", false},
		{"edit", "create", "plugingrants", false},
		{"edit", "get", "schedulerplugins", false},
		{"admin", "delete", "tenantplugins", true},
		{"admin", "create", "plugingrants", false},
		{"view", "list", "tenantplugins", true},
		{"view", "create", "tenantplugins", false},
		{"view", "list", "plugingrants", false},
	} {
		may, _ := validation.Covers(aggregated["rbac.authorization.k8s.io/aggregate-to-"+c.role], []rbacv1.PolicyRule{
			{APIGroups: []string{"berth.dev"}, Resources: []string{c.resource}, Verbs: []string{c.verb}},
		})
		if may != c.may {
			t.Errorf("%s may %s %s: %v", c.role, c.verb, c.resource, may)
		}
	}
}

// TestManifestRights: the ClusterRole lets Berth watch what it watches, and do what it
// does, and no more.
func TestManifestRights(t *testing.T) {
	c, _ := connect(t)
	got := make(map[string]map[string][]string) // by role, verbs by resource.group
	for _, object := range manifests(t) {
		role, ok := object.(*rbacv1.ClusterRole)
		if !ok {
			continue
		}
		rights := make(map[string][]string)
		for _, rule := range role.Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					key := strings.TrimSuffix(resource+"."+group, ".")
					rights[key] = append(rights[key], rule.Verbs...)
				}
			}
		}
		for _, verbs := range rights {
			slices.Sort(verbs)
		}
		got[role.Name] = rights
	}
	berth := map[string][]string{
		"pods/binding": {"create"}, "pods/status": {"patch"}, "pods": {"delete", "get"}, "persistentvolumes": {"update"}, "persistentvolumeclaims": {"update"},
		"resourceclaims.resource.k8s.io": {"create", "delete", "get", "update"}, "resourceclaims/status.resource.k8s.io": {"patch", "update"},
		"resourceclaims/binding.resource.k8s.io": {"patch", "update"},
		"events":                                 {"create", "patch"}, "events.events.k8s.io": {"create", "patch"},
	}
	for _, kind := range []string{"schedulerplugins", "plugingrants", "tenantplugins"} {
		berth[kind+".berth.dev"], berth[kind+"/status.berth.dev"] = []string{"list", "watch"}, []string{"patch"}
	}
	for _, kind := range c.Kinds() {
		berth[kind] = append(berth[kind], "list", "watch")
		slices.Sort(berth[kind])
	}
	all := []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	for role, want := range map[string]map[string][]string{
		"berth": berth, "berth:patch-pods": {"pods": {"patch"}}, "berth:feeds": {"nodes.metrics.k8s.io": {"list"}}, "berth:what-if": {
			"priorityclasses.scheduling.k8s.io": {"list"}, "runtimeclasses.node.k8s.io": {"list"}, "limitranges": {"list"},
			"resourcequotas": {"list"}, "daemonsets.apps": {"list"},
			"mutatingwebhookconfigurations.admissionregistration.k8s.io": {"list"}, "validatingwebhookconfigurations.admissionregistration.k8s.io": {"list"},
		},
		"berth:tenant": {"tenantplugins.berth.dev": all}, "berth:tenant-view": {"tenantplugins.berth.dev": {"get", "list", "watch"}},
		"berth:platform": {"tenantplugins.berth.dev": all, "plugingrants.berth.dev": all, "schedulerplugins.berth.dev": all},
		"berth:viewer":   {"leases.coordination.k8s.io": {"get"}},
	} {
		if !reflect.DeepEqual(got[role], want) {
			t.Errorf("rights of %s are\n%v, want\n%v", role, got[role], want)
		}
		delete(got, role)
	}
	if len(got) > 0 {
		t.Errorf("there are other roles: %v", got)
	}
}

// TestManifestProfileLeases: the leader may use the Leases of the profiles that deploy/ and docs/run.md have.
func TestManifestProfileLeases(t *testing.T) {
	want := []string{kube.ProfileLease("berth"), kube.ProfileLease("default-scheduler")}
	var got []string
	for _, object := range manifests(t) {
		if role, ok := object.(*rbacv1.Role); ok && role.Name == "berth:profiles" && role.Namespace == "kube-system" {
			got = append(got, role.Rules[0].ResourceNames...)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("deploy/rbac.yaml names %q, want %q", got, want)
	}
	if name := kube.ProfileLease("Not a name"); len(name) != len("berth-profile-")+64 || name == kube.ProfileLease("not a name") {
		t.Errorf("the Lease of a profile that is not named like an object is %s", name)
	}
}
