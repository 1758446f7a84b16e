package clang_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/berth-scheduler/berth/abi/sdk/c/clang/clangtest"
	"github.com/berth-scheduler/berth/internal/testcache"
)

// TestRestSDK runs the SDK's tests in C, natively: each *_test.c is a program, with *_other.c if it
// exists. It uses the sanitizers for addresses and undefined behaviour if their libraries are
// installed. Programs are kept for the next run.
func TestRestSDK(t *testing.T) {
	toolchain := clangtest.Toolchain(t)
	programs, err := filepath.Glob("../tests/*_test.c")
	if err != nil || len(programs) == 0 {
		t.Fatalf("there are no tests: %v", err)
	}
	cache, err := testcache.Dir(filepath.Join("..", "..", "..", ".."), "c")
	if err != nil {
		t.Fatal(err)
	}
	version, err := exec.Command(toolchain.Clang, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range programs {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			files := []string{path}
			if other := strings.TrimSuffix(path, "_test.c") + "_other.c"; exists(other) {
				files = append(files, other)
			}
			key, err := testcache.Key([]string{".."}, []string{".c", ".h", ".json", "sdk_test.go"}, path, string(version))
			if err != nil {
				t.Fatal(err)
			}
			built, err := testcache.File(cache, key, func() ([]byte, error) { return native(t, toolchain.Clang, files) })
			if err != nil {
				t.Fatal(err)
			}
			program := filepath.Join(t.TempDir(), "program")
			// A process that another test starts meanwhile would have the file open for writing, and it could not be run.
			syscall.ForkLock.RLock()
			err = os.WriteFile(program, built, 0o755)
			syscall.ForkLock.RUnlock()
			if err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command(program, "../../../vectors").CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, bytes.TrimSpace(out))
			}
		})
	}
}

// native builds a program for this machine, with the sanitizers if it can.
func native(t *testing.T, compiler string, files []string) ([]byte, error) {
	program := filepath.Join(t.TempDir(), "built")
	compile := func(flags ...string) error {
		args := append(flags, "-std=gnu17", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-I../tests", "-o", program)
		out, err := exec.Command(compiler, append(append(args, files...), "-lm")...).CombinedOutput()
		if err != nil {
			t.Logf("%s", out)
		}
		return err
	}
	if compile("-fsanitize=address,undefined", "-fno-sanitize-recover=all") != nil {
		if err := compile(); err != nil {
			return nil, err
		}
		t.Log("the sanitizers' libraries are not installed, so the tests run without them")
	}
	return os.ReadFile(program)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestRestImports: a module imports only what its plugin uses, even for messages of the SDK before
// it traps.
func TestRestImports(t *testing.T) {
	toolchain := clangtest.Toolchain(t)
	const state = "BerthBytes b;\n  return berth_state_get(\"k\", &b) ? BERTH_SUCCESS : BERTH_SKIP;"
	for body, want := range map[string]string{
		"return berth_node_label(node, (BerthNodeLabel){0});":        "",
		"berth_log(BERTH_INFO, \"hello\");\n  return BERTH_SUCCESS;": "log",
		state: "state_get",
	} {
		module, err := toolchain.Build(context.Background(), folder(t, map[string]string{
			"plugin.c":      strings.Replace(plugin, "return (void)pod, (void)node, BERTH_SUCCESS;", "(void)pod, (void)node;\n  "+body, 1),
			"berth.h":       "",
			"manifest.json": `{"name": "x"}`,
		}))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"log", "state_get", "state_set", "published_get", "pod_object", "node_object"} {
			imported := bytes.Contains(module, append([]byte("\x05berth"), append([]byte{byte(len(name))}, name...)...))
			if imported != (name == want) {
				t.Errorf("%s: the module imports %s: %v", body, name, imported)
			}
		}
		if bytes.Contains(module, []byte("\x03env")) {
			t.Errorf("%s: the module imports from env", body)
		}
	}
}
