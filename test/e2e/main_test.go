package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/test/internal/cluster"
	"github.com/berth-scheduler/berth/test/internal/manifests"
)

var (
	schedulerFlag = flag.String("scheduler", string(cluster.BerthProgram), "the scheduler under test, berth or kube-scheduler")
	skew          = flag.String("skew", "", "run the API server of another `minor` version, as v1.36, which its folder in test/skew pins")
	keep          = flag.Bool("keep", false, "keep the cluster's folder, also when all went well")
)

func program() cluster.Program { return cluster.Program(*schedulerFlag) }

var started atomic.Int64 // schedulers

var shared struct {
	sync.Mutex
	cluster *cluster.Cluster
	err     error
}

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if err := shutdown(code == 0 && !*keep); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func shutdown(remove bool) error {
	if shared.cluster == nil {
		return nil
	}
	return stop(shared.cluster, remove)
}

func stop(c *cluster.Cluster, remove bool) error {
	err := c.Stop()
	if remove {
		return errors.Join(err, c.Remove())
	}
	fmt.Fprintln(os.Stderr, "e2e: logs and data are in", c.Dir())
	return err
}

// release releases the leases of killed schedulers; otherwise the next test would wait until
// they expire.
func release(ctx context.Context, c *cluster.Cluster) error {
	client, err := c.Client(cluster.Admin)
	if err != nil {
		return err
	}
	leases := client.CoordinationV1().Leases(metav1.NamespaceSystem)
	list, err := leases.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.Items {
		name := list.Items[i].Name
		if name != "berth" && name != "kube-scheduler" && !strings.HasPrefix(name, "berth-profile-") {
			continue
		}
		_, err := leases.Patch(ctx, name, types.MergePatchType, []byte(`{"spec":{"holderIdentity":""}}`), metav1.PatchOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// start returns the cluster that all tests share, one after the other. It is empty, and is
// emptied when the test ends.
func start(t *testing.T) *cluster.Cluster {
	t.Helper()
	if program() != cluster.BerthProgram && program() != cluster.UpstreamProgram {
		t.Fatalf("-scheduler %s: want %s or %s", program(), cluster.BerthProgram, cluster.UpstreamProgram)
	}
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster == nil && shared.err == nil {
		if shared.cluster, shared.err = startCluster(t.Context()); shared.err == nil {
			_, shared.err = shared.cluster.Install(t.Context(), deploy(), manifests.Beside())
		}
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	c := shared.cluster
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		objects, err := c.Objects("default")
		if err == nil {
			err = errors.Join(objects.Clear(ctx), release(ctx, c))
		}
		if err != nil {
			t.Errorf("cleaning up: %v", err)
		}
	})
	return c
}

// own returns a cluster for this test alone.
func own(t *testing.T) *cluster.Cluster {
	t.Helper()
	c := bare(t)
	if _, err := c.Install(t.Context(), deploy(), manifests.Beside()); err != nil {
		t.Fatal(err)
	}
	return c
}

// bare is like own, without Berth's permissions.
func bare(t *testing.T) *cluster.Cluster {
	t.Helper()
	c, err := startCluster(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(c, !t.Failed() && !*keep); err != nil {
			t.Error(err)
		}
	})
	return c
}

func startCluster(ctx context.Context) (*cluster.Cluster, error) {
	module, err := filepath.Abs("..")
	if err != nil {
		return nil, err
	}
	server := ""
	if *skew != "" {
		server = filepath.Join(module, "skew", *skew)
	}
	binaries, err := cluster.Build(ctx, module, server, os.Stderr)
	if err != nil {
		return nil, err
	}
	c, err := cluster.Start(ctx, cluster.Config{Binaries: binaries, Audited: []cluster.User{cluster.Berth}})
	if err != nil {
		return nil, err
	}
	if err := said(c); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// said prints the version that the API server reports: with -skew a different minor version
// than kube-scheduler's.
func said(c *cluster.Cluster) error {
	client, err := c.Client(cluster.Admin)
	if err != nil {
		return err
	}
	server, err := client.Discovery().ServerVersion()
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "e2e: the API server is", server.GitVersion)
	own := server.GitVersion[:strings.LastIndexByte(server.GitVersion, '.')]
	out, err := exec.Command(c.Binaries().KubeScheduler, "--version").Output()
	if err != nil {
		return err
	}
	other := !strings.Contains(string(out), " "+own+".")
	if other != (*skew != "") || other && own != *skew {
		return fmt.Errorf("the API server is %s beside %s, and -skew is %q", server.GitVersion, strings.TrimSpace(string(out)), *skew)
	}
	return nil
}

// deploy is the folder of the manifests.
func deploy() string { return filepath.Join("..", "..", "deploy") }

// run starts a scheduler, which is stopped when the test ends. When the test
// fails, the end of its log is shown.
func run(t testing.TB, c *cluster.Cluster, s cluster.Scheduler) *cluster.Process {
	t.Helper()
	p, err := launch(t, c, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(t, p) })
	return p
}

// launch starts a scheduler, which end has to stop.
func launch(t testing.TB, c *cluster.Cluster, s cluster.Scheduler) (*cluster.Process, error) {
	if s.Program == "" {
		s.Program = program()
	}
	if s.Name == "" {
		s.Name = string(s.Program)
	}
	// Each has a log of its own.
	s.Name = fmt.Sprintf("%s-%s-%d", strings.ReplaceAll(t.Name(), "/", "-"), s.Name, started.Add(1))
	return c.StartScheduler(s)
}

// end stops a scheduler if it runs. When the test has failed, the end of its log is
// shown.
func end(t testing.TB, p *cluster.Process) {
	if p.Running() {
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
	}
	if t.Failed() {
		t.Log(p.Tail(30))
	}
}

// supervise starts a scheduler, and restarts it when it exits, as a kubelet does, until the
// test ends. The returned function returns the number of exits.
func supervise(t testing.TB, c *cluster.Cluster, s cluster.Scheduler) (ended func() int64) {
	t.Helper()
	p, err := launch(t, c, s)
	if err != nil {
		t.Fatal(err)
	}
	var count atomic.Int64
	var supervisor sync.WaitGroup
	over := make(chan struct{})
	supervisor.Go(func() {
		defer func() { end(t, p) }()
		for {
			select {
			case <-over:
				return
			case <-p.Exited():
			}
			count.Add(1)
			end(t, p) // for its log
			select {
			case <-over:
				return
			case <-time.After(200 * time.Millisecond): // it may exit at once, each time
			}
			next, err := launch(t, c, s)
			if err != nil {
				t.Error(err)
				return
			}
			p = next
		}
	})
	t.Cleanup(func() {
		close(over)
		supervisor.Wait()
	})
	return count.Load
}
