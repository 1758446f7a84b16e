package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// kinds installs those of berth.dev until the script ends.
func (s *script) kinds([]string) (err error) {
	installKinds(s.t, s.cluster)
	s.objects, err = s.cluster.Objects(s.namespace)
	return err
}

// serve runs `berth registry serve` on a free port; $REGISTRY is its address.
func (s *script) serve([]string) error {
	cmd := exec.CommandContext(s.ctx, s.cluster.Binaries().Berth, "registry", "serve", s.MkAbs("registry"), "--listen", "127.0.0.1:0")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	s.Defer(func() {
		_ = cmd.Process.Kill() // it has ended, or does now
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	_, address, ok := strings.Cut(strings.TrimSpace(line), " at ")
	if err != nil || !ok {
		return fmt.Errorf("the registry prints %q: %w", line, err)
	}
	s.Setenv("REGISTRY", address)
	return nil
}

// publish stores a module in the registry, as tenant-pool, and signs it.
func (s *script) publish(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("want FILE VERSION KEY")
	}
	image := s.Getenv("REGISTRY") + "/tenant-pool:" + args[1]
	for _, command := range [][]string{{"push", s.MkAbs(args[0]), image}, {"sign", image, "--key", s.MkAbs(args[2])}} {
		cmd := exec.CommandContext(s.ctx, s.cluster.Binaries().Berth, append([]string{"plugin"}, command...)...)
		cmd.Env = append(os.Environ(), "DOCKER_CONFIG="+s.MkAbs("."), "BERTH_KEY_PASSWORD="+s.Getenv("BERTH_KEY_PASSWORD"))
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", cmd, err, out)
		}
	}
	return nil
}

// indented sets a variable to the text of a file, whose lines are indented as in a grant.
func (s *script) indented(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("want VARIABLE FILE")
	}
	s.Setenv(args[0], strings.ReplaceAll(strings.TrimSpace(s.ReadFile(args[1])), "\n", "\n          "))
	return nil
}

// statusPatience is patience after the longest time in which the status of an object is not
// written.
const statusPatience = patience + 30*time.Second

// ready waits until the condition Ready of an object has a reason, and its status a pattern. It
// prints the status.
func (s *script) ready(args []string) error {
	if len(args) < 3 {
		return fmt.Errorf("want KIND NAME REASON [PATTERN]")
	}
	pattern, err := regexp.Compile(strings.Join(args[3:], ""))
	if err != nil {
		return err
	}
	for end := time.Now().Add(statusPatience); ; time.Sleep(100 * time.Millisecond) {
		status, err := s.objects.Status(s.ctx, args[0], args[1])
		if err != nil {
			return err
		}
		var said struct{ Conditions []metav1.Condition }
		if err := json.Unmarshal(status, &said); err != nil {
			return err
		}
		if len(said.Conditions) == 1 && said.Conditions[0].Reason == args[2] && pattern.Match(status) {
			fmt.Fprintf(s.Stdout(), "%s\n", status)
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s %s has the status %s", args[0], args[1], status)
		}
	}
}

// placed waits until a pod of another namespace is bound.
func (s *script) placed(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("want NAMESPACE POD")
	}
	return view{client: s.view.client, namespace: args[0]}.await(s.ctx, args[1], bound, "", patience)
}

// unseen requires a text to be in nothing of the namespace that its users can read.
func (s *script) unseen(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("want TEXT")
	}
	for _, path := range []string{"/api/v1/namespaces/%s/pods", "/api/v1/namespaces/%s/events", "/apis/events.k8s.io/v1/namespaces/%s/events", "/apis/berth.dev/v1alpha1/namespaces/%s/tenantplugins"} {
		text, err := s.view.client.CoreV1().RESTClient().Get().AbsPath(fmt.Sprintf(path, s.namespace)).DoRaw(s.ctx)
		if err != nil {
			return err
		}
		if strings.Contains(string(text), args[0]) {
			return fmt.Errorf("%s has %q:\n%s", path, args[0], text)
		}
	}
	if pods, err := s.view.client.CoreV1().Pods(v1.NamespaceAll).List(s.ctx, metav1.ListOptions{}); err != nil || !strings.Contains(pods.String(), args[0]) {
		return fmt.Errorf("no pod has %q: %w", args[0], err)
	}
	return nil
}
