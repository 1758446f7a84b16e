package scenario

import (
	"fmt"
	"strings"
	"sync"
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

// Play returns a text with the outputs replaced by what its commands print to log. path is for
// errors. world makes the commands of a new world.
func Play(path, text string, log *Log, world func() Commands) (string, error) {
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
