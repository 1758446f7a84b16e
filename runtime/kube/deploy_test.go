package kube_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
)

// manifests reads the objects of deploy/, strictly, but for kinds that are not
// Kubernetes' own.
func manifests(t *testing.T) (out []runtime.Object) {
	t.Helper()
	files, err := filepath.Glob("../../deploy/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if name := filepath.Base(file); name == "kustomization.yaml" || name == "podmonitor.yaml" {
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

// TestManifestRights: the ClusterRole lets Berth watch what it watches, and no more.
func TestManifestRights(t *testing.T) {
	c, _ := connect(t)
	var watched []string
	rights := make(map[string][]string) // verbs by resource.group
	for _, object := range manifests(t) {
		role, ok := object.(*rbacv1.ClusterRole)
		if !ok || role.Name != "berth" {
			continue
		}
		for _, rule := range role.Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					key := strings.TrimSuffix(resource+"."+group, ".")
					rights[key] = append(rights[key], rule.Verbs...)
					if slices.Contains(rule.Verbs, "watch") {
						watched = append(watched, key)
					}
				}
			}
		}
	}
	slices.Sort(watched)
	if want := c.Kinds(); !slices.Equal(watched, want) {
		t.Errorf("the role lets watch %q, and %q are watched", watched, want)
	}
	for resource, verbs := range map[string][]string{
		"pods/binding": {"create"}, "pods/status": {"patch"}, "pods": {"delete", "get", "list", "patch", "watch"},
		"persistentvolumes": {"get", "list", "update", "watch"}, "events.events.k8s.io": {"create", "patch", "update"},
	} {
		got := slices.Clone(rights[resource])
		slices.Sort(got)
		if !slices.Equal(got, verbs) {
			t.Errorf("rights on %s are %q, want %q", resource, got, verbs)
		}
	}
}
