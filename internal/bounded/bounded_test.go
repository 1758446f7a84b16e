package bounded_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/internal/bounded"
)

type large struct {
	Room   [500]int64 `json:"room"`
	Name   string     `json:"name"`
	Parts  []large    `json:"parts"`
	By     map[string]large
	More   *large           `json:"more"`
	Any    any              `json:"any"`
	Raw    json.RawMessage  `json:"raw"`
	At     time.Time        `json:"at"`
	Number json.Number      `json:"number"`
	Bytes  []byte           `json:"bytes"`
	Many   map[string][]int `json:"many"`
	Quoted int              `json:"quoted,string"`
	inner
}

type inner struct {
	Inside []inner2 `json:"inside"`
}

type inner2 struct{ Wide [100]string }

// TestBombs: a text whose values take more than the bound is refused before they are made, wherever they are.
func TestBombs(t *testing.T) {
	const most, n = 4 << 20, 100_000
	long := func(of string) string { return strings.Repeat(of+",", n) + of }
	keys := func(of string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"%d":%s,`, i, of)
		}
		return b.String() + `"x":` + of
	}
	for name, text := range map[string]string{
		"empty objects":   `{"parts":[` + long(`{}`) + `]}`,
		"nulls":           `{"parts":[` + long(`null`) + `]}`,
		"a map":           `{"By":{` + keys(`{}`) + `}}`,
		"a map of nulls":  `{"By":{` + keys(`null`) + `}}`,
		"twice":           `{` + long(`"parts":[{},{},{},{},{},{},{},{}]`) + `}`,
		"pointers":        strings.Repeat(`{"more":`, 80) + `{"parts":[` + long(`{}`) + `]}` + strings.Repeat(`}`, 80),
		"embedded":        `{"inside":[` + long(`{}`) + `]}`,
		"anything":        `{"any":[` + long(`{}`) + `]}`,
		"many maps":       `{"any":[` + long(`{"a":{}}`) + `]}`,
		"in another case": `{"PARTS":[` + long(`{}`) + `]}`,
		"lists":           `{"many":{` + keys(`[]`) + `}}`,
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			into := &large{}
			runtime.ReadMemStats(&before)
			err := bounded.JSON(t.Context(), []byte(text), most, into)
			runtime.ReadMemStats(&after)
			if !errors.As(err, new(*bounded.TooLarge)) {
				t.Errorf("got %v, want *TooLarge", err)
			}
			// What reading tokens takes is garbage at once.
			if made := after.TotalAlloc - before.TotalAlloc; made > most+64*uint64(len(text)) {
				t.Errorf("%d bytes are allocated for a text of %d", made, len(text))
			}
			if !reflect.ValueOf(*into).IsZero() {
				t.Error("a value is made")
			}
		})
	}
}

// TestDecodes: what is within the bound is decoded as encoding/json does.
func TestDecodes(t *testing.T) {
	for _, text := range []string{
		`{}`, `null`, ` {"name" : "a" , "parts" : [ { "name":"b" }, null ], "more" : null, "By": {"x":{"name":"c"}} } `,
		`{"any":{"a":[1,"b",null,true,{}]},"raw":{"a":[1]},"at":"2026-01-02T03:04:05Z","number":12,"bytes":"aGk=","many":{"a":[1,2]},"quoted":"7"}`,
		`{"more":{"more":{"name":"x"}},"inside":[{"Wide":["a"]}],"NAME":"other","unknown":[{"a":{}}]}`,
		`{"raw":null,"any":null,"at":null,"bytes":null,"parts":null,"many":null,"number":"12"}`,
	} {
		got, want := &large{}, &large{}
		if err := json.Unmarshal([]byte(text), want); err != nil {
			t.Fatal(err)
		}
		if err := bounded.JSON(t.Context(), []byte(text), 1<<20, got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v, want %+v", text, got, err, want)
		}
	}
}

// TestMistakes: the first mistake is named with its path.
func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		`{"parts":[{},0]}`:          `parts[1]: expected an object, found a number`,
		`{"parts":[{"parts":{}}]}`:  `parts[0].parts: expected a list, found an object`,
		`{"By":{"a.b":{"room":0}}}`: `By["a.b"].room: expected a list, found a number`,
		`{"more":[]}`:               `more: expected an object, found a list`,
		`{"name":true}`:             `name: expected a string, found a boolean`,
		`{"room":["a"]}`:            `room[0]: expected a number, found a string`,
		`{"other":1}`:               `unknown field "other"`,
		`{"parts":[{"other":1}]}`:   `parts[0]: unknown field "other"`,
		`{"parts":[`:                `parts: unexpected EOF`,
		`{} {}`:                     `more text follows the value`,
		strings.Repeat(`{"more":`, 99) + strings.Repeat(`[`, 99): "",
		`{"any":` + strings.Repeat(`[`, 9999):                    "",
	} {
		err := bounded.Strict(t.Context(), []byte(text), 1<<30, &large{})
		if err == nil || want != "" && err.Error() != want || len(err.Error()) > 4000 {
			t.Errorf("%.60s: got %v, want %s", text, err, want)
		}
	}
}

// TestEnds: the end of the context ends the reading of a text.
func TestEnds(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the client is gone")
	cancel(gone)
	text := `{"any":[` + strings.Repeat(`1,`, 1<<20) + `1]}`
	if err := bounded.JSON(ctx, []byte(text), 1<<30, &large{}); !errors.Is(err, gone) {
		t.Errorf("got %v, want %v", err, gone)
	}
}

// TestFiles: a file of the most bytes is read, a larger one is refused, and what has no end too.
func TestFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := bounded.File(t.Context(), file, 5); err != nil || string(text) != "12345" {
		t.Errorf("got %q, %v", text, err)
	}
	if _, err := bounded.File(t.Context(), file, 4); !errors.As(err, new(*bounded.TooLarge)) || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat("/dev/zero"); err == nil {
		if _, err := bounded.File(t.Context(), "/dev/zero", 1<<20); err == nil || err.Error() != "read /dev/zero: it is larger than 1 MiB" {
			t.Errorf("got %v", err)
		}
	}
}
