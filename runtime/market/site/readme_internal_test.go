package site

import (
	"regexp"
	"testing"
)

// FuzzReadme: a page has only tags and attributes that show text, and its links lead to web pages.
func FuzzReadme(f *testing.F) {
	f.Add("# A\n\n[b](https://x.test \"c\") ![d](e) <f> `g`\n\n| h | i |\n|--:|---|\n| ~~j~~ | *k* |\n\n```go\nl\n```\n\n3. m\n\n> n\n\n---\n")
	f.Add("<script>\n\n[a](javascript:b)\n\n[c]\n\n[c]: data:text/html,d\n\n<https://e.test>\n\n&lt;img onerror=f&gt;\n")
	opened := regexp.MustCompile(`<[^>]*>?`)
	harmless := regexp.MustCompile(`^</?(p|h[1-6]|a|ul|ol|li|pre|code|em|strong|del|table|thead|tbody|tr|th|td|blockquote|hr|br)` +
		`( (href="(?i:https?)://[^"]*"|(title|class|start|align|style|rel)="[^"]*"))*( /)?>$`)
	f.Fuzz(func(t *testing.T, text string) {
		page, err := readme(text)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) > max(maxPage, 6*len(text)+64) {
			t.Errorf("%d bytes become a page of %d", len(text), len(page))
		}
		for _, tag := range opened.FindAllString(string(page), -1) {
			if !harmless.MatchString(tag) {
				t.Errorf("%q in %q", tag, page)
			}
		}
	})
}
