package scenario

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Commands are functions by their signatures. The arguments of a function match its signature.
type Commands map[string]func(a Args) error

// Each makes a command that calls f for each of its names.
func Each(f func(name string, a Args) error) func(Args) error {
	return func(a Args) error {
		for _, name := range a.Names {
			if err := f(name, a); err != nil {
				return err
			}
		}
		return nil
	}
}

// Language runs lines of Commands.
type Language struct {
	commands map[string]command
}

type command struct {
	signature signature
	run       func(a Args) error
}

// NewLanguage parses the signatures of commands.
func NewLanguage(commands Commands) (*Language, error) {
	l := &Language{map[string]command{}}
	for text, run := range commands {
		word, rest, _ := strings.Cut(text, " ")
		s, err := parseSignature(rest)
		if err != nil {
			return nil, fmt.Errorf("the command %q: %w", text, err)
		}
		if _, twice := l.commands[word]; twice || word == "new" {
			return nil, fmt.Errorf("the command %q: duplicate command word", text)
		}
		l.commands[word] = command{s, run}
	}
	return l, nil
}

// Do runs a line.
func (l *Language) Do(line string) error {
	word, rest, _ := strings.Cut(line, " ")
	c, ok := l.commands[word]
	if !ok {
		return fmt.Errorf("unknown command %q; known are new %s", word, strings.Join(slices.Sorted(maps.Keys(l.commands)), " "))
	}
	a, err := Parse(rest)
	if err == nil {
		err = c.signature.check(a)
	}
	if err == nil {
		err = c.run(a)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", line, err)
	}
	return nil
}

// Check refuses arguments that do not match a signature, which here has no command word.
func Check(parameters string, a Args) error {
	s, err := parseSignature(parameters)
	if err != nil {
		return err
	}
	return s.check(a)
}

type signature struct {
	names   []parameter
	options []parameter
}

type parameter struct {
	key      string // of an option
	kind     string // a type or choices
	optional bool
	many     bool
}

func parseSignature(text string) (s signature, err error) {
	for _, word := range strings.Fields(text) {
		var p parameter
		inside, open := strings.CutPrefix(word, "[")
		inside, closed := strings.CutSuffix(inside, "]")
		if open != closed {
			return s, fmt.Errorf("%s: missing bracket", word)
		}
		p.optional = open
		var option bool
		if p.key, p.kind, option = strings.Cut(inside, "="); option {
			if _, err := path.Match(p.key, ""); err != nil || p.key == "" || p.kind == "" {
				return s, fmt.Errorf("%s: an option is KEY=TYPE", word)
			}
			s.options = append(s.options, p)
			continue
		}
		p.key = ""
		p.kind, p.many = strings.CutSuffix(inside, "…")
		if n := len(s.names); n > 0 && (s.names[n-1].many || s.names[n-1].optional && !p.optional) {
			return s, fmt.Errorf("%s: ambiguous after the previous name", word)
		}
		s.names = append(s.names, p)
	}
	return s, nil
}

func (s signature) check(a Args) error {
	for i, p := range s.names {
		if i >= len(a.Names) {
			if p.optional {
				break
			}
			return fmt.Errorf("%s is missing", p.kind)
		}
		last := i + 1
		if p.many {
			last = len(a.Names)
		}
		for _, name := range a.Names[i:last] {
			if err := p.check(name); err != nil {
				return err
			}
		}
	}
	if n := len(s.names); len(a.Names) > n && (n == 0 || !s.names[n-1].many) {
		return fmt.Errorf("unexpected word %q", a.Names[n])
	}
	for _, key := range a.Keys {
		p, ok := s.option(key)
		if !ok {
			return fmt.Errorf("unknown option %s=; known are%s", key, s.keys())
		}
		if err := p.check(a.Options[key]); err != nil {
			return fmt.Errorf("%s=: %w", key, err)
		}
	}
	for _, p := range s.options {
		if !p.optional && !a.Has(p.key) {
			return fmt.Errorf("%s= is missing", p.key)
		}
	}
	return nil
}

func (s signature) option(key string) (parameter, bool) {
	for _, p := range s.options {
		if matches, _ := path.Match(p.key, key); matches { // parseSignature has validated the pattern
			return p, true
		}
	}
	return parameter{}, false
}

func (s signature) keys() string {
	if len(s.options) == 0 {
		return " none"
	}
	var b strings.Builder
	for _, p := range s.options {
		b.WriteString(" " + p.key + "=")
	}
	return b.String()
}

func (p parameter) check(value string) error {
	switch {
	case p.kind == "INT":
		if _, err := strconv.Atoi(value); err != nil {
			return fmt.Errorf("%q is not an integer", value)
		}
	case p.kind == "DURATION":
		if _, err := time.ParseDuration(value); err != nil {
			return fmt.Errorf("%q is not a duration like 1m30s", value)
		}
	case p.kind == strings.ToUpper(p.kind):
	case !slices.Contains(strings.Split(p.kind, "|"), value):
		return fmt.Errorf("%q is not %s", value, strings.ReplaceAll(p.kind, "|", " or "))
	}
	return nil
}
