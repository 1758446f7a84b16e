package scale_test

import (
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/berth-scheduler/berth/test/internal/scale"
	wasmexamples "github.com/berth-scheduler/berth/wasm-examples"
)

// built builds an example, and returns the module's file.
func built(t *testing.T, name string) string {
	t.Helper()
	for _, e := range wasmexamples.All() {
		if e.Name == name {
			file, err := e.Build(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			return file
		}
	}
	t.Fatalf("no example is named %s", name)
	return ""
}

// TestNative: pods are placed with the native twin of a module.
func TestNative(t *testing.T) {
	module := scale.Module{Name: "zone-cost", Path: built(t, "zone-cost"), Config: `{"zones": {"zone-0": 10, "zone-1": 12.5, "zone-2": 30}}`, Native: true}
	w := scale.New(scale.Plain, 150, 200, 4)
	cost, err := scale.Berth(t.Context(), w, []scale.Module{module}, true)
	if err != nil || cost.CPU <= 0 {
		t.Errorf("%+v, %v", cost, err)
	}
}

// TestChanging: pods leave between those that are measured.
func TestChanging(t *testing.T) {
	cost, err := scale.Berth(t.Context(), scale.New(scale.Plain, 150, 200, 4).Changing(3, 4), nil, true)
	if err != nil || cost.CPU <= 0 {
		t.Errorf("%+v, %v", cost, err)
	}
}

// TestFootprint: pods take memory.
func TestFootprint(t *testing.T) {
	few, err := scale.Footprint(t.Context(), 100, 1)
	if err != nil {
		t.Fatal(err)
	}
	many, err := scale.Footprint(t.Context(), 100, 5000)
	if err != nil {
		t.Fatal(err)
	}
	if pod := (many.Live - few.Live) / 5000; pod < 1<<10 || pod > 32<<10 || many.Peak < many.Live {
		t.Errorf("%+v with one pod, %+v with 5,000", few, many)
	}
}

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
