package app

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/berth-scheduler/berth/runtime/kube"
	"github.com/berth-scheduler/berth/runtime/kube/kubefake"
	"github.com/berth-scheduler/berth/runtime/sim/input"
)

// TestKindsInFiles: what the scheduler watches can be in the files of a cluster and of a question, and so can templates of claims,
// which only a controller reads.
func TestKindsInFiles(t *testing.T) {
	c, err := kube.New(kube.Config{Profiles: []string{"default-scheduler"}}, kube.Deps{Client: kubefake.New().Clients().Main})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	names := []string{"nodes", "pods"}
	for _, l := range new(input.Related).Lists() {
		plural, _ := meta.UnsafeGuessKindToResource(l.Kind)
		names = append(names, schema.GroupResource{Group: plural.Group, Resource: plural.Resource}.String())
	}
	slices.Sort(names)
	got := append(c.Kinds(), "resourceclaimtemplates.resource.k8s.io")
	slices.Sort(got)
	if !slices.Equal(got, names) {
		t.Errorf("watched are\n%v\nin files may be\n%v", got, names)
	}
}
