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
	for role, want := range map[string]map[string][]string{
		"berth": berth, "berth:patch-pods": {"pods": {"patch"}}, "berth:what-if": {
			"priorityclasses.scheduling.k8s.io": {"list"}, "runtimeclasses.node.k8s.io": {"list"}, "limitranges": {"list"},
			"resourcequotas": {"list"}, "daemonsets.apps": {"list"},
			"mutatingwebhookconfigurations.admissionregistration.k8s.io": {"list"}, "validatingwebhookconfigurations.admissionregistration.k8s.io": {"list"},
		}, "berth:viewer": {"leases.coordination.k8s.io": {"get"}},
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
