package plain_test

import (
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/internal/plain"
)

func TestURL(t *testing.T) {
	for text, want := range map[string]string{
		"https://h:8080/a/b":                  "https://h:8080/a/b",
		"https://user:secret@h/a":             "https://h/a",
		"https://secret@h/a%2Fb":              "https://h/a%2Fb",
		"https://h/a?key=secret&more=secret":  "https://h/a?…",
		"https://h/a?secret":                  "https://h/a?…",
		"https://h/a#secret":                  "https://h/a?…",
		"https://[fd00::1]:1/":                "https://[fd00::1]:1/",
		"http:user:secret@h":                  "?…",
		"https://user:secret@h:port/":         "?…",
		"secret":                              "?…",
		"https:///secret":                     "?…",
		"https://user:secret@h/%zz":           "?…",
		"HTTPS://user:secret@h/?a=\x1bsecret": "?…",
	} {
		if got := plain.URL(text); got != want || strings.Contains(got, "secret") {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
