package kube_test

import (
	"context"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/runtime/kube"
)

// loop is an ear that tells when it stands by and when it schedules.
type loop struct{ *ear }

func (l loop) Standby(ctx context.Context) error {
	l.hear("stands by")
	<-ctx.Done()
	l.hear("stands by no more")
	return nil
}

func (l loop) Run(ctx context.Context) error {
	l.hear("schedules")
	<-ctx.Done()
	return nil
}

// TestRun: a replica that does not lead is told of the cluster, unless it is to be told
// only when it leads; it schedules when it leads and knows the cluster.
func TestRun(t *testing.T) {
	for _, test := range []struct {
		name     string
		delay    bool
		standing []string // heard before it leads
		leading  []string // heard from then on
	}{
		{"warm", false, []string{"pod ns/p uid-p on ", "stands by"}, []string{"leads", "stands by no more", "knows the cluster", "schedules"}},
		{"delayed", true, []string{"stands by"}, []string{"leads", "pod ns/p uid-p on ", "stands by no more", "knows the cluster", "schedules"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, client := connect(t, pod("p", "", "default-scheduler"))
			first, endFirst := context.WithCancel(context.Background())
			defer endFirst()
			leads, ended := make(chan struct{}), make(chan error, 2)
			go func() {
				ended <- elect(t, client, c).Lead(first, func(ctx context.Context) error {
					close(leads)
					<-ctx.Done()
					return nil
				})
			}()
			<-leads
			l := loop{newEar(c)}
			ctx, end := context.WithCancel(context.Background())
			defer end()
			go func() {
				ended <- c.Run(ctx, kube.RunConfig{
					DelayCacheUntilActive: test.delay, Grace: time.Second,
					Leading: func() { l.hear("leads") }, Scheduling: func() { l.hear("knows the cluster") },
				}, l, elect(t, client, c))
			}()
			l.expect(t, test.standing...)
			time.Sleep(50 * time.Millisecond)
			l.never(t)
			endFirst()
			l.expect(t, test.leading...)
			end()
			for range 2 {
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
			l.never(t)
		})
	}
}
