package scenario

import (
	"strings"
	"testing"
)

// words is a language with all kinds of mistakes to refuse.
func words(log *Log) Commands {
	return Commands{
		"say WORD…":                          func(a Args) error { log.Printf("%s", strings.Join(a.Names, "+")); return nil },
		"advance DURATION [loud|quiet]":      func(Args) error { return nil },
		"pod NAME… [priority=INT] on=NODE":   func(Args) error { return nil },
		"mark NAME [*/*=TEXT] [how=now|not]": func(Args) error { return nil },
		"step [INT]":                         func(Args) error { return nil },
		"rest":                               func(Args) error { return nil },
	}
}

func play(text string) (string, error) {
	log := &Log{}
	return Play("cases/a.txt", text, log, func() Commands { return words(log) })
}

// TestRefused: mistakes in a file are refused, with file and line.
func TestRefused(t *testing.T) {
	for line, want := range map[string]string{
		"speak a":                  `cases/a.txt:3: unknown command "speak"; known are new advance mark pod rest say step`,
		"say":                      "WORD is missing",
		" say a":                   `unknown command ""`,
		"say\ta":                   "unknown command",
		`say "a`:                   "missing closing quote",
		"say a loud=yes":           "unknown option loud=; known are none",
		"advance":                  "DURATION is missing",
		"advance 3":                `"3" is not a duration like 1m30s`,
		"advance soon":             `"soon" is not a duration like 1m30s`,
		"advance 3s fast":          `"fast" is not loud or quiet`,
		"advance 3s loud loud":     `unexpected word "loud"`,
		"pod a":                    "on= is missing",
		"pod on=n":                 "NAME is missing",
		"pod a on=n priority=":     `priority=: "" is not an integer`,
		"pod a on=n priority=1.5":  `priority=: "1.5" is not an integer`,
		"pod a on=n priority=ten":  `priority=: "ten" is not an integer`,
		"pod a on=n on=m":          "on= appears twice",
		"pod a on=n prioity=1":     "unknown option prioity=; known are priority= on=",
		"mark a key=1":             "unknown option key=; known are */*= how=",
		"mark a how=never":         `how=: "never" is not now or not`,
		"mark a b":                 `unexpected word "b"`,
		"step few":                 `"few" is not an integer`,
		"step 9999999999999999999": `is not an integer`,
		"rest now":                 `unexpected word "now"`,
	} {
		_, err := play("# comment\nsay a\n" + line + "\n----\na\n")
		if err == nil || !strings.HasPrefix(err.Error(), "cases/a.txt:3: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
	if _, err := play("say a\n\nrest\n----\n"); err == nil || !strings.HasPrefix(err.Error(), "cases/a.txt:1: the block has no line ----") {
		t.Errorf("a block that prints without a line for it: %v", err)
	}
}

// TestTaken: all features of the language, and their output.
func TestTaken(t *testing.T) {
	const in = "# comment\nsay a \"b c\" d\"e f\"\npod a b on=\"\" priority=-1\nmark a x/y=1 how=not\nadvance 1m30s quiet\n----\nold\n\n\nnew\nstep\nstep 3\n\nsay x\n----\n"
	const want = "# comment\nsay a \"b c\" d\"e f\"\npod a b on=\"\" priority=-1\nmark a x/y=1 how=not\nadvance 1m30s quiet\n----\na+b c+de f\n\n\nnew\nstep\nstep 3\n\nsay x\n----\nx\n"
	if got, err := play(in); err != nil || got != want {
		t.Errorf("%v\n%s", err, got)
	}
}

// TestSignatures: invalid signatures are refused too.
func TestSignatures(t *testing.T) {
	nothing := func(Args) error { return nil }
	for text, commands := range map[string]Commands{
		"missing bracket":    {"a [B": nothing},
		"KEY=TYPE":           {"a [b=]": nothing},
		"ambiguous":          {"a B… C": nothing},
		"C: ambiguous after": {"a [B] C": nothing},
		"duplicate":          {"a B": nothing, "a C": nothing},
		"duplicate command":  {"new": nothing},
		"an option is":       {"a [[=B]": nothing},
	} {
		if _, err := NewLanguage(commands); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v: %v", commands, err)
		}
	}
}

// TestValues: Int and Duration accept only what a signature has checked.
func TestValues(t *testing.T) {
	if Int("") != 0 || Int("-7") != -7 || Duration("") != 0 || Duration("2s").Seconds() != 2 {
		t.Error("wrong values")
	}
	for _, read := range []func(){func() { Int("x") }, func() { Duration("7") }, func() { MustParse(`"`) }} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("a value that no signature accepts is accepted")
				}
			}()
			read()
		}()
	}
}
