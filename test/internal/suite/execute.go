package suite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// patience is how long a package may take.
const patience = "40m"

// build builds the tests of a package, and returns their path. go test does nothing if it is up to date.
func (s *suite) build(ctx context.Context, pkg string) (string, error) {
	program := filepath.Join(filepath.Dir(s.ModuleDir), "bin", "upstream", strings.ReplaceAll(pkg, "/", "-")+".test")
	command := exec.CommandContext(ctx, "go", "test", "-c", "-modfile="+s.tree.modfile, "-ldflags=-s -w", "-o", program, tests+pkg)
	command.Dir = s.ModuleDir
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(command.Args, " "), err, out)
	}
	return program, nil
}

// execute runs the tests that match run, but not skip, and returns what they print. That some fail is no
// error.
func (s *suite) execute(ctx context.Context, pkg, program, scheduler, run, skip string) ([]byte, error) {
	args := []string{"-test.v=test2json", "-test.timeout=" + patience}
	if run != "" {
		args = append(args, "-test.run="+run)
	}
	if skip != "" {
		args = append(args, "-test.skip="+skip)
	}
	// As go test does: in the folder of the sources.
	command := exec.CommandContext(ctx, program, args...)
	command.Dir = filepath.Join(s.tree.dir, "test", "integration", filepath.FromSlash(pkg))
	command.Env = append(slices.Clone(s.env), "UPSTREAM_COMMAND="+scheduler)
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	log, err := os.CreateTemp(s.dir, filepath.Base(program)+"-*.log")
	if err != nil {
		return nil, err
	}
	_, err = log.Write(out.Bytes())
	return out.Bytes(), errors.Join(err, log.Close())
}

// exactly is a pattern for one case.
func exactly(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

func tail(out []byte) []byte { return out[max(0, len(out)-2000):] }
