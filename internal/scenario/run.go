package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/berth-scheduler/berth/internal/golden"
)

// Log records what commands print. A nil Log records nothing.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

// Printf adds a line.
func (l *Log) Printf(format string, args ...any) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(&l.text, format+"\n", args...)
}

// Take returns the lines since the last call.
func (l *Log) Take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.text.Reset()
	return l.text.String()
}

// Test runs the files that match a pattern, each as a subtest. world makes the commands of a
// new world.
func Test(t *testing.T, pattern string, world func(t testing.TB, log *Log) Commands) {
	t.Helper()
	for _, path := range Files(t, pattern) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			log := &Log{}
			golden.Check(t, path, Run(t, path, log, func() Commands { return world(t, log) }))
		})
	}
}

// Files returns the files that match a pattern. It fails the test if there are none.
func Files(t testing.TB, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no scenarios (%v)", pattern, err)
	}
	return files
}

// Run returns the text of a file with the outputs replaced by what its commands print to log.
// world makes the commands of a new world.
func Run(t testing.TB, path string, log *Log, world func() Commands) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out, err := run(path, string(text), log, world)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(out)
}

func run(path, text string, log *Log, world func() Commands) (string, error) {
	var out strings.Builder
	language, err := NewLanguage(world())
	if err != nil {
		return "", err
	}
	inOutput := false
	for n, line := range strings.Split(strings.TrimRight(text, "\n")+"\n", "\n") {
		switch {
		case line == "":
			if rest := log.Take(); rest != "" {
				return "", fmt.Errorf("%s:%d: the block has no line ----, but prints\n%s", path, n, rest)
			}
			inOutput = false
		case inOutput:
			continue
		case strings.HasPrefix(line, "#"):
		case line == "----":
			inOutput = true
			line = strings.TrimSuffix("----\n"+log.Take(), "\n")
		case line == "new":
			language, err = NewLanguage(world())
		default:
			err = language.Do(line)
		}
		if err != nil {
			return "", fmt.Errorf("%s:%d: %w", path, n+1, err)
		}
		out.WriteString(line + "\n")
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}
