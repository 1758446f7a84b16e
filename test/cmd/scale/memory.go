package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"

	"github.com/berth-scheduler/berth/test/internal/scale"
)

// memoryOf measures a simulation of NODES,PODS in this process, and prints it.
func memoryOf(ctx context.Context, size string) error {
	var nodes, pods int
	if _, err := fmt.Sscanf(size, "%d,%d", &nodes, &pods); err != nil || nodes < 1 || pods < 1 {
		return fmt.Errorf("-memory %s: want NODES,PODS, such as 1000,10000", size)
	}
	m, err := scale.Footprint(ctx, nodes, pods)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(m)
}

// podsPerNode is how many pods of the largest cluster have a node.
const podsPerNode = 10

// measureMemory measures the largest cluster in processes of their own, with hardly any pods and
// with many.
func (r *run) measureMemory(page *report) error {
	nodes := min(100_000, r.most)
	few, err := r.footprint(nodes, 1)
	if err != nil {
		return err
	}
	pods := podsPerNode * nodes
	many, err := r.footprint(nodes, pods)
	if err != nil {
		return err
	}
	page.Memory = memory{
		Nodes: grouped(nodes), Pods: grouped(pods), Peak: fmt.Sprintf("%.1f", float64(many.Peak)/(1<<30)), Live: fmt.Sprintf("%.1f", float64(many.Live)/(1<<30)),
		PerNode: fmt.Sprintf("%.1f", float64(few.Live)/float64(nodes)/1024), PerPod: fmt.Sprintf("%.1f", float64(many.Live-few.Live)/float64(pods)/1024),
	}
	return nil
}

// memory is what a simulation takes: in all in GiB, a node and a pod in KiB.
type memory struct{ Nodes, Pods, Peak, Live, PerNode, PerPod string }

func (r *run) footprint(nodes, pods int) (m scale.Memory, err error) {
	self, err := os.Executable()
	if err != nil {
		return m, err
	}
	cmd := exec.CommandContext(r.ctx, self, "-memory", fmt.Sprint(nodes, ",", pods)) //nolint:gosec // this program
	cmd.Env = append(os.Environ(), "GOMEMLIMIT=7GiB")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return m, fmt.Errorf("memory of %d nodes and %d pods: %w", nodes, pods, err)
	}
	err = json.Unmarshal(out, &m)
	_, _ = fmt.Fprintf(r.log, "memory, %d nodes, %d pods: %d MiB, at most %d MiB\n", nodes, pods, m.Live>>20, m.Peak>>20)
	return m, err
}
