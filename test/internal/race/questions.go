package race

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// asked is how many pods a question is about.
const asked = 100

// questions asks a running Berth where pods would go, again and again. The returned function ends that, and
// returns the number of answers.
func (t *repetition) questions(ctx context.Context) (end func() (int, error), err error) {
	list := v1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}}
	for i := range asked {
		pod := t.leg.Workload.Pod("what-if", i)
		pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
		pod.Spec.PriorityClassName = "" // the cluster's classes are not in the file
		list.Items = append(list.Items, *pod)
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(t.cluster.Dir(), "question.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	answers, done := 0, make(chan error, 1)
	go func() {
		ticks := time.NewTicker(t.config.WhatIf)
		defer ticks.Stop()
		for {
			select {
			case <-ctx.Done():
				done <- nil
				return
			case <-ticks.C:
			}
			out, err := exec.CommandContext(ctx, t.cluster.Binaries().Berth, "whatif", "--pods", file, "--server", "unix:"+t.socket(), "-o", "json").CombinedOutput()
			if err != nil && ctx.Err() == nil {
				done <- fmt.Errorf("berth whatif: %w\n%s", err, out)
				return
			}
			if err == nil {
				answers++
			}
		}
	}()
	return func() (int, error) {
		cancel()
		err := <-done
		return answers, err
	}, nil
}
