package inbox

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/internal/bounded"
	"github.com/berth-scheduler/berth/internal/scenario"
)

// Format returns the text form of an event: a line of the language of scenario files (package
// internal/scenario), without a line feed. docs/recordings.md has the words.
//
// # Errors
//
// The event has an object that has no JSON.
func Format(e Event) (string, error) {
	for _, make := range newEvents() {
		word, of := make()
		if reflect.TypeOf(of) != reflect.TypeOf(e) {
			continue
		}
		w := textWriter{}
		w.out.WriteString(word)
		e.visit(&w)
		return w.out.String(), w.err
	}
	return "", fmt.Errorf("BUG: a %T has no text form", e)
}

// Parse reads the text form of an event.
//
// # Errors
//
// The line is not one that Format writes.
func Parse(line string) (e Event, err error) {
	word, rest, _ := strings.Cut(line, " ")
	for _, make := range newEvents() {
		known, e := make()
		if word != known {
			continue
		}
		args, err := scenario.Parse(rest)
		if err == nil {
			err = read(e, args, len(line))
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", word, err)
		}
		return e, nil
	}
	return nil, fmt.Errorf("%q is not an event", word)
}

func read(e Event, args scenario.Args, size int) error {
	r := textReader{args: args, left: args.Names, used: make(map[string]bool), budget: bounded.Budget{Left: baseLine + perText*int64(size)}}
	e.visit(&r)
	if r.err == nil && len(r.left) > 0 {
		return fmt.Errorf("unexpected word %q", r.left[0])
	}
	for _, key := range args.Keys {
		if r.err == nil && !r.used[key] {
			return fmt.Errorf("unknown option %s=", key)
		}
	}
	return r.err
}

// Words returns the first words of all types.
func Words() (out []string) {
	for _, make := range newEvents() {
		word, _ := make()
		out = append(out, word)
	}
	return out
}

type textWriter struct {
	out strings.Builder
	err error
}

func (w *textWriter) fail(err error) { w.err = errors.Join(w.err, err) }

func (w *textWriter) name(v string) string {
	w.out.WriteString(" " + scenario.Quote(v))
	return v
}

func (w *textWriter) names(v []string) []string {
	for _, name := range v {
		w.name(name)
	}
	return v
}

func (w *textWriter) option(key, value string) { w.out.WriteString(" " + key + "=" + value) }

func (w *textWriter) text(key, v string) string {
	if v != "" {
		w.option(key, scenario.Quote(v))
	}
	return v
}

func (w *textWriter) bytes(key string, v []byte) []byte {
	if len(v) > 0 {
		w.option(key, base64.RawURLEncoding.EncodeToString(v))
	}
	return v
}

func (w *textWriter) number(key string, v uint64) uint64 {
	if v != 0 {
		w.option(key, strconv.FormatUint(v, 10))
	}
	return v
}

func (w *textWriter) since(int) bool { return true }

func (w *textWriter) before(int) bool { return false }

func (w *textWriter) flag(key string, v bool) bool {
	if v {
		w.option(key, "true")
	}
	return v
}

func (w *textWriter) time(key string, v time.Time) time.Time {
	w.option(key, v.UTC().Format(time.RFC3339Nano))
	return v
}

func (w *textWriter) duration(key string, v time.Duration) time.Duration {
	if v != 0 {
		w.option(key, v.String())
	}
	return v
}

func (w *textWriter) json(key string, v any, given bool) {
	if !given {
		return
	}
	var data bytes.Buffer
	e := json.NewEncoder(&data)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		w.fail(err)
		return
	}
	// A backquote can only stand in a string, where it has an escape.
	w.option(key, "`"+strings.ReplaceAll(strings.TrimSuffix(data.String(), "\n"), "`", `\u0060`)+"`")
}

func (w *textWriter) object(key, _ string, v metav1.Object) metav1.Object {
	w.json(key, v, v != nil)
	return v
}

func (w *textWriter) objects(key, _ string, v []metav1.Object) []metav1.Object {
	w.json(key, v, len(v) > 0)
	return v
}

type textReader struct {
	args scenario.Args
	left []string // names
	used map[string]bool
	// budget is what the values of the line may take in memory.
	budget bounded.Budget
	err    error
}

// What the values of a line may take in memory: baseLine bytes, and perText for each of its bytes.
const (
	baseLine = 16 << 10
	perText  = 128
)

func (r *textReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *textReader) name(string) string {
	if len(r.left) == 0 {
		r.fail(errors.New("a name is missing"))
		return ""
	}
	v := r.left[0]
	r.left = r.left[1:]
	return v
}

func (r *textReader) names([]string) []string {
	v := r.left
	r.left = nil
	return v
}

func (r *textReader) text(key, _ string) string {
	r.used[key] = true
	return r.args.Options[key]
}

func (r *textReader) bytes(key string, _ []byte) []byte {
	v, err := base64.RawURLEncoding.Strict().DecodeString(r.text(key, ""))
	if err != nil {
		r.fail(fmt.Errorf("%s=: %w", key, err))
	}
	return v
}

func (r *textReader) number(key string, _ uint64) uint64 {
	text := r.text(key, "")
	if text == "" {
		return 0
	}
	v, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		r.fail(fmt.Errorf("%s=: %q is not a whole number", key, text))
	}
	return v
}

func (r *textReader) since(int) bool { return true } // what is missing is zero

func (r *textReader) before(int) bool { return true }

func (r *textReader) flag(key string, _ bool) bool {
	text := r.text(key, "")
	if text != "" && text != "true" {
		r.fail(fmt.Errorf("%s=: %q is not true; leave it out for false", key, text))
	}
	return text == "true"
}

func (r *textReader) time(key string, _ time.Time) time.Time {
	v, err := time.Parse(time.RFC3339Nano, r.text(key, ""))
	if err == nil && (v.Year() < 1700 || v.Year() > 2200) { // nanoseconds must fit into 64 bits
		err = errors.New("the year is not between 1700 and 2200")
	}
	if err != nil {
		r.fail(fmt.Errorf("%s=: %w", key, err))
	}
	return v.UTC()
}

func (r *textReader) duration(key string, _ time.Duration) time.Duration {
	text := r.text(key, "")
	if text == "" {
		return 0
	}
	v, err := time.ParseDuration(text)
	if err != nil {
		r.fail(fmt.Errorf("%s=: %w", key, err))
	}
	return v
}

func (r *textReader) json(key string, v any, _ bool) {
	text := r.text(key, "")
	if text == "" {
		return
	}
	if err := r.budget.JSON(context.Background(), []byte(text), v); err != nil {
		r.fail(fmt.Errorf("%s=: %w", key, err))
	}
}

func (r *textReader) object(key, kind string, _ metav1.Object) metav1.Object {
	if !r.args.Has(key) {
		r.used[key] = true
		return nil
	}
	object, err := newObject(kind)
	if err != nil {
		r.fail(err)
		return nil
	}
	r.json(key, object, true)
	return object
}

func (r *textReader) objects(key, kind string, _ []metav1.Object) (out []metav1.Object) {
	var list []json.RawMessage
	r.json(key, &list, true)
	for _, data := range list {
		object, err := newObject(kind)
		if err == nil {
			err = r.budget.JSON(context.Background(), data, object)
		}
		if err != nil {
			r.fail(fmt.Errorf("%s=: %w", key, err))
			return nil
		}
		out = append(out, object)
	}
	return out
}
