package app

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// TestRecordingAlone repeats and asks a recording where there is nothing else: no network interface, and no file but those that the user
// names, this program, and its libraries.
func TestRecordingAlone(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	data, err := vector("good")
	if err != nil {
		t.Fatal(err)
	}
	wasm := filepath.Join(dir, "good.wasm")
	write(t, wasm, string(data))
	var out, errs bytes.Buffer
	args := []string{"simulate", "--cluster", "../berth/demo/cluster", "--plugin", wasm, "--record", filepath.Join(root, "day.berthrec")}
	if status := run(t.Context(), args, &out, &errs); status != exitOK {
		t.Fatal(status, errs.String())
	}
	write(t, filepath.Join(root, "pod.yaml"), "apiVersion: v1\nkind: Pod\n"+
		"metadata: {name: a, namespace: ns}\nspec: {containers: [{name: c, image: i}]}\n")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	copyFile(t, program, filepath.Join(root, "berth"))
	libraries, _ := exec.CommandContext(t.Context(), "ldd", program).Output() // a static program has none
	for _, path := range regexp.MustCompile(`/\S+`).FindAllString(string(libraries), -1) {
		copyFile(t, path, filepath.Join(root, path))
	}
	alone := func(args ...string) (string, error) {
		c := exec.CommandContext(t.Context(), "/berth", append(args, "--module-cache", "none", "--compile-time", "0")...)
		c.Dir, c.Env = "/", []string{"TMPDIR=/"}
		c.SysProcAttr = &syscall.SysProcAttr{
			Chroot: root, Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
			UidMappings: []syscall.SysProcIDMap{{Size: 1, HostID: os.Getuid()}}, GidMappings: []syscall.SysProcIDMap{{Size: 1, HostID: os.Getgid()}},
		}
		out, err := c.CombinedOutput()
		return string(out), err
	}
	if out, err := alone("version"); err != nil && out == "" {
		t.Skip("this machine has no namespaces of users: ", err)
	}
	for want, args := range map[string][]string{
		"All are as recorded.": {"replay", "/day.berthrec"},
		"ns/a":                 {"whatif", "--recording", "/day.berthrec", "--pods", "/pod.yaml"},
	} {
		if out, err := alone(args...); err != nil || !strings.Contains(out, want) {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o755)
	}
	if err == nil {
		err = os.WriteFile(to, data, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}
