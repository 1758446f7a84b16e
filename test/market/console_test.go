package market_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/berth-scheduler/berth/runtime/console"
)

// until waits until an expression is true in the page.
func (b *browser) until(expression string) {
	b.t.Helper()
	for range 200 {
		if eval[bool](b, "Boolean("+expression+")") {
			return
		}
		b.do(chromedp.Sleep(50 * time.Millisecond))
	}
	b.t.Fatalf("never true: %s\nThe page: %.2000s", expression, eval[string](b, "document.body.innerText"))
}

// capture stores a picture of the window as look does of the page.
func (b *browser) capture(name string) {
	b.t.Helper()
	if dir := os.Getenv("BERTH_SCREENSHOTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".png"), get(b, chromedp.CaptureScreenshot()), 0o600); err != nil {
			b.t.Fatal(err)
		}
	}
}

// view opens a view of the console and waits for a row of its table.
func (b *browser) view(address, row string) {
	b.t.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("location.hash = %q", address)))
	b.until(fmt.Sprintf("location.hash === %q && document.querySelector('main').innerText.includes(%q)", address, row))
}

// row is an expression for the link of the first row that has a text.
func row(text string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("tbody tr")].find(r => r.innerText.includes(%q)).querySelector("th a")`, text)
}

// demo shows the recording of the demo in berth ui, and returns the links that it prints.
func demo(t *testing.T) (links <-chan string) {
	t.Helper()
	berth := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "bin/berth", args...)
		cmd.Dir, cmd.Stderr = filepath.Join("..", ".."), os.Stderr
		return cmd
	}
	file := filepath.Join(t.TempDir(), "demo.berthrec")
	if err := berth("simulate", "--cluster", "cmd/berth/demo/cluster", "--config", "cmd/berth/demo/scheduler-wasm.yaml", "--record", file).Run(); err != nil {
		t.Fatalf("record the demo: %v (make examples makes what it runs)", err)
	}
	cmd := berth("ui", file)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	printed := make(chan string, 8)
	go func() {
		defer close(printed)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			for _, word := range strings.Fields(lines.Text()) {
				if strings.HasPrefix(word, "http://") {
					printed <- word
				}
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil && t.Context().Err() == nil {
			t.Errorf("berth ui ends with %v", err)
		}
	})
	return printed
}

// TestConsole: berth ui shows a recording: the pods that wait and why, decisions with the scores, a pod's history,
// nodes and plugins. A link works once. All that the page asks for is its own server's, with GET.
func TestConsole(t *testing.T) {
	links := demo(t)
	b := openHandler(t, http.NotFoundHandler())
	b.screen(1280, 800, "light")
	link := <-links
	own, _, _ := strings.Cut(link, "/ui/")
	b.requests = nil
	b.do(chromedp.Navigate(link))
	b.until(`document.querySelector("tbody tr")`)
	if got := eval[string](b, "location.href"); strings.Contains(got, "token") || !strings.HasSuffix(got, "/ui/#/queue") {
		t.Errorf("the address is %s", got)
	}
	says := func(want ...string) {
		t.Helper()
		text := eval[string](b, "document.body.innerText.replaceAll('\\u200b', '')")
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s does not say %q:\n%s", eval[string](b, "location.hash"), w, text)
			}
		}
	}
	says("Recording demo.berthrec", "Unschedulable", "What pods wait for", "NodeResourcesFit", "Insufficient")
	pod := eval[string](b, row("Unschedulable")+".textContent")
	b.do(chromedp.Evaluate[chromedp.Void](row("Unschedulable") + ".click()"))
	b.until(`document.querySelector("h1")`)
	says(pod, "History", "Rejected nodes", "It is unschedulable")
	b.view("#/decisions", "bound")
	b.do(chromedp.Evaluate[chromedp.Void](row("compact-9") + ".click()"))
	b.until(`document.querySelector("aside .score")`)
	says("Scores", "NodeResourcesFit", "zone-cost", "feasible")
	if got := eval[int](b, `document.querySelectorAll("aside tr.chosen").length`); got != 1 {
		t.Errorf("%d nodes are chosen", got)
	}
	b.view("#/nodes", "cpu")
	before := eval[string](b, `document.querySelector("tbody th").textContent`)
	b.do(chromedp.Click("//thead//button[text()='Node']"))
	if after := eval[string](b, `document.querySelector("tbody th").textContent`); after == before {
		t.Errorf("in the other order %s is the first node, too", after)
	}
	b.do(chromedp.Focus(chromedp.CSS("#filter")), chromedp.KeyEvent("no such node"))
	b.until(`!document.querySelector("tbody") && document.body.innerText.includes("No node matches")`)
	b.view("#/plugins", "tenant-pool")
	says("Fuel", "called", "DefaultPreemption", "zone-cost")
	b.view("#/queue", pod)

	again := <-links
	b.do(chromedp.Evaluate[chromedp.Void]("sessionStorage.clear()"), chromedp.Navigate("about:blank"), chromedp.Navigate(link))
	b.until(`document.getElementById("status").textContent.includes("used before")`)
	if got := eval[int](b, `document.querySelectorAll("tbody tr").length`); got != 0 {
		t.Errorf("with a used link there are %d rows", got)
	}
	b.do(chromedp.Navigate("about:blank"), chromedp.Navigate(again))
	b.until(`document.querySelector("tbody tr")`)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, url := range b.requests {
		if !strings.HasPrefix(url, own+"/ui/") && !strings.HasPrefix(url, own+"/debug/berth/") && url != "about:blank" {
			t.Errorf("the page asks for %s", url)
		}
	}
	if len(b.changing) > 0 {
		t.Errorf("the page sends %v", b.changing)
	}
}

// TestConsoleScreens: on a phone nothing is wider than the screen, in light and dark each text stands out from its
// ground, and everything has a name for screen readers. A reader without a mouse gets everywhere.
func TestConsoleScreens(t *testing.T) {
	b := openHandler(t, http.NotFoundHandler())
	b.screen(1280, 800, "light")
	b.do(chromedp.Navigate(<-demo(t)))
	b.until(`document.querySelector("tbody tr")`)
	pod := eval[string](b, row("Unschedulable")+".hash")
	b.view("#/decisions", "bound")
	decision := eval[string](b, row("compact-9")+".hash")
	for _, width := range []int64{320, 1280} {
		for _, scheme := range []string{"light", "dark"} {
			b.screen(width, 800, scheme)
			for _, v := range []struct{ name, address, row string }{
				{"queue", "#/queue", "What pods wait for"}, {"decisions", "#/decisions", "bound"}, {"decision", decision, "Rejected nodes"}, {"pod", pod, "History"}, {"nodes", "#/nodes", "cpu"}, {"plugins", "#/plugins", "zone-cost"},
			} {
				b.view(v.address, v.row)
				b.do(chromedp.Sleep(100 * time.Millisecond)) // until it is painted
				at := fmt.Sprintf("%s, %d wide, %s", v.name, width, scheme)
				if got := eval[int64](b, "document.documentElement.scrollWidth"); got > width {
					t.Errorf("%s: the page is %d wide", at, got)
				}
				if got := eval[[]string](b, faintOnMixed); len(got) > 0 {
					t.Errorf("%s: texts that are hard to read: %s", at, got)
				}
				if got := eval[[]string](b, nameless); len(got) > 0 {
					t.Errorf("%s: without a name: %s", at, got)
				}
				b.capture(fmt.Sprintf("console-%s-%d-%s", v.name, width, scheme))
			}
		}
	}
	b.screen(1280, 800, "light")
	b.view("#/queue", "What pods wait for")
	b.do(chromedp.Evaluate[chromedp.Void]("document.activeElement.blur()"))
	var visited []string
	at := `(e => e.getAttribute("aria-label") || e.innerText.split("\n")[0])(document.activeElement)`
	for range 30 {
		b.do(chromedp.KeyEvent(kb.Tab))
		visited = append(visited, eval[string](b, at))
		if eval[string](b, `getComputedStyle(document.activeElement).outlineStyle`) == "none" {
			t.Errorf("at %s nothing shows the focus", visited[len(visited)-1])
		}
		if eval[bool](b, `document.activeElement.matches("tbody th a")`) {
			break
		}
	}
	if got := strings.Join(visited, ", "); !strings.HasPrefix(got, "To the content, Queue, Decisions, Nodes, Plugins, ") || !strings.Contains(got, "Filter by pod, plugin or reason") {
		t.Errorf("Tab visits %s", got)
	}
	first := eval[string](b, at)
	b.do(chromedp.KeyEvent(kb.ArrowDown))
	if second := eval[string](b, at); second == first || !eval[bool](b, `document.activeElement.matches("tbody tr:nth-child(2) a")`) {
		t.Errorf("below %s is %s", first, second)
	}
	b.do(chromedp.KeyEvent(kb.ArrowUp), chromedp.KeyEvent(kb.Enter))
	b.until(`document.querySelector("h1")?.textContent === ` + fmt.Sprintf("%q", first))
}

// nameless lists what a screen reader has no name for.
const nameless = `[...document.querySelectorAll("a, button, input, table, nav, aside")].filter(e => {
	const name = e.getAttribute("aria-label") || e.caption?.textContent || (e.matches("a, button") ? e.textContent : "");
	return !name.trim();
}).map(e => e.outerHTML.slice(0, 80)).concat([...document.querySelectorAll("th:not([scope])")].map(e => "th " + e.textContent))`

// faintOnMixed is faint for grounds that shine through.
const faintOnMixed = `(() => {
	const read = c => {
		const n = c.match(/[\d.]+(e-\d+)?/g).map(Number);
		const scale = c.startsWith("color(") ? 255 : 1;
		return [n[0] * scale, n[1] * scale, n[2] * scale, n[3] ?? 1];
	};
	const light = ([r, g, b]) => {
		const l = [r, g, b].map(x => x / 255).map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
		return 0.2126 * l[0] + 0.7152 * l[1] + 0.0722 * l[2];
	};
	const ground = e => {
		if (!e) return [255, 255, 255];
		const [r, g, b, a] = read(getComputedStyle(e).backgroundColor);
		if (a === 1) return [r, g, b];
		const below = ground(e.parentElement);
		return [r, g, b].map((x, i) => a * x + (1 - a) * below[i]);
	};
	return [...document.body.querySelectorAll("*")].filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())).map(e => {
		const a = light(read(getComputedStyle(e).color)), b = light(ground(e));
		return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), e.textContent.slice(0, 40)];
	}).filter(([ratio]) => ratio < 4.5).map(([ratio, text]) => ratio.toFixed(1) + " " + text);
})()`

// fake serves the console with answers in JSON, and counts them.
func fake(answers map[string]func() string, asked *atomic.Int64) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(console.Path, console.Handler())
	for path, answer := range answers {
		mux.HandleFunc("/debug/berth/"+path, func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, answer())
		})
	}
	return mux
}

// TestConsoleLive: what changes is shown soon, without a loss of the focus, and Pause stops it.
func TestConsoleLive(t *testing.T) {
	var asked, pods atomic.Int64
	pods.Store(2)
	b := openHandler(t, fake(map[string]func() string{
		"overview": func() string {
			return `{"version":"v1","now":"2026-01-01T00:01:00Z","profiles":["p"],"places":{"active":2},"decisions":3}`
		},
		"queue": func() string {
			var list []string
			for i := pods.Load(); i > 0; i-- { // new ones come first
				list = append(list, fmt.Sprintf(`{"namespace":"ns","name":"pod-%d","profile":"p","priority":0,"place":"active","attempts":1,"since":"2026-01-01T00:00:00Z"}`, i))
			}
			return fmt.Sprintf(`{"total":%d,"pods":[%s]}`, len(list), strings.Join(list, ","))
		},
	}, &asked))
	b.goTo("ui/")
	b.until(`document.querySelectorAll("tbody tr").length === 2`)
	b.do(chromedp.Focus(chromedp.CSS("tbody tr:nth-child(2) a")))
	pods.Store(40)
	b.until(`document.querySelectorAll("tbody tr").length === 40`)
	if got := eval[string](b, "document.activeElement.textContent"); got != "ns/pod-1" {
		t.Errorf("the focus is at %q", got)
	}
	b.do(chromedp.Focus(chromedp.CSS("#filter")), chromedp.KeyEvent("pod-3"))
	b.until(`document.querySelectorAll("tbody tr").length === 11`)
	b.do(chromedp.Sleep(2500 * time.Millisecond))
	if got := eval[string](b, `document.activeElement.id + document.activeElement.value`); got != "filterpod-3" {
		t.Errorf("after a refresh the focus is at %s", got)
	}
	b.do(chromedp.Click("//header//button"))
	b.until(`document.querySelector("header button").getAttribute("aria-pressed") === "true" && document.body.innerText.includes("paused")`)
	b.do(chromedp.Sleep(time.Second))
	before := asked.Load()
	b.do(chromedp.Sleep(3 * time.Second))
	if after := asked.Load(); after != before {
		t.Errorf("paused, it asks %d times", after-before)
	}
}

// TestConsoleRollouts: plugins shows how far new versions are.
func TestConsoleRollouts(t *testing.T) {
	var asked atomic.Int64
	b := openHandler(t, fake(map[string]func() string{
		"overview": func() string {
			return `{"version":"v1","now":"2026-01-01T00:01:00Z","profiles":["p"],"places":{},"decisions":0}`
		},
		"plugins": func() string {
			return `{"plugins":[],"rollouts":[
				{"plugin":"zones","step":2,"steps":3,"versions":[{"version":"stable","digest":"sha256:1","share":0.9,"attempts":900},{"version":"canary","digest":"sha256:2","share":0.1,"attempts":100}]},
				{"plugin":"ns/bad","step":0,"steps":3,"failed":"pending","versions":[{"version":"stable","digest":"sha256:3","share":1,"attempts":0}]},
				{"plugin":"ns/new","step":0,"steps":3,"versions":[{"version":"canary","digest":"sha256:4","share":0,"attempts":0}]},
				{"plugin":"ns/done","step":0,"steps":3,"versions":[{"version":"stable","digest":"sha256:5","share":1,"attempts":0}]}]}`
		},
		"work": func() string { return `[]` }, "trials": func() string { return `[]` },
	}, &asked))
	b.screen(1280, 800, "light")
	b.goTo("ui/#/plugins")
	b.until(`document.body.innerText.includes("Rollouts")`)
	got := eval[[]string](b, `[...document.querySelectorAll("tbody tr")].map(r => r.innerText.replaceAll("\u200b", "").replaceAll(/\s+/g, " ").trim())`)
	want := []string{"zones step 2 of 3 stable sha256:1 90 % 900", "zones canary sha256:2 10 % 100", "ns/bad stepped back: pending stable sha256:3 100 % –", "ns/new waits canary sha256:4 0 % –", "ns/done complete stable sha256:5 100 % –"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := eval[[]string](b, faintOnMixed); len(got) > 0 {
		t.Errorf("texts that are hard to read: %s", got)
	}
}

// TestConsoleHostile: names, reasons and other texts of users and plugins stay texts, and nothing is asked for but
// the console's own paths. If one became a part of the page after all, the policy would keep it from running.
func TestConsoleHostile(t *testing.T) {
	var outside, asked atomic.Int64
	tracker := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { outside.Add(1) }))
	defer tracker.Close()
	markup := strings.ReplaceAll(`</td></table></main><script>window.ran=1;alert(1)</script><img src='URL/img' onerror='window.ran=2'><svg onload='window.ran=3'><iframe src='URL/frame'></iframe>`+
		`<link rel=stylesheet href='URL/css'><a href='javascript:window.ran=5'>x</a><style>@import 'URL/import'</style>`, "URL", tracker.URL)
	evil := strings.ReplaceAll(`EVIL/../..//javascript:window.ran=6 `+markup, `"`, `\"`) // in JSON
	attempt := fmt.Sprintf(`{"attempt":{"sequence":1,"namespace":"%[1]s","pod":"%[1]s","profile":"%[1]s","try":1,"nodes":2,"evaluated":2,"feasible":2,"node":"%[1]s","message":"%[1]s","nominated":"%[1]s","victims":["%[1]s"],`+
		`"rejections":[{"plugin":"%[1]s","code":"%[1]s","reasons":["%[1]s"],"count":1,"nodes":["%[1]s"],"details":[{"text":"%[1]s","nodes":1}]}],"candidates":[{"node":"%[1]s","total":2,"scores":[{"plugin":"%[1]s","raw":1,"normalized":1,"weighted":2}]}]},`+
		`"at":"2026-01-01T00:00:00Z","duration":1,"outcome":"%[1]s","plugins":[{"plugin":"%[1]s","point":"%[1]s","digest":"%[1]s","calls":1,"faults":1,"duration":1}]}`, evil)
	decision := fmt.Sprintf(`{"sequence":1,"namespace":"%[1]s","pod":"%[1]s","profile":"%[1]s","try":1,"at":"2026-01-01T00:00:00Z","duration":1,"outcome":"%[1]s","node":"","message":"%[1]s","nodes":1,"feasible":0}`, evil)
	says := func(text string) func() string { return func() string { return text } }
	answers := map[string]func() string{
		"overview":    says(fmt.Sprintf(`{"version":"%[1]s","recording":"%[1]s","now":"2026-01-01T00:01:00Z","profiles":["%[1]s"],"places":{"%[1]s":2},"decisions":3}`, evil)),
		"queue":       says(fmt.Sprintf(`{"total":1,"pods":[{"namespace":"%[1]s","name":"%[1]s","profile":"%[1]s","priority":0,"place":"%[1]s","attempts":1,"since":"2026-01-01T00:00:00Z","plugins":["%[1]s"],"reason":"%[1]s"}]}`, evil)),
		"decisions":   says("[" + decision + "]"),
		"decisions/1": says(attempt),
		"explain/":    says(fmt.Sprintf(`{"namespace":"ns","name":"pod","where":"%[1]s","last":%[2]s,"history":[%[3]s],"cluster":{"schedulerName":"%[1]s","node":"%[1]s","phase":"%[1]s"},"profiles":["%[1]s"]}`, evil, attempt, decision)),
		"nodes":       says(fmt.Sprintf(`[{"name":"%[1]s","taints":["%[1]s"],"resources":[{"name":"cpu","allocatable":1000,"requested":500},{"name":"%[1]s","allocatable":4,"requested":1}]}]`, evil)),
		"plugins": says(fmt.Sprintf(`{"error":"%[1]s","folder":[{"file":"%[1]s","error":"%[1]s"}],"plugins":[{"profile":"%[1]s","name":"%[1]s","module":"%[1]s","digest":"%[1]s","signers":["%[1]s"],"yanked":"%[1]s","breaker":"%[1]s","lastFault":"%[1]s",`+
			`"calls":1,"rows":1,"fuel":1,"faults":1,"memory":1,"memoryTotal":2}],"rollouts":[{"plugin":"%[1]s","step":1,"steps":2,"failed":"%[1]s","versions":[{"version":"%[1]s","digest":"%[1]s","share":1,"attempts":2}]}],"reloads":0,"refused":1}`, evil)),
		"work":   says(fmt.Sprintf(`[{"profile":"%[1]s","plugin":"%[1]s","point":"%[1]s","digest":"%[1]s","calls":1,"rows":1,"reused":1,"faults":1,"duration":1}]`, evil)),
		"trials": says(fmt.Sprintf(`[{"profile":"%[1]s","plugin":"%[1]s","same":0,"elsewhere":0,"placed":0,"pending":0,"preemption":0,"failed":0,"missed":0}]`, evil)),
	}
	b := openHandler(t, fake(answers, &asked))
	b.screen(1280, 800, "light")
	known := strings.Fields("HTML HEAD META TITLE LINK SCRIPT BODY A HEADER SPAN NAV TIME B P MAIN DIV DL DT DD SMALL SECTION H1 H2 UL LI BUTTON INPUT TABLE CAPTION THEAD TBODY TR TH TD ASIDE DETAILS SUMMARY CODE")
	for _, address := range []string{"#/queue", "#/decisions", "#/decisions/1", "#/pods/ns/pod", "#/nodes", "#/plugins", "#/queue/" + markup, "#/pods/" + strings.ReplaceAll(markup, "/", "%2F") + "/x"} {
		b.goTo("ui/")
		b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("location.hash = %q", address)))
		b.until(`document.querySelector("main").innerText.includes("EVIL")`)
		b.do(chromedp.Sleep(200 * time.Millisecond)) // for what would load late
		b.do(chromedp.Evaluate[chromedp.Void](`document.querySelectorAll("a:not(nav a)").forEach(a => { if (!a.href.startsWith(location.origin + "/ui/#")) window.ran = a.href })`))
		if ran := eval[any](b, "window.ran ?? null"); ran != nil || b.dialogs > 0 {
			t.Errorf("%s: %v ran, %d dialogs", address, ran, b.dialogs)
		}
		for _, tag := range eval[[]string](b, `[...new Set([...document.querySelectorAll("*")].map(e => e.tagName))]`) {
			if !strings.Contains(" "+strings.Join(known, " ")+" ", " "+tag+" ") {
				t.Errorf("%s: a text became the element %s", address, tag)
			}
		}
		if n := eval[int](b, `document.querySelectorAll("script, link").length`); n != 3 {
			t.Errorf("%s: %d scripts and links", address, n)
		}
		b.capture("console-hostile")
	}
	b.mu.Lock()
	for _, url := range b.requests {
		if !strings.HasPrefix(url, b.url+"ui/") && !strings.HasPrefix(url, b.url+"debug/berth/") {
			t.Errorf("the page asks for %s", url)
		}
	}
	b.mu.Unlock()
	// The page as it is, with texts that became parts of it.
	into := "<main><script>window.ran=1</script><img src='" + tracker.URL + "/img' onerror='window.ran=2'><link rel=stylesheet href='" + tracker.URL + "/css'><iframe src='" + tracker.URL + "'></iframe>"
	pages := console.Handler()
	b = openHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inner := httptest.NewRecorder()
		pages.ServeHTTP(inner, r)
		for name, values := range inner.Header() {
			if name != "Content-Length" {
				w.Header()[name] = values
			}
		}
		w.WriteHeader(inner.Code)
		_, _ = io.WriteString(w, strings.Replace(inner.Body.String(), `<main id="main" tabindex="-1">`, into, 1))
	}))
	b.goTo("ui/")
	b.do(chromedp.Sleep(300 * time.Millisecond))
	if got := eval[int](b, `document.querySelectorAll("main > script, main > img, main > iframe").length`); got != 3 {
		t.Errorf("%d parts that should be kept from running are there", got)
	}
	b.do(chromedp.Evaluate[chromedp.Void](`try { document.body.innerHTML = "<img src=x>"; window.ran = 8 } catch {}`))
	if ran := eval[any](b, "window.ran ?? null"); ran != nil || outside.Load() > 0 {
		t.Errorf("%v ran, or %d requests left", ran, outside.Load())
	}
}
