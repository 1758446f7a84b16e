package bridge_test

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/hostplugins/bridge"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// TestHosts: each profile has its own handle, which its plugins share; the dependencies are the profile's; plugins get their
// args and the scheduler's context.
func TestHosts(t *testing.T) {
	handles := make(map[string][]framework.Handle)
	ctx := t.Context()
	source := func(name string) bridge.Source {
		return bridge.Source{Name: name, Factory: func(life context.Context, args runtime.Object, h framework.Handle) (framework.Plugin, error) {
			if life != ctx || string(args.(*runtime.Unknown).Raw) != "{}" {
				t.Errorf("%s was made with %v", name, args)
			}
			handles[h.ProfileName()] = append(handles[h.ProfileName()], h)
			return watcher{named(name)}, nil
		}}
	}
	client := kubernetes.NewForConfigOrDie(&rest.Config{})
	l := &loop{waiting: []plugin.WaitingPod{{Pod: state.NewPod(pod("p"))}}}
	hosts := &bridge.Hosts{Sources: []bridge.Source{source("A"), source("B")}}
	check(t, "names", hosts.Names(), "[A B]")
	add := func(profile string) {
		t.Helper()
		r := hosts.Registry(ctx, profile, 3, func() plugin.Loop { return l })
		for _, name := range hosts.Names() {
			p, err := r.New(name, []byte("{}"))
			if err != nil {
				t.Fatal(err)
			}
			if p.Info().Name != name {
				t.Errorf("%s was made as %s", name, p.Info().Name)
			}
		}
	}
	add("alone")
	hosts.Deps = func(profile string) bridge.Deps {
		if profile == "connected" {
			return bridge.Deps{ClientSet: client}
		}
		return bridge.Deps{}
	}
	add("connected")
	add("other")
	for _, profile := range []string{"alone", "connected", "other"} {
		h := handles[profile]
		if len(h) != 2 || h[0] != h[1] || h[0].ClientSet() == nil {
			t.Fatalf("%s has %v", profile, h)
		}
		if (h[0].ClientSet() == kubernetes.Interface(client)) != (profile == "connected") {
			t.Errorf("%s has the client %v", profile, h[0].ClientSet())
		}
		if h[0].GetWaitingPod("p") == nil {
			t.Errorf("%s does not reach the loop", profile)
		}
		check(t, "parallelism", h[0].Parallelizer(), 3)
	}
	if handles["connected"][0] == handles["other"][0] {
		t.Error("two profiles share a handle")
	}
}
