package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/config"
)

// manifest reads the first object of a file of deploy/.
func manifest[T any](t *testing.T, file string) (out T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", file))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := bytes.Cut(text, []byte("\n---\n"))
	if err := yaml.UnmarshalStrict(first, &out); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return out
}

// TestManifests: the configuration in the ConfigMap is one that Berth takes. The
// Deployment has two replicas, its arguments are flags of berth run, and what they
// name is mounted.
func TestManifests(t *testing.T) {
	file := filepath.Join(t.TempDir(), "scheduler.yaml")
	if err := os.WriteFile(file, []byte(manifest[v1.ConfigMap](t, "configmap.yaml").Data["scheduler.yaml"]), 0o600); err != nil {
		t.Fatal(err)
	}
	s, _, err := config.Load(file, assembly.Catalog())
	if err != nil {
		t.Fatal(err)
	}
	if s.Profiles[0].SchedulerName != "berth" || s.LeaderElection.ResourceName != "berth" || !*s.LeaderElection.LeaderElect {
		t.Errorf("%+v", s)
	}
	deployment := manifest[appsv1.Deployment](t, "deployment.yaml")
	if *deployment.Spec.Replicas != 2 {
		t.Errorf("%d replicas", *deployment.Spec.Replicas)
	}
	container := deployment.Spec.Template.Spec.Containers[0]
	if container.Args[0] != "run" {
		t.Errorf("the command is %s", container.Args[0])
	}
	flags := newRun().Flags()
	for _, arg := range container.Args[1:] {
		name, value, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		if flags.Lookup(name) == nil {
			t.Errorf("%s is no flag", arg)
		}
		mounted := slices.ContainsFunc(container.VolumeMounts, func(m v1.VolumeMount) bool {
			return value == m.MountPath || strings.HasPrefix(value, m.MountPath+"/")
		})
		if strings.HasPrefix(value, "/") && !mounted {
			t.Errorf("%s is not mounted", arg)
		}
	}
}
