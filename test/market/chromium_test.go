package market_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// browser is a tab of a headless Chromium that shows a site.
type browser struct {
	t   *testing.T
	ctx context.Context
	url string // of the site's folder

	mu       sync.Mutex
	requests []string // URLs that the tab asked for
	changing []string // methods of those that are not GET
	dialogs  int
}

// findChromium skips the test without one; with BERTH_REQUIRE_CHROMIUM=1, as in CI, it fails.
func findChromium(t *testing.T) string {
	t.Helper()
	names := []string{os.Getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome", "headless-shell"}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const install = "there is no Chromium: on Debian apt-get install chromium, or name one in $CHROMIUM"
	if os.Getenv("BERTH_REQUIRE_CHROMIUM") == "1" {
		t.Fatal(install)
	}
	t.Skip(install)
	return ""
}

// open serves pages and starts a browser.
func open(t *testing.T, pages map[string][]byte) *browser {
	t.Helper()
	files := fstest.MapFS{}
	for name, text := range pages {
		files[name] = &fstest.MapFile{Data: text}
	}
	return openHandler(t, http.FileServerFS(files))
}

// openHandler serves what a handler answers and starts a browser.
func openHandler(t *testing.T, handler http.Handler) *browser {
	t.Helper()
	path := findChromium(t)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium's own refuses root
	}
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &browser{t: t, ctx: ctx, url: server.URL + "/"}
	b.do() // starts it; a time limit here would be the browser's
	b.ctx, cancel = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	if err := chromedp.Listen(b.ctx, b.listen); err != nil {
		t.Fatal(err)
	}
	call(b, network.Enable, network.EnableParams{})
	return b
}

func (b *browser) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
		if e.Request.Method != http.MethodGet {
			b.changing = append(b.changing, e.Request.Method)
		}
	case *page.EventJavascriptDialogOpening:
		b.dialogs++
	}
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// get runs an action for its value.
func get[T any](b *browser, action chromedp.Action[T]) T {
	b.t.Helper()
	out, err := chromedp.Run(b.ctx, action)
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

// call sends a command of the protocol.
func call[P, R any](b *browser, command cdp.Command[P, R], params P) {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, command, params)
		return err
	}))
}

// goTo opens a page of the site.
func (b *browser) goTo(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.url + path))
}

// eval evaluates an expression in the page.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	return get(b, chromedp.Evaluate[T](expression))
}

// shown returns the names of the plugins in the list that can be seen.
func (b *browser) shown() string {
	b.t.Helper()
	return strings.Join(eval[[]string](b, `[...document.querySelectorAll("tr[data-words]")].filter(r => r.getClientRects().length > 0).map(r => r.querySelector("a").textContent)`), " ")
}

// look stores a picture of the whole page in the folder that $BERTH_SCREENSHOTS names, for
// people to look at.
func (b *browser) look(name string) {
	b.t.Helper()
	dir := os.Getenv("BERTH_SCREENSHOTS")
	if dir == "" {
		return
	}
	picture := get(b, chromedp.FullScreenshot(100))
	if err := os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// screen sets the size of the window, and light or dark.
func (b *browser) screen(width, height int64, scheme string) {
	b.t.Helper()
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1, Mobile: width < 500})
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
}
