package e2e

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// module builds a version of an example plugin in Go into a file; $DIGEST is its digest.
func (s *script) module(args []string) error {
	if len(args) < 3 {
		return fmt.Errorf("want EXAMPLE VERSION FILE [FEED …]")
	}
	repository, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		return err
	}
	example, from := filepath.Join(repository, "wasm-examples", args[0]), repository
	if own := filepath.Join("testdata", args[0]); exists(own) { // it is part of this module
		if example, err = filepath.Abs(own); err != nil {
			return err
		}
		from = example
	}
	text, err := os.ReadFile(filepath.Join(example, "manifest.json"))
	if err != nil {
		return err
	}
	var manifest map[string]any
	if err := json.Unmarshal(text, &manifest); err != nil {
		return err
	}
	manifest["version"] = args[1]
	if required := args[3:]; len(required) > 0 {
		reads, _ := manifest["reads"].(map[string]any)
		feeds, _ := reads["feeds"].([]any)
		for _, feed := range required {
			if !slices.Contains(feeds, any(feed)) {
				feeds = append(feeds, feed)
			}
		}
		reads["feeds"], reads["requiredFeeds"] = feeds, required
	}
	if text, err = json.Marshal(manifest); err != nil {
		return err
	}
	file := s.MkAbs(".manifest.json")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return err
	}
	build := exec.CommandContext(s.ctx, s.cluster.Binaries().Berth, "plugin", "build", filepath.Join(example, "guest"), "--manifest", file, "-o", s.MkAbs(args[2]))
	build.Dir = from
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(build.Args, " "), err, out)
	}
	binary, err := os.ReadFile(s.MkAbs(args[2]))
	s.Setenv("DIGEST", fmt.Sprintf("sha256:%x", sha256.Sum256(binary)))
	return err
}

func exists(dir string) bool {
	_, err := os.Stat(dir)
	return err == nil
}

// logged waits until the scheduler has logged a text.
func (s *script) logged(args []string) error {
	if len(args) != 1 && len(args) != 2 {
		return fmt.Errorf("want TEXT [TIMES]")
	}
	for end := time.Now().Add(patience); !strings.Contains(s.process.Log(), args[0]); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("the scheduler did not log %q within %v", args[0], patience)
		}
	}
	if n := fmt.Sprint(strings.Count(s.process.Log(), args[0])); len(args) == 2 && n != args[1] {
		return fmt.Errorf("the scheduler logged %q %s times", args[0], n)
	}
	return nil
}
