package fake

import (
	"fmt"
	"strings"
)

// Args is the words of a line: names, and key=value options in their order. A
// word may have quoted parts, in which spaces count as letters.
type Args struct {
	Names   []string
	Keys    []string
	Options map[string]string
}

// Parse splits a line.
func Parse(line string) Args {
	a := Args{Options: map[string]string{}}
	for _, word := range words(line) {
		if k, v, ok := strings.Cut(word, "="); ok {
			a.Keys = append(a.Keys, k)
			a.Options[k] = v
		} else {
			a.Names = append(a.Names, word)
		}
	}
	return a
}

// Has reports whether an option is given.
func (a Args) Has(key string) bool { _, ok := a.Options[key]; return ok }

// Name returns the i-th name, or nothing.
func (a Args) Name(i int) string {
	if i < len(a.Names) {
		return a.Names[i]
	}
	return ""
}

func words(line string) (out []string) {
	var word strings.Builder
	quoted, any := false, false
	for _, c := range line {
		switch {
		case c == '"':
			quoted, any = !quoted, true
		case c == ' ' && !quoted:
			if any {
				out = append(out, word.String())
				word.Reset()
			}
			any = false
		default:
			word.WriteRune(c)
			any = true
		}
	}
	if any {
		out = append(out, word.String())
	}
	return out
}

// Command carries out a line whose first word is its name.
type Command func(a Args) error

// Run returns the text of a scenario with the outputs replaced by what its
// commands print. A scenario is blocks of lines with commands, a line "----",
// and the output up to the next empty line; lines that begin with # are
// comments. reset, which the command "new" calls too, makes the commands of a
// new world.
func Run(text string, log *Log, reset func() map[string]Command) (string, error) {
	var out strings.Builder
	commands := reset()
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
			out.WriteString("----\n" + log.Take())
		case line == "new":
			out.WriteString("new\n")
			commands = reset()
		default:
			out.WriteString(line + "\n")
			name, rest, _ := strings.Cut(line, " ")
			command, ok := commands[name]
			if !ok {
				return "", fmt.Errorf("line %d: no command %q", n+1, name)
			}
			if err := command(Parse(rest)); err != nil {
				return "", fmt.Errorf("line %d: %s: %w", n+1, line, err)
			}
		}
	}
	if rest := log.Take(); rest != "" {
		return "", fmt.Errorf("the last block has no ---- line, and prints\n%s", rest)
	}
	return out.String(), nil
}
