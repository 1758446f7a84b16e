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
	for _, w := range words {
		if w.equals < 0 {
			a.Names = append(a.Names, w.text)
			continue
		}
		key, value := w.text[:w.equals], w.text[w.equals+1:]
		if a.Has(key) {
			return Args{}, fmt.Errorf("%s= appears twice", key)
		}
		a.Keys = append(a.Keys, key)
		a.Options[key] = value
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

// word is a word of a line, without quotes. equals is the index of its first equals sign outside
// of quotes, -1 for none.
type word struct {
	text   string
	equals int
}

func split(line string) (words []word, err error) {
	var text strings.Builder
	equals, any := -1, false
	for line += " "; line != ""; {
		switch c := line[0]; c {
		case '"', '`':
			quoted, err := strconv.QuotedPrefix(line)
			if err != nil {
				return nil, fmt.Errorf("missing closing quote, or an unknown escape in quotes")
			}
			part, _ := strconv.Unquote(quoted) // QuotedPrefix has checked it
			text.WriteString(part)
			line, any = line[len(quoted):], true
			continue
		case ' ':
			if any {
				words = append(words, word{text.String(), equals})
				text.Reset()
			}
			equals, any = -1, false
		default:
			if c == '=' && equals < 0 {
				equals = text.Len()
			}
			text.WriteByte(c)
			any = true
		}
		line = line[1:]
	}
	return words, nil
}

// Quote writes a name or value so that Parse reads it as one word.
func Quote(text string) string {
	plain := text != ""
	for _, c := range text {
		plain = plain && c > ' ' && c < 0x7f && c != '"' && c != '`' && c != '=' && c != '#'
	}
	if plain {
		return text
	}
	return strconv.Quote(text)
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
