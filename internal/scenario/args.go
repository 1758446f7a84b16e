package scenario

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Args is what follows the word of a command: names, and options in their order.
type Args struct {
	Names   []string
	Keys    []string
	Options map[string]string
}

// Parse splits a line. It refuses an open quote and an option that comes twice.
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
			return Args{}, fmt.Errorf("%s= comes twice", key)
		default:
			a.Keys = append(a.Keys, key)
			a.Options[key] = value
		}
	}
	return a, nil
}

// MustParse is Parse for lines in Go code: it panics where Parse has an error.
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
		return nil, fmt.Errorf("a quote is open at the end of the line")
	}
	return words, nil
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

// List returns the parts of an option that are separated by commas; none if it is
// missing or empty.
func (a Args) List(key string) []string {
	if a.Options[key] == "" {
		return nil
	}
	return strings.Split(a.Options[key], ",")
}

// Int returns an INT of a signature; 0 if it is missing.
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

// Duration returns a DURATION of a signature; 0 if it is missing.
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
