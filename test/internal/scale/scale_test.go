package scale_test

import (
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/berth-scheduler/berth/test/internal/scale"
)

// TestEngines: both engines place all pods of each kind, and what that costs is measured.
func TestEngines(t *testing.T) {
	klog.SetLogger(logr.Discard())
	for _, kind := range []scale.Kind{scale.Plain, scale.Spread, scale.Preferred, scale.Anti} {
		w := scale.New(kind, 150, 200, 4)
		for name, place := range map[string]func() (scale.Cost, error){
			"berth":                     func() (scale.Cost, error) { return scale.Berth(t.Context(), w, nil, true) },
			"berth without reuse":       func() (scale.Cost, error) { return scale.Berth(t.Context(), w, nil, false) },
			"kube-scheduler":            func() (scale.Cost, error) { return scale.Kube(t.Context(), w, false) },
			"kube-scheduler, all nodes": func() (scale.Cost, error) { return scale.Kube(t.Context(), w, true) },
		} {
			if cost, err := place(); err != nil || cost.CPU <= 0 || cost.Wall <= 0 {
				t.Errorf("%s, %s: %+v, %v", kind, name, cost, err)
			} else {
				t.Logf("%s, %s: %v of CPU a pod", kind, name, cost.CPU)
			}
		}
	}
}
