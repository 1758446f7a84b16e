package market_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/berth-scheduler/berth/runtime/market/index"
	"github.com/berth-scheduler/berth/runtime/market/site"
)

// pages makes the pages of an index with some plugins, which change may change.
func pages(t *testing.T, change func(p *site.Plugin)) map[string][]byte {
	t.Helper()
	digest := "sha256:" + strings.Repeat("a", 64)
	var listed []index.Plugin
	for _, p := range []struct{ name, description, point string }{
		{"gpu-pack", "Packs pods with GPUs onto as few nodes as possible", "score"},
		{"rack-aware", "Spreads pods over racks", "filter"},
		{"rack-cost-" + strings.Repeat("x", 50), "Prefers cheap racks", "score"},
		{"zone-cost", "Prefers cheap zones", "score"},
	} {
		v := index.Version{
			Version: "1.3.0", Publisher: "Example", License: "Apache-2.0", Description: p.description, ABI: "1.0", Points: []string{p.point},
			Reads: map[string][]string{"node": {"labels"}}, Image: digest, Module: digest, Size: 123_456, SBOM: digest,
			Conformance: &index.Conformance{Kept: 14}, Bench: []index.Bench{{Nodes: 100, PerPod: 93_000, Fuel: 12_345}, {Nodes: 5000, PerPod: 6_172_835, Fuel: 617_000}},
		}
		old := v
		old.Version, old.Yanked = "1.2.0", &index.Yank{Reason: "it counts racks twice", Successor: "1.3.0"}
		listed = append(listed, index.Plugin{Name: p.name, Repository: "registry.example.com/team/" + p.name, Versions: []index.Version{old, v}})
	}
	f, _, err := index.Next(nil, listed, time.Unix(0, 0), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	plugins := make([]site.Plugin, len(f.Plugins))
	for i := range f.Plugins {
		p := &f.Plugins[i]
		plugins[i] = site.Plugin{Plugin: p, Latest: p.Latest(), Signed: "signed by team", Readme: "# " + p.Name + "\n\nIt does what it says. https://example.com/" + strings.Repeat("long/", 40) + "\n"}
		if change != nil {
			change(&plugins[i])
		}
	}
	out, err := site.Pages(f, "registry.example.com/team/index", plugins)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const long = "rack-cost-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

// TestSearch: what is typed filters the list at once, and is in the address, which finds the
// same again.
func TestSearch(t *testing.T) {
	b := open(t, pages(t, nil))
	b.goTo("index.html")
	if got := b.shown(); got != "gpu-pack rack-aware "+long+" zone-cost" {
		t.Errorf("the list has %s", got)
	}
	b.do(chromedp.Focus(chromedp.CSS("#search")), chromedp.KeyEvent("CHEAP ra"))
	if got := b.shown(); got != long {
		t.Errorf("it finds %s", got)
	}
	if got := eval[string](b, `document.getElementById("found").textContent`); got != "1 of 4" {
		t.Errorf("it says %q", got)
	}
	address := eval[string](b, "location.href")
	b.look("search")
	b.goTo("index.html")
	b.do(chromedp.Navigate(address))
	if got := b.shown(); got != long || !strings.HasSuffix(address, "?q=CHEAP%20ra") {
		t.Errorf("%s finds %s", address, got)
	}
	b.do(chromedp.Focus(chromedp.CSS("#search")), chromedp.KeyEvent(strings.Repeat(kb.Backspace, 8)+"score"))
	if got := b.shown(); got != "gpu-pack "+long+" zone-cost" {
		t.Errorf("by extension point it finds %s", got)
	}
	b.do(chromedp.KeyEvent(" nothing"))
	if got := b.shown(); got != "" {
		t.Errorf("it finds %s", got)
	}
}

// TestWithoutScript: the list is complete, links to extension points filter it, and all that a
// plugin's page says is there.
func TestWithoutScript(t *testing.T) {
	b := open(t, pages(t, nil))
	call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	b.goTo("index.html")
	if eval[bool](b, `document.getElementById("search").getClientRects().length > 0`) {
		t.Error("the search box is shown, and does nothing")
	}
	for _, step := range []struct{ link, want string }{
		{"filter", "rack-aware"}, {"score", "gpu-pack " + long + " zone-cost"}, {"all", "gpu-pack rack-aware " + long + " zone-cost"}, {"z", "gpu-pack rack-aware " + long + " zone-cost"},
	} {
		b.do(chromedp.Click(fmt.Sprintf("//nav//a[text()=%q]", step.link)))
		if got := b.shown(); got != step.want {
			t.Errorf("after the link %s the list has %s", step.link, got)
		}
		b.look("without-script-" + step.link)
	}
	b.do(chromedp.Click("//a[text()='rack-aware']"), chromedp.WaitVisible(chromedp.CSS("h2")))
	text := eval[string](b, "document.body.innerText")
	for _, want := range []string{"rack-aware 1.3.0", "berth plugin install rack-aware@1.3.0 --index registry.example.com/team/index", "signed by team", "runs at filter",
		"6.173ms\t1.235ms", "it counts racks twice; use 1.3.0", "It does what it says."} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q:\n%s", want, text)
		}
	}
}

