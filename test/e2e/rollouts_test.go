package e2e

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// load creates pods until the script ends, so many in a second.
func (s *script) load(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("want RATE")
	}
	rate, err := strconv.Atoi(args[0])
	if err != nil || rate < 1 {
		return fmt.Errorf("RATE %q: %w", args[0], err)
	}
	ctx, stop := context.WithCancel(s.ctx)
	var creating sync.WaitGroup
	s.Defer(func() { stop(); creating.Wait() })
	creating.Go(func() {
		tick := time.NewTicker(time.Second / time.Duration(rate))
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("load-%05d", i)}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "i"}}}}
			if _, err := s.view.client.CoreV1().Pods(s.namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil && ctx.Err() == nil {
				s.t.Error(err)
				return
			}
		}
	})
	return nil
}
