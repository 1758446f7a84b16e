package app

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/debughttp"
	"github.com/berth-scheduler/berth/runtime/kube"
	"github.com/berth-scheduler/berth/runtime/kube/kubefake"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/owners"
	"github.com/berth-scheduler/berth/runtime/sim/input"
	"github.com/berth-scheduler/berth/runtime/whatif"
)

// TestWithoutRights: the answer names what could not be read of what an API server adds to pods.
func TestWithoutRights(t *testing.T) {
	all := input.KnownKinds()
	for name, missing := range map[string][]string{
		"all rights": nil, "none": all, "some": {"PriorityClass", "LimitRange", "DaemonSet"}, "but one": {"RuntimeClass"},
	} {
		t.Run(name, func(t *testing.T) {
			own := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "own"}, Value: 7}
			answer := askAs(t, func(context.Context) (objects []apiruntime.Object, kinds []string) {
				if !slices.Contains(missing, "PriorityClass") {
					objects = append(objects, own)
				}
				return objects, slices.DeleteFunc(slices.Clone(all), func(kind string) bool { return slices.Contains(missing, kind) })
			})
			if !slices.Equal(answer.NotKnown, missing) {
				t.Errorf("not known are %v, want %v", answer.NotKnown, missing)
			}
			var text bytes.Buffer
			(&printer{w: &text, width: 200}).whatIf(answer)
			if says := "objects of kind " + strings.Join(missing, ", ") + "."; len(missing) > 0 != strings.Contains(text.String(), says) {
				t.Errorf("it says %s, want %s", text.String(), says)
			}
			assumed := slices.Equal(answer.Unknown, []string{"PriorityClass own (priority 0 was assumed)"})
			if assumed != slices.Contains(missing, "PriorityClass") || answer.Summary.Fit != 1 {
				t.Errorf("unknown are %v, the summary is %+v", answer.Unknown, answer.Summary)
			}
		})
	}
}

// askAs asks a running scheduler that reads optional objects in this way where a pod of the class own would go.
func askAs(t *testing.T, optional func(context.Context) ([]apiruntime.Object, []string)) *whatif.Answer {
	t.Helper()
	w := newWatched(newProgram())
	c, owned := &confirming{}, owners.New()
	a, err := assembly.New(assembly.Config{Seed: 1, Scheduler: assembly.Default()}, assembly.Deps{
		Binder: c, Outlet: c, Services: owned, Controllers: owned, Observer: both{w},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	cluster, err := kube.New(kube.Config{Profiles: []string{"default-scheduler"}}, kube.Deps{Client: kubefake.New().Clients().Main})
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close(t.Context())
	w.running.Store(&running{assembly: a, cluster: cluster, optional: optional})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Scheduler.Run(ctx) }()
	server := httptest.NewServer(whatif.Handler(w.whatIf))
	defer server.Close()
	o := serverOptions{server: server.URL, output: "json", timeLimit: time.Minute}
	body, err := o.ask(t.Context(), http.MethodPost, debughttp.WhatIfPath, `{"apiVersion":"berth.dev/v1alpha1","kind":"WhatIfRequest",
		"pods":[{"pod":{"metadata":{"name":"p","namespace":"ns"},"spec":{"priorityClassName":"own","schedulerName":"default-scheduler","containers":[{"name":"c","image":"i"}]}}}],
		"addNodes":[{"node":{"metadata":{"name":"n"},"status":{"allocatable":{"cpu":"4","pods":"10"}}}}]}`)
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	answer := &whatif.Answer{}
	if err := json.Unmarshal(body, answer); err != nil {
		t.Fatal(err)
	}
	return answer
}