// TestKeyboard: a reader without a mouse reaches everything in the order of the page, sees where
// they are, and opens a plugin.
func TestKeyboard(t *testing.T) {
	b := open(t, pages(t, nil))
	b.goTo("index.html")
	var visited []string
	for range 12 {
		b.do(chromedp.KeyEvent(kb.Tab))
		visited = append(visited, eval[string](b, `document.activeElement.id || document.activeElement.textContent`))
		if eval[string](b, `getComputedStyle(document.activeElement).outlineStyle`) == "none" {
			t.Errorf("at %s nothing shows the focus", visited[len(visited)-1])
		}
		if visited[len(visited)-1] == "rack-aware" {
			break
		}
	}
	if got := strings.Join(visited, " "); got != "search all p-filter p-score g r z gpu-pack rack-aware" {
		t.Errorf("Tab visits %s", got)
	}
	b.do(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(chromedp.CSS("h2")))
	if got := eval[string](b, "document.title"); got != "rack-aware" {
		t.Errorf("Enter opens %q", got)
	}
}

// TestScreens: on a phone nothing is wider than the screen, and in light and dark each text
// stands out from its ground as WCAG 2.2 (1.4.3) wants.
func TestScreens(t *testing.T) {
	b := open(t, pages(t, func(p *site.Plugin) {
		if p.Name == "zone-cost" {
			p.Latest.Yanked = &index.Yank{Reason: "it is wrong"}
		}
	}))
	for _, width := range []int64{320, 1280} {
		for _, scheme := range []string{"light", "dark"} {
			b.screen(width, 800, scheme)
			for _, path := range []string{"index.html", "plugins/rack-aware.html", "plugins/" + long + ".html", "plugins/zone-cost.html"} {
				b.goTo(path)
				at := fmt.Sprintf("%s, %d wide, %s", path, width, scheme)
				if got := eval[int64](b, "document.documentElement.scrollWidth"); got > width {
					t.Errorf("%s: the page is %d wide", at, got)
				}
				if got := eval[[]string](b, faint); len(got) > 0 {
					t.Errorf("%s: texts that are hard to read: %s", at, got)
				}
				name, _, _ := strings.Cut(strings.TrimPrefix(path, "plugins/"), ".")
				b.look(fmt.Sprintf("%.10s-%d-%s", name, width, scheme))
			}
			if got, dark := eval[string](b, "getComputedStyle(document.body).backgroundColor"), scheme == "dark"; (got == "rgb(24, 24, 24)") != dark {
				t.Errorf("%s: the ground is %s", scheme, got)
			}
		}
	}
}

// faint lists the texts whose contrast is below 4.5.
const faint = `(() => {
	const light = c => {
		const [r, g, b] = c.match(/[\d.]+/g).map(x => x / 255).map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const ground = e => {
		for (; e; e = e.parentElement) {
			const c = getComputedStyle(e).backgroundColor;
			if (c !== "rgba(0, 0, 0, 0)") return c;
		}
		return "rgb(255, 255, 255)";
	};
	return [...document.body.querySelectorAll("*")].filter(e => e.tagName !== "SCRIPT" && [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())).map(e => {
		const a = light(getComputedStyle(e).color), b = light(ground(e));
		return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), e.textContent.slice(0, 40)];
	}).filter(([ratio]) => ratio < 4.5).map(([ratio, text]) => ratio.toFixed(1) + " " + text);
})()`

