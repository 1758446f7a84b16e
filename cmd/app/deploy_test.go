package app

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
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

// kustomization is what deploy/kustomization.yaml says, in the words of kustomize.
type kustomization struct {
	APIVersion, Kind      string
	Resources, Components []string
	Images                []struct{ Name, NewName, NewTag string }
	ConfigMapGenerator    []struct {
		Name, Namespace string
		Files           []string
		Options         struct{ Immutable bool }
	}
}

// TestManifests: the configuration is one that Berth takes, and the pods get it. The
// Deployment has two replicas.
func TestManifests(t *testing.T) {
	k := manifest[kustomization](t, "kustomization.yaml")
	for _, file := range k.Resources {
		manifest[map[string]any](t, file)
	}
	generated := k.ConfigMapGenerator[0]
	s, _, err := config.Load(t.Context(), filepath.Join("..", "..", "deploy", generated.Files[0]), assembly.Catalog())
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
	pod := deployment.Spec.Template.Spec
	if pod.Containers[0].Image != k.Images[0].Name {
		t.Errorf("the image is %s, and kustomize is told about %s", pod.Containers[0].Image, k.Images[0].Name)
	}
	mounted := slices.ContainsFunc(pod.Volumes, func(v v1.Volume) bool {
		return v.ConfigMap != nil && v.ConfigMap.Name == generated.Name && generated.Namespace == deployment.Namespace
	})
	if !mounted {
		t.Errorf("ConfigMap %s/%s is not mounted", generated.Namespace, generated.Name)
	}
}

// TestManifestPods: the arguments of the pods are flags of berth run, with values that
// they take; what they name is mounted; and the scheduler and what compiles modules have
// room side by side.
func TestManifestPods(t *testing.T) {
	for file, pod := range map[string]v1.PodSpec{
		"deployment.yaml": manifest[appsv1.Deployment](t, "deployment.yaml").Spec.Template.Spec,
		"static-pod.yaml": manifest[v1.Pod](t, "static-pod.yaml").Spec,
	} {
		container := pod.Containers[0]
		if container.Args[0] != "run" {
			t.Errorf("%s: the command is %s", file, container.Args[0])
		}
		flags := newRun(newProgram()).Flags()
		if err := flags.Parse(container.Args[1:]); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		for _, arg := range container.Args[1:] {
			_, value, _ := strings.Cut(arg, "=")
			mounted := slices.ContainsFunc(container.VolumeMounts, func(m v1.VolumeMount) bool {
				return value == m.MountPath || strings.HasPrefix(value, m.MountPath+"/")
			})
			if strings.HasPrefix(value, "/") && !mounted {
				t.Errorf("%s: %s is not mounted", file, arg)
			}
		}
		for _, m := range container.VolumeMounts {
			if !slices.ContainsFunc(pod.Volumes, func(v v1.Volume) bool { return v.Name == m.Name }) {
				t.Errorf("%s: there is no volume %s", file, m.Name)
			}
		}
		own := slices.IndexFunc(container.Env, func(e v1.EnvVar) bool { return e.Name == "GOMEMLIMIT" })
		mebibytes, err := strconv.ParseInt(strings.TrimSuffix(container.Env[own].Value, "MiB"), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		compiling := resource.MustParse(flags.Lookup("compile-memory").Value.String())
		plugins := resource.MustParse(flags.Lookup("plugin-memory").Value.String())
		if limit := container.Resources.Limits.Memory().Value(); mebibytes<<20+compiling.Value()+compiling.Value()/smallPart+2*plugins.Value() > limit {
			t.Errorf("%s: %d MiB for the scheduler, twice %s for its plugins and five quarters of %s for compiling are more than the limit, "+
				"%d bytes", file, mebibytes, &plugins, &compiling, limit)
		}
	}
}
