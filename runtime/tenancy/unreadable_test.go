package tenancy_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/tenancy"
)

// TestUnreadable: an object that cannot be read is refused, its pods wait as far as it lets them, and
// others are judged as if it were not there.
func TestUnreadable(t *testing.T) {
	tenant := func(name string, edit func(s *v1alpha1.TenantPluginSpec)) *v1alpha1.TenantPlugin {
		p := &v1alpha1.TenantPlugin{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, UID: types.UID(name)}}
		edit(&p.Spec)
		return p
	}
	stable := &v1alpha1.RolloutStatus{Stable: &v1alpha1.PluginVersion{Module: v1alpha1.ModuleSource{Image: "r.test/p:1"}}}
	edited := tenant("edited", func(s *v1alpha1.TenantPluginSpec) { s.Module.Image, s.Mode = "r.test/p:1", v1alpha1.ModeCanary })
	canary := tenant("canary", func(s *v1alpha1.TenantPluginSpec) { s.Mode = v1alpha1.ModeCanary })
	canary.Status.Rollout = stable
	bad := errors.New("spec: no")
	o := &tenancy.Objects{
		SchedulerPlugins: []*v1alpha1.SchedulerPlugin{{ObjectMeta: metav1.ObjectMeta{Name: "zones", UID: "zones"}, Spec: v1alpha1.SchedulerPluginSpec{Namespaces: []v1alpha1.Namespace{"b", "a"}}}},
		PluginGrants:     []*v1alpha1.PluginGrant{{ObjectMeta: metav1.ObjectMeta{Name: "all", UID: "all"}}},
		TenantPlugins: []*v1alpha1.TenantPlugin{
			edited, canary, tenant("ignored", func(s *v1alpha1.TenantPluginSpec) { s.FailurePolicy = v1alpha1.Ignore }),
			tenant("tried", func(s *v1alpha1.TenantPluginSpec) { s.Mode = v1alpha1.ModeShadow }),
			tenant("released", func(s *v1alpha1.TenantPluginSpec) {
				s.Mode, s.WhenDisabled = v1alpha1.ModeDisabled, v1alpha1.Release
			}),
		},
		BadStatus: map[types.UID]error{"edited": errors.New("status: no")},
		BadSpec:   map[types.UID]error{"zones": bad, "all": bad, "canary": bad, "ignored": bad, "tried": bad, "released": bad},
	}
	r := tenancy.Resolve(o, tenancy.Config{Load: func(ref module.Reference, _ string) (*module.Loaded, error) {
		return nil, fmt.Errorf("%s was fetched", ref.Source())
	}})
	var got []string
	for i := range r.Plugins {
		p := &r.Plugins[i]
		got = append(got, fmt.Sprintf("%s %v %v %s", p.Name, p.Namespaces, p.Holds, p.Refusal.Reason))
		if p.Refusal.Reason == tenancy.Invalid && !strings.Contains(p.Refusal.Message, "does not fit its kind") {
			t.Error(p.Refusal.Message)
		}
	}
	want := []string{
		"zones [a b] true Invalid", "a/canary [a] true Invalid", "a/edited [a] true Invalid", "a/ignored [a] false Invalid",
		"a/released [a] false Disabled", "a/tried [a] false Invalid",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if g := r.Grants[0]; g.Refusal == nil || !strings.Contains(g.Refusal.Message, "spec: no") {
		t.Errorf("%+v", g.Refusal)
	}
}
