package site_test

import (
	"crypto/sha256"
	"encoding/base64"
	"html"
	"html/template"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/runtime/market/index"
	"github.com/berth-scheduler/berth/runtime/market/site"
)

func pages(t *testing.T, change func(*site.Plugin)) map[string]string {
	t.Helper()
	digest := "sha256:" + strings.Repeat("a", 64)
	v := index.Version{
		Version: "1.3.0", Publisher: "Example", License: "Apache-2.0", Description: "Spreads pods over racks", ABI: "1.0", Points: []string{"filter"},
		Reads: map[string][]string{"pods": {"labels"}}, Image: digest, Module: digest, Size: 1000, SBOM: digest,
		Conformance: &index.Conformance{Kept: 14}, Bench: []index.Bench{{Nodes: 5000, PerPod: 6_172_835, Fuel: 42}},
	}
	old := v
	old.Version, old.Yanked = "1.2.0", &index.Yank{Reason: "it counts racks twice", Successor: "1.3.0"}
	f, _, err := index.Next(nil, []index.Plugin{{Name: "rack-aware", Repository: "ghcr.io/team/rack-aware", Versions: []index.Version{old, v}}}, time.Unix(0, 0), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	p := site.Plugin{Plugin: &f.Plugins[0], Latest: f.Plugins[0].Latest(), Readme: "# Rack aware\n", Signed: "signed by team"}
	if change != nil {
		change(&p)
	}
	out, err := site.Pages(f, "ghcr.io/team/index", []site.Plugin{p})
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for path, text := range out {
		texts[path] = string(text)
	}
	return texts
}

// TestPages: a reader without scripts finds what a plugin may do, costs, and how it is
// installed.
func TestPages(t *testing.T) {
	got := pages(t, nil)
	if len(got) != 2 {
		t.Errorf("%d pages", len(got))
	}
	for path, wants := range map[string][]string{
		"index.html": {`<a href="plugins/rack-aware.html">rack-aware</a>`, "Spreads pods over racks", `<a id="p-filter" href="#p-filter">filter</a>`, `<tr class="p-filter "`, "ghcr.io/team/index, serial 1, valid until 1970-01-01"},
		"plugins/rack-aware.html": {
			"<h1>rack-aware 1.3.0</h1>", "berth plugin install rack-aware@1.3.0 --index ghcr.io/team/index", "<li>runs at filter</li>", "<li>reads labels of placed pods</li>",
			"<td>signed by team</td>", `<td data-head="Nodes">5000</td><td data-head="Time per pod, one core">6.173ms</td><td data-head="per 1,000 nodes">1.235ms</td><td data-head="Fuel">42</td>`, "CycloneDX", "14 duties kept, 0 broken", "it counts racks twice; use 1.3.0", "<h3>Rack aware</h3>",
		},
	} {
		for _, want := range wants {
			if !strings.Contains(got[path], want) {
				t.Errorf("%s has no %q:\n%s", path, want, got[path])
			}
		}
		for _, tag := range []string{"style", "script"} {
			_, inside, ok := strings.Cut(got[path], "<"+tag+">")
			inside, _, _ = strings.Cut(inside, "</"+tag+">")
			sum := sha256.Sum256([]byte(inside))
			if want := tag + "-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; ok && !strings.Contains(html.UnescapeString(got[path]), want) {
				t.Errorf("%s: its policy does not allow its own %s, %q", path, tag, want)
			}
		}
		if strings.Contains(got[path], "ZgotmplZ") {
			t.Errorf("%s: a template refused a value:\n%s", path, got[path])
		}
	}
}

// TestHostilePages: no text of a stranger becomes a part of the page: no element, no
// attribute, no link. The page's policy allows no script but its own.
func TestHostilePages(t *testing.T) {
	const evil = `</pre><script>alert(1)</script><img src=x onerror=alert(2)><a href="javascript:alert(3)">"'` + "`\x1b[2J\u202e\x00"
	got := pages(t, func(p *site.Plugin) {
		v := p.Latest
		p.Readme, p.Signed, p.Repository = evil+"\n[x](javascript:alert(4)) ![y](http://tracker.example/) [z](/registry) <data:text/html,x>\n\n<iframe src=x>\n\n[web](https://example.com/?a=\"b)", evil, evil
		v.Publisher, v.License, v.Description, v.ABI, v.Image, v.Module, v.Version = evil, evil, evil, evil, evil, evil, evil
		v.Points, v.Reads = []string{evil}, map[string][]string{evil: {evil}, "node": {evil}}
		v.Grants.Labels, v.Grants.Annotations = []string{evil}, []string{evil}
		v.Yanked = &index.Yank{Reason: evil, Successor: evil}
	})
	for path, text := range got {
		own, links := 0, 2 // to the list, and to the one web page
		if path == "index.html" {
			own, links = 1, 1
		}
		if strings.Count(text, "<script") != own || strings.Contains(text, "<img") || strings.Contains(text, `href="javascript`) || strings.Count(text, "<a ") != links {
			t.Errorf("%s: a text became a part of the page:\n%s", path, text)
		}
		if !strings.Contains(text, `content="default-src &#39;none&#39;; style-src &#39;sha256-`) || strings.Contains(text, "unsafe-inline") {
			t.Errorf("%s has no policy that forbids the rest:\n%s", path, text)
		}
		if i := strings.Index(text, "<h2>README"); i >= 0 && strings.ContainsAny(text[i:], "\x1b\x00") {
			t.Errorf("%s: the README has characters that cannot be printed:\n%q", path, text[i:])
		}
	}
}

