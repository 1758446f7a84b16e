package kube

import (
	"encoding/json"
	"testing"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
)

// FuzzPluginObject: whatever an object of berth.dev has in it, it becomes one of its kind. One whose spec cannot be read names no module.
func FuzzPluginObject(f *testing.F) {
	kinds := []string{v1alpha1.KindSchedulerPlugin, v1alpha1.KindPluginGrant, v1alpha1.KindTenantPlugin}
	for i := range kinds {
		f.Add(uint8(i), []byte(`{"metadata":{"name":"p","annotations":{"a":"b"}},"spec":{"module":{"image":"r.test/p:1"},"config":{"a":[1]},"mode":"Canary"}}`))
		f.Add(uint8(i), []byte(`{"spec":{"weight":"heavy","failurePolicy":"Ignore"},"status":{"rollout":{"canary":{"step":1e30}}}}`))
		f.Add(uint8(i), []byte(`{"spec":{"namespaces":["a"],"modules":[{"repositories":["r.test/*"]}],"namespaceSelector":{}}}`))
	}
	f.Fuzz(func(t *testing.T, kind uint8, in []byte) {
		p, name := &apiPlugin{}, kinds[int(kind)%len(kinds)]
		if json.Unmarshal(in, p) != nil {
			return
		}
		p.decode(name)
		if p.object == nil || p.Spec != nil || p.Status != nil || p.Annotations != nil || p.object.GetAnnotations() != nil || p.object.GetName() != p.Name {
			t.Fatalf("%+v", p)
		}
		decidesFor(p)
		rolloutOf(p)
		if x, ok := p.object.(*v1alpha1.TenantPlugin); ok && p.badSpec != nil && (x.Spec.Module.Image != "" || x.Spec.Config != nil) {
			t.Errorf("%v, and the spec is %+v", p.badSpec, x.Spec)
		}
	})
}
