package scenario

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Args are the arguments of a command: names, and options in their order.
type Args struct {
	Names   []string
	Keys    []string
	Options map[string]string
}

// Parse splits a line. It refuses an open quote and a duplicate option.
func Parse(line string) (Args, error) {
	a := Args{Options: map[string]string{}}
	words, err := split(line)
	if err != nil {
		return Args{}, err
	}
	for _, word := range words {
		key, value, isOption := strings.Cut(word, "=")
		switch {
		case !isOption:
			a.Names = append(a.Names, word)
		case a.Has(key):
			return Args{}, fmt.Errorf("%s= appears twice", key)
		default:
			a.Keys = append(a.Keys, key)
			a.Options[key] = value
		}
	}
	return a, nil
}

// MustParse is Parse for lines in Go code: it panics instead of returning an error.
func MustParse(line string) Args {
	a, err := Parse(line)
	if err != nil {
		panic(fmt.Sprintf("scenario: %s: %v", line, err))
	}
	return a
}

func split(line string) (words []string, err error) {
	var word strings.Builder
	quoted, any := false, false
	for _, c := range line + " " {
		switch {
		case c == '"':
			quoted, any = !quoted, true
		case c == ' ' && !quoted:
			if any {
				words = append(words, word.String())
				word.Reset()
			}
			any = false
		default:
			word.WriteRune(c)
			any = true
		}
	}
	if quoted {
		return nil, fmt.Errorf("missing closing quote")
	}
	return words, nil
}

// Has reports whether an option is given.
func (a Args) Has(key string) bool { _, ok := a.Options[key]; return ok }

// Name returns the i-th name, or "".
func (a Args) Name(i int) string {
	if i < len(a.Names) {
		return a.Names[i]
	}
	return ""
}

// List returns the comma-separated parts of an option; none if it is missing or empty.
func (a Args) List(key string) []string {
	if a.Options[key] == "" {
		return nil
	}
	return strings.Split(a.Options[key], ",")
}

// Int converts an INT of a signature; 0 if it is missing.
func Int(text string) int {
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(fmt.Sprintf("scenario: %q is not an integer: write INT into the signature", text))
	}
	return n
}

// Duration converts a DURATION of a signature; 0 if it is missing.
func Duration(text string) time.Duration {
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		panic(fmt.Sprintf("scenario: %q is not a duration: write DURATION into the signature", text))
	}
	return d
}