// TestReadme: Markdown becomes HTML below the page's headings, with links to web pages only,
// and without pictures or HTML of its own.
func TestReadme(t *testing.T) {
	p := func(readme string) string {
		got := pages(t, func(p *site.Plugin) { p.Readme = readme })
		for path, text := range got {
			if _, after, ok := strings.Cut(text, `<section class="readme">`); ok && path != "index.html" {
				before, _, _ := strings.Cut(after, "</section>")
				return strings.TrimSpace(before)
			}
		}
		t.Fatal("no page has a README")
		return ""
	}
	for readme, want := range map[string]string{
		"# Rack aware\n\nIt is *fine*.\n":           "<h3>Rack aware</h3>\n<p>It is <em>fine</em>.</p>",
		"##### deep":                                "<h6>deep</h6>",
		"- a\n- `b < c`":                            "<ul>\n<li>a</li>\n<li><code>b &lt; c</code></li>\n</ul>",
		"| a | b |\n|---|---|\n| 1 | 2 |":           "<table>\n<thead>\n<tr>\n<th>a</th>\n<th>b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>1</td>\n<td>2</td>\n</tr>\n</tbody>\n</table>",
		"[docs](https://example.com/x)":             `<p><a rel="nofollow noopener noreferrer" href="https://example.com/x">docs</a></p>`,
		"<https://example.com>":                     `<p><a rel="nofollow noopener noreferrer" href="https://example.com">https://example.com</a></p>`,
		"[a](docs/x.md) [b](javascript:x) <me@x.y>": "<p>a b me@x.y</p>",
		"![a graph](https://example.com/a.png)":     "<p>a graph</p>",
		"a <b>bold</b> word":                        "<p>a &lt;b&gt;bold&lt;/b&gt; word</p>",
		"<div onclick=x>\nhi\n</div>":               "<pre>&lt;div onclick=x&gt;\nhi\n&lt;/div&gt;</pre>",
		"```sh\nberth <x>\n```":                     "<pre><code class=\"language-sh\">berth &lt;x&gt;\n</code></pre>",
	} {
		if got := p(readme); got != want {
			t.Errorf("%q is rendered as\n%s\nwant\n%s", readme, got, want)
		}
	}
}

// TestLongReadme: a README that would take long to render is shown as text.
func TestLongReadme(t *testing.T) {
	for _, part := range []string{"[a](", "> ", "<b>"} {
		for _, text := range pages(t, func(p *site.Plugin) { p.Readme = strings.Repeat(part, site.MaxReadme/len(part)) }) {
			if _, after, ok := strings.Cut(text, `<section class="readme">`); ok && !strings.HasPrefix(after, "\n<pre>"+template.HTMLEscapeString(part+part)) {
				t.Errorf("%.200s", after)
			}
		}
	}
}

// TestReadmeBombs: a short README makes no long page, and takes little memory.
func TestReadmeBombs(t *testing.T) {
	for name, readme := range map[string]string{
		"a wide table": strings.Repeat("|a", 2000) + "|\n" + strings.Repeat("|-", 2000) + "|\n" + strings.Repeat("|\n", 4000),
		"wide tables":  strings.Repeat(strings.Repeat("|a", 200)+"|\n"+strings.Repeat("|-", 200)+"|\n"+strings.Repeat("|\n", 600)+"\n", 8),
		"one address":  "[a]: https://x.example/" + strings.Repeat("x", 15<<10) + "\n\n" + strings.Repeat("[a]", 5000),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		page := pages(t, func(p *site.Plugin) { p.Readme = readme })["plugins/rack-aware.html"]
		runtime.ReadMemStats(&after)
		if made := after.TotalAlloc - before.TotalAlloc; page == "" || len(page) > 2<<20 || made > 128<<20 {
			t.Errorf("%s: a README of %d bytes makes a page of %d, and takes %d MiB", name, len(readme), len(page), made>>20)
		}
	}
	table := "|a|b|\n|-|-|\n" + strings.Repeat("|1|2|\n", 2000)
	if page := pages(t, func(p *site.Plugin) { p.Readme = table })["plugins/rack-aware.html"]; strings.Count(page, "<td>1</td>") != 2000 {
		t.Error("a long table is no table")
	}
}
