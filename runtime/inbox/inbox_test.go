package inbox_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/runtime/inbox"
)

// lines are examples of all types.
func lines(t testing.TB) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/events.txt")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// TestForms: a line that was written is read and written again, and so is the compact encoding.
func TestForms(t *testing.T) {
	var data []byte
	encoder, decoder := inbox.NewEncoder(), inbox.NewDecoder(inbox.Version)
	words := map[string]bool{}
	for _, line := range lines(t) {
		e, err := inbox.Parse(line)
		if err != nil {
			t.Fatalf("%s\n%v", line, err)
		}
		check(t, line, e)
		if data, err = encoder.Append(data, e); err != nil {
			t.Fatal(err)
		}
		word, _, _ := strings.Cut(line, " ")
		words[word] = true
	}
	for _, line := range lines(t) {
		e, rest, err := decoder.Next(data)
		if err != nil {
			t.Fatalf("%s\n%v", line, err)
		}
		check(t, line, e)
		data = rest
	}
	if len(data) > 0 {
		t.Errorf("%d bytes are left", len(data))
	}
	for _, word := range inbox.Words() {
		if !words[word] {
			t.Errorf("testdata/events.txt has no %s", word)
		}
	}
}

func check(t testing.TB, want string, e inbox.Event) {
	t.Helper()
	got, err := inbox.Format(e)
	if err != nil || got != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
}

// TestOldText: lines of earlier versions are read, and what is not used any more is left out.
func TestOldText(t *testing.T) {
	const line = "budget x/p x pending rate=30 full=2000-01-01T00:00:02Z paid=`[\"uid-6\"]`" // of version 7
	e, err := inbox.Parse(line + " returned=`[\"uid-7\"]`")
	if err != nil {
		t.Fatal(err)
	}
	check(t, line, e)
}

// TestDocument: docs/recordings.md has all words.
func TestDocument(t *testing.T) {
	page, err := os.ReadFile("../../docs/recordings.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range inbox.Words() {
		if !strings.Contains(string(page), "\n| `"+word+" ") && !strings.Contains(string(page), "\n| `"+word+"` |") {
			t.Errorf("docs/recordings.md does not describe %s", word)
		}
	}
}

// TestRefused: a mistake in a line is named.
func TestRefused(t *testing.T) {
	for line, want := range map[string]string{
		"":                                   `"" is not an event`,
		"nod":                                `"nod" is not an event`,
		"node":                               "node: the object is missing",
		"node object=`{`":                    "object=:",
		"node object=`{}` x=1":               "unknown option x=",
		"unnode":                             "a name is missing",
		"unnode a b":                         `unexpected word "b"`,
		"object Secret object=`{}`":          `objects of kind "Secret" do not enter the loop`,
		"event Pod":                          `"Pod" is not RESOURCE/ACTION`,
		"event /Add":                         `"/Add" is not RESOURCE/ACTION`,
		"event Pod/Fly":                      `"Pod/Fly" is not RESOURCE/ACTION`,
		"clock at=noon":                      "at=:",
		"clock at=0001-01-01T00:00:00Z":      "the year is not between",
		"bound attempt=-1":                   `attempt=: "-1" is not a whole number`,
		"evicted eviction=1 stopped=false":   `stopped=: "false" is not true`,
		"module a b bytes=!":                 "bytes=:",
		"settings max-unschedulable=5 start": "start",
		`reject a b "c`:                      "missing closing quote",
	} {
		if _, err := inbox.Parse(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}

// TestCut: an encoding that was cut off anywhere is refused.
func TestCut(t *testing.T) {
	for _, line := range lines(t) {
		e, err := inbox.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		data, err := inbox.NewEncoder().Append(nil, e)
		if err != nil {
			t.Fatal(err)
		}
		for i := range data {
			if _, _, err := inbox.NewDecoder(inbox.Version).Next(data[:i]); err == nil {
				t.Errorf("%s: %d of %d bytes are enough", line, i, len(data))
			}
		}
	}
}

// FuzzText: what Parse accepts, Format writes so that both forms of it are the same event.
func FuzzText(f *testing.F) {
	for _, line := range lines(f) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		e, err := inbox.Parse(line)
		if err != nil {
			return
		}
		text, err := inbox.Format(e)
		if err != nil {
			t.Fatal(err)
		}
		again, err := inbox.Parse(text)
		if err != nil {
			t.Fatalf("%s\nis written as\n%s\n%v", line, text, err)
		}
		check(t, text, again)
	})
}

// FuzzCompact: arbitrary bytes are refused or an event, which is encoded again as it was read.
func FuzzCompact(f *testing.F) {
	for _, line := range lines(f) {
		e, err := inbox.Parse(line)
		if err != nil {
			f.Fatal(err)
		}
		data, err := inbox.NewEncoder().Append(nil, e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e, _, err := inbox.NewDecoder(inbox.Version).Next(data)
		if err != nil {
			return
		}
		once, err := inbox.NewEncoder().Append(nil, e)
		if err != nil {
			t.Fatal(err)
		}
		again, rest, err := inbox.NewDecoder(inbox.Version).Next(once)
		if err != nil || len(rest) > 0 {
			t.Fatalf("%d bytes are left, %v", len(rest), err)
		}
		twice, err := inbox.NewEncoder().Append(nil, again)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%q\n%q\n%v", once, twice, err)
		}
	})
}