// TestHostile: texts of strangers stay texts in a real browser: no script of theirs runs, and
// nothing is asked for but the page itself.
func TestHostile(t *testing.T) {
	var asked atomic.Int64
	tracker := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer tracker.Close()
	evil := strings.ReplaceAll(`</pre></td></title></style></script><script>window.ran=1;alert(1)</script><img src="URL/img" onerror="window.ran=2"><svg onload="window.ran=3">`+
		`<iframe src="URL/frame"></iframe><link rel=stylesheet href="URL/css"><meta http-equiv=refresh content="0;url=URL/meta"><base href="URL/"><form action="URL/form"><input autofocus onfocus="window.ran=4">`+
		`<a href="javascript:window.ran=5">x</a> {{.}} ${window.ran=6} [x](javascript:window.ran=7) ![y](URL/md) <style>@import "URL/import"</style>"'`+"`\x1b[2J\u202e", "URL", tracker.URL)
	made := pages(t, func(p *site.Plugin) {
		p.Readme, p.Signed, p.Repository = evil, evil, evil
		v := p.Latest
		v.Version, v.Publisher, v.License, v.Description, v.ABI, v.Image, v.Module, v.SBOM = evil, evil, evil, evil, evil, evil, evil, evil
		v.Points, v.Reads = append(v.Points, evil), map[string][]string{evil: {evil}, "node": {evil}}
		v.Grants.Labels, v.Grants.Annotations = []string{evil}, []string{evil}
		v.Yanked = &index.Yank{Reason: evil, Successor: evil}
	})
	b := open(t, made)
	for path := range made {
		b.requests = nil
		b.goTo(path)
		b.do(chromedp.Sleep(300 * time.Millisecond)) // for what would load late
		if path == "index.html" {
			b.do(chromedp.Focus(chromedp.CSS("#search")), chromedp.KeyEvent("<img "+tracker.URL))
			if got := b.shown(); strings.Count(got, " ") != 3 {
				t.Errorf("the search finds %s", got)
			}
		}
		b.look("hostile-" + fmt.Sprintf("%.10s", strings.TrimPrefix(path, "plugins/")))
		if ran := eval[*int](b, "window.ran ?? null"); ran != nil || b.dialogs > 0 {
			t.Errorf("%s: a script ran, number %d, %d dialogs", path, eval[int](b, "window.ran ?? 0"), b.dialogs)
		}
		own := map[bool]string{true: "html head meta meta meta meta meta title style body main h1 p label input span", false: "html head meta meta meta meta meta title style body nav p a main h1"}[path == "index.html"]
		elements := eval[string](b, `[...document.querySelectorAll("*")].map(e => e.tagName.toLowerCase()).join(" ")`)
		if !strings.HasPrefix(elements, own+" ") || strings.Contains(elements, "img") || strings.Contains(elements, "svg") || strings.Count(elements, "script") > 1 {
			t.Errorf("%s: a text became elements: %s", path, elements)
		}
		b.mu.Lock()
		for _, url := range b.requests {
			if strings.TrimSuffix(url, "index.html") != b.url+strings.TrimSuffix(path, "index.html") && url != b.url+"favicon.ico" {
				t.Errorf("%s asks for %s", path, url)
			}
		}
		b.mu.Unlock()
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("%d requests left", n)
	}
}

// TestPolicy: if a text became a part of a page after all, the page's policy would keep it
// from running and from loading anything.
func TestPolicy(t *testing.T) {
	var asked atomic.Int64
	tracker := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer tracker.Close()
	made := pages(t, nil)
	for path, text := range made {
		made[path] = []byte(strings.Replace(string(text), "<main>", `<main><script>window.ran=1</script><img src="`+tracker.URL+`/img" onerror="window.ran=2"><link rel=stylesheet href="`+tracker.URL+`/css"><iframe src="`+tracker.URL+`"></iframe>`, 1))
	}
	b := open(t, made)
	for path := range made {
		b.goTo(path)
		b.do(chromedp.Sleep(300 * time.Millisecond))
		if eval[int](b, `document.querySelectorAll("main > script, main > img").length`) != 2 {
			t.Errorf("%s: what should be kept from running is not there", path)
		}
		if ran := eval[*int](b, "window.ran ?? null"); ran != nil || asked.Load() > 0 {
			t.Errorf("%s: a script ran, number %d, or %d requests left", path, eval[int](b, "window.ran ?? 0"), asked.Load())
		}
	}
}
