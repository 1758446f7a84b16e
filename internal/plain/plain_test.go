package plain_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/berth-scheduler/berth/internal/plain"
)

func TestLine(t *testing.T) {
	for _, c := range []struct {
		in   string
		most int
		want string
	}{
		{"", 10, ""},
		{"node(s) were full", 100, "node(s) were full"},
		{"a\nb\tc\r\nd", 100, "a b c  d"},
		{"\x1b[2Jred", 100, "\ufffd[2Jred"},
		{"a\xff\xfeb", 100, "a\ufffd\ufffdb"},
		{"\u202eevil\u2066", 100, "\ufffdevil\ufffd"},
		{"\u0085\u009b2J\u2028", 100, "\ufffd\ufffd2J\ufffd"},
		{"a\u00a0b\u3000c", 100, "a b c"},
		{"\ufffd", 3, "\ufffd"},
		{"abcdef", 6, "abcdef"},
		{"abcdefg", 6, "abc…"},
		{"ééééé", 9, "ééé…"},
		{"ééééé", 8, "éé…"}, // not half a rune
		{"日本語日本語", 10, "日本…"},
		{"\x00\x00\x00", 8, "\ufffd…"},
		{"\U000e0001\U000e0001", 6, "\ufffd\ufffd"}, // shorter than before
		{"abc", 2, ""},
	} {
		got := plain.Line(c.in, c.most)
		if c.most < len(plain.Mark) {
			if len(got) > c.most {
				t.Errorf("Line(%q, %d) has %d bytes", c.in, c.most, len(got))
			}
			continue
		}
		if got != c.want {
			t.Errorf("Line(%q, %d) is %q, want %q", c.in, c.most, got, c.want)
		}
		if same := plain.Line([]byte(c.in), c.most); same != got {
			t.Errorf("of bytes %q, of a string %q", same, got)
		}
	}
	if got := plain.Lines("a\n\tb\rc\x00", 100); got != "a\n\tb c\ufffd" {
		t.Errorf("Lines: %q", got)
	}
	if got := plain.Tail("first\nsecond\nlast", 9); got != "…d\nlast" && got != "…\nlast" {
		t.Errorf("Tail: %q", got)
	}
	if got := plain.Tail("éééé", 8); got != "éééé" {
		t.Errorf("Tail that fits: %q", got)
	}
	if got := plain.Quote("\x1b\u202e", 10); got != `"\x1b\u202e"` {
		t.Errorf("Quote: %s", got)
	}
	if got := plain.Quote("ééééé", 8); got != `"éé…"` {
		t.Errorf("Quote that is cut: %s", got)
	}
	if got := plain.CutWith("éééééé", 9, " ..."); got != "éé ..." {
		t.Errorf("CutWith: %q", got)
	}
}

// FuzzPlain: for any input, the output is printable, valid, short enough, and unchanged by a
// second call.
func FuzzPlain(f *testing.F) {
	f.Add("plain", 3)
	f.Add("a\x1b\u202e\xff\n日\U000e0001", 9)
	f.Fuzz(func(t *testing.T, in string, most int) {
		most = min(max(most, 0), 1<<12)
		for name, got := range map[string]string{
			"Line": plain.Line(in, most), "Lines": plain.Lines(in, most), "Tail": plain.Tail(in, most),
		} {
			if most >= len(plain.Mark) && !utf8.ValidString(got) {
				t.Errorf("%s(%q, %d) is not UTF-8: %q", name, in, most, got)
			}
			if len(got) > most {
				t.Errorf("%s(%q, %d) has %d bytes", name, in, most, len(got))
			}
			if at := strings.IndexFunc(got, func(r rune) bool {
				return !strconv.IsPrint(r) && (name == "Line" || r != '\n' && r != '\t')
			}); at >= 0 {
				t.Errorf("%s(%q, %d) cannot be printed at %d: %q", name, in, most, at, got)
			}
		}
		if once := plain.Line(in, most); plain.Line(once, most) != once {
			t.Errorf("Line(%q, %d) changes what it made: %q", in, most, once)
		}
		if got := plain.Quote(in, most); len(got) > 4*max(most, len(plain.Mark))+2 {
			t.Errorf("Quote(%q, %d) has %d bytes", in, most, len(got))
		}
	})
}

// TestCost: a text of 64 MiB takes no more memory than one that fits.
func TestCost(t *testing.T) {
	text := strings.Repeat("\x1b[31m\u202e\xff", 64<<20/9)
	data := []byte(text)
	for name, f := range map[string]func(){
		"Line": func() { plain.Line(text, 100) }, "Lines": func() { plain.Lines(data, 100) }, "Tail": func() { plain.Tail(data, 100) },
		"Quote": func() { plain.Quote(data, 100) }, "List": func() { plain.List([]string{text, text}, ", ", 100, "reasons") },
	} {
		const runs = 10
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range runs {
			f()
		}
		runtime.ReadMemStats(&after)
		if got := (after.TotalAlloc - before.TotalAlloc) / runs; got > 4096 {
			t.Errorf("%s of 64 MiB to 100 bytes takes %d bytes", name, got)
		}
	}
	if n := testing.AllocsPerRun(100, func() { plain.Line("Insufficient cpu", 1024) }); n > 0 {
		t.Errorf("a text that fits takes %v allocations", n)
	}
}

func TestList(t *testing.T) {
	items := []string{"1 a", "2 b", "3 c", "4 d"}
	for most, want := range map[int]string{
		100: "1 a, 2 b, 3 c, 4 d",
		18:  "1 a, 2 b, 3 c, 4 d",
	} {
		if got := plain.List(items, ", ", most, "reasons"); got != want {
			t.Errorf("in %d bytes %q, want %q", most, got, want)
		}
	}
	many := make([]string, 1000)
	for i := range many {
		many[i] = fmt.Sprintf("%d reason %d", 1, i)
	}
	got := plain.List(many, ", ", 200, "reasons")
	shown := strings.Count(got, "1 reason")
	if len(got) > 200 || !strings.HasSuffix(got, fmt.Sprintf(", and %d more reasons", 1000-shown)) || shown < 10 {
		t.Errorf("%d bytes: %s", len(got), got)
	}
	if got := plain.List([]string{strings.Repeat("é", 1000), "b"}, ", ", 60, "reasons"); len(got) > 60 || !utf8.ValidString(got) || !strings.HasSuffix(got, "…, and 1 more reason") {
		t.Errorf("one that is too long: %q", got)
	}
}

func TestError(t *testing.T) {
	err := plain.Error(fmt.Errorf("%s: %w", strings.Repeat("x\x1b", 1000), io.EOF), 50)
	if text := err.Error(); len(text) > 50 || strings.Contains(text, "\x1b") || !errors.Is(err, io.EOF) {
		t.Errorf("%d bytes: %q", len(text), text)
	}
	if plain.Error(nil, 1) != nil {
		t.Error("nil is an error")
	}
}

// TestJSON: a reader of the JSON gets the same texts.
func TestJSON(t *testing.T) {
	in := map[string]string{"a\x1b": "\u202e\u009b\x7f \U000e0001 é \u2028 \ufffd <b>"}
	data, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	data = plain.JSON(data)
	if at := strings.IndexFunc(string(data), func(r rune) bool { return !strconv.IsGraphic(r) }); at >= 0 {
		t.Errorf("%q has an unprintable character at %d", data, at)
	}
	var out map[string]string
	if err := json.Unmarshal(data, &out); err != nil || !reflect.DeepEqual(in, out) {
		t.Errorf("%q became %q: %v", in, out, err)
	}
}
