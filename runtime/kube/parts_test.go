package kube_test

import (
	"context"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/internal/eventually"
	"github.com/berth-scheduler/berth/runtime/kube"
)

// TestRestPartsOfLeader: the replica that leads tells of its parts, in events about the lease; a
// standby tells of nothing.
func TestRestPartsOfLeader(t *testing.T) {
	c, client := connect(t)
	standby, err := kube.New(kube.Config{Profiles: []string{"default-scheduler"}}, kube.Deps{Client: client})
	if err != nil {
		t.Fatal(err)
	}
	defer standby.Close(t.Context())
	run := func(c *kube.Cluster, name string) (end func()) {
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		looks := 0
		go func() {
			ended <- c.Run(ctx, kube.RunConfig{Grace: time.Second, DelayCacheUntilActive: true, Parts: func() []kube.Part {
				looks++
				return []kube.Part{{Name: name, Failed: looks > 1, Times: looks, Failure: kube.Notice{Reason: "Broken", Action: "Calling", Note: name + " is broken"}}}
			}}, loop{newEar(c)}, elect(t, client, c))
		}()
		return func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}
	list := func() []string {
		events, err := client.EventsV1().Events("kube-system").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, e := range events.Items {
			if e.Reason != "Broken" {
				continue
			}
			if e.Regarding.Kind != "Lease" || e.Regarding.Name != "kube-scheduler" || e.Type != v1.EventTypeWarning ||
				e.ReportingController != "default-scheduler" || e.ReportingInstance == "" || e.Action == "" || e.EventTime.IsZero() {
				t.Errorf("event is %+v", e)
			}
			out = append(out, e.Note)
		}
		return out
	}
	endFirst := run(c, "one")
	eventually.Holds(t, "an event", func() bool { return len(list()) > 0 })
	endSecond := run(standby, "two")
	time.Sleep(3 * time.Second)
	if got := list(); !slices.Equal(got, []string{"one is broken"}) {
		t.Errorf("events are %q", got)
	}
	endFirst()
	eventually.Holds(t, "an event of the next leader", func() bool { return slices.Equal(list(), []string{"one is broken", "two is broken"}) })
	endSecond()
}
