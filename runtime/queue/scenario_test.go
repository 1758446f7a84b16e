package queue_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/runtime/internal/golden"
	"github.com/berth-scheduler/berth/runtime/queue"
)

// TestScenarios runs testdata/*.txt. A file is blocks of commands, a line
// "----", and what they print up to the next empty line; lines that begin with
// "#" are comments. commands_test.go has the commands.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			golden.Check(t, path, []byte(runScenario(t, string(text))))
		})
	}
}

// runScenario returns text with the outputs replaced by what the commands print.
func runScenario(t *testing.T, text string) string {
	t.Helper()
	var out strings.Builder
	w := newWorld(t, queue.DefaultConfig())
	inOutput := false
	for n, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		switch {
		case line == "":
			inOutput = false
			out.WriteString("\n")
		case inOutput:
		case strings.HasPrefix(line, "#"):
			out.WriteString(line + "\n")
		case line == "----":
			inOutput = true
			out.WriteString("----\n" + w.log.String())
			w.log.Reset()
		default:
			out.WriteString(line + "\n")
			if line == "new" {
				w = newWorld(t, queue.DefaultConfig())
				continue
			}
			if err := w.run(line); err != nil {
				t.Fatalf("line %d: %s: %v", n+1, line, err)
			}
		}
	}
	if w.log.Len() > 0 {
		t.Fatalf("the last block has no ---- line")
	}
	return out.String()
}

// args is the words of a command: names, and key=value options.
type args struct {
	names   []string
	options map[string]string
}

func parseArgs(words []string) args {
	a := args{options: map[string]string{}}
	for _, word := range words {
		if k, v, ok := strings.Cut(word, "="); ok {
			a.options[k] = v
		} else {
			a.names = append(a.names, word)
		}
	}
	return a
}

func (a args) list(key string) []string {
	if a.options[key] == "" {
		return nil
	}
	return strings.Split(a.options[key], ",")
}

func (w *world) run(line string) error {
	words := strings.Fields(line)
	command, ok := commands()[words[0]]
	if !ok {
		return fmt.Errorf("unknown command")
	}
	return command(w, parseArgs(words[1:]))
}
