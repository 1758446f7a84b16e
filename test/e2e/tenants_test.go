package e2e

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/runtime/debughttp"
	"github.com/berth-scheduler/berth/test/internal/cluster"
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
	for end := time.Now().Add(s.within(statusPatience)); ; time.Sleep(100 * time.Millisecond) {
		status, err := s.objects.Status(s.ctx, args[0], args[1])
		if err != nil {
			return err
		}
		var said struct{ Conditions []metav1.Condition }
		if err := json.Unmarshal(status, &said); err != nil {
			return err
		}
		if len(said.Conditions) > 0 && said.Conditions[0].Reason == args[2] && pattern.Match(status) {
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

// unseen requires a text that a pod of another tenant has to be in nothing that is about the
// namespace: its objects, events, metrics and log lines, and what the scheduler says of its pods
// and plugins.
func (s *script) unseen(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("want TEXT NAMESPACE/POD SOCKET")
	}
	marker, pod, socket := args[0], args[1], cluster.SocketClient(args[2])
	pods, err := s.view.client.CoreV1().Pods(s.namespace).List(s.ctx, metav1.ListOptions{})
	if err != nil || len(pods.Items) == 0 {
		return fmt.Errorf("%d pods: %w", len(pods.Items), err)
	}
	texts := map[string]string{"log": ofLines(s.process.Log(), s.namespace+"/")}
	if !strings.Contains(s.process.Log(), marker) {
		return fmt.Errorf("nothing logs %q", marker)
	}
	for _, path := range []string{debughttp.PluginsPath, "/metrics"} {
		text, err := get(socket, path)
		if err != nil || !strings.Contains(text, marker) {
			return fmt.Errorf("%s has no %q: %w", path, marker, err)
		}
		texts[path] = ofLines(text, s.namespace+"/")
	}
	if text, err := get(socket, debughttp.ExplainPath+pod); err != nil || !strings.Contains(text, marker) {
		return fmt.Errorf("%s is explained without %q: %w", pod, marker, err)
	}
	for i := range pods.Items {
		path := debughttp.ExplainPath + s.namespace + "/" + pods.Items[i].Name
		if texts[path], err = get(socket, path); err != nil {
			return err
		}
	}
	for _, path := range []string{"/api/v1/namespaces/%s/pods", "/api/v1/namespaces/%s/events", "/apis/events.k8s.io/v1/namespaces/%s/events", "/apis/berth.dev/v1alpha1/namespaces/%s/tenantplugins"} {
		path = fmt.Sprintf(path, s.namespace)
		text, err := s.view.client.CoreV1().RESTClient().Get().AbsPath(path).DoRaw(s.ctx)
		if err != nil {
			return err
		}
		texts[path] = string(text)
	}
	for from, text := range texts {
		if text == "" || strings.Contains(text, marker) {
			return fmt.Errorf("%s says of the namespace:\n%s", from, text)
		}
	}
	return nil
}

// get reads a page of the scheduler.
func get(client *http.Client, path string) (string, error) {
	response, err := client.Get("http://berth" + path)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(response.Body)
	return string(text), errors.Join(err, response.Body.Close())
}

// ofLines returns the lines that have a text. A page of JSON has one object a line here.
func ofLines(page, text string) string {
	var out []string
	for line := range strings.Lines(strings.ReplaceAll(page, "},{", "},\n{")) {
		if strings.Contains(line, text) {
			out = append(out, line)
		}
	}
	return strings.Join(out, "")
}
