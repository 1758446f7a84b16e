package app

import (
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/berth-scheduler/berth/runtime/console"
	"github.com/berth-scheduler/berth/runtime/debughttp"
)

// gate serves the console's pages to all users of this machine, and what the pages ask for only to tabs
// that came by a link.
//
// A link has a token in its fragment, which a browser sends to nobody. The page sends the token once, gets
// the secret of a session for it, and keeps that in the tab. Cookies would do worse: a browser sends those
// of 127.0.0.1 to the servers of other users on other ports, too.
type gate struct {
	host string // of the links
	// linked (optional) is called with each new link.
	linked func(url string)
	data   http.Handler
	mu     struct {
		sync.Mutex
		token    string // of the link that was not used yet
		sessions []string
	}
}

// sessionPath is where a page gets the secret of a session.
const sessionPath = console.Path + "session"

// handler returns the handler, with a first link.
func (g *gate) handler() http.Handler {
	g.link()
	pages := console.Handler()
	mux := http.NewServeMux()
	mux.Handle("GET "+console.Path, pages)
	mux.HandleFunc("GET "+sessionPath, g.session)
	for _, path := range debughttp.ConsolePaths() {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "..") { // no name has that
				http.NotFound(w, r)
				return
			}
			if !g.admits(bearer(r)) {
				http.Error(w, "this tab has no session: open the link that berth ui has printed", http.StatusUnauthorized)
				return
			}
			g.data.ServeHTTP(w, r)
		})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		console.Protect(w.Header())
		if r.Host != g.host { // another name may be one that a hostile page had resolved to this address
			http.Error(w, "the console is at http://"+g.host+console.Path, http.StatusMisdirectedRequest)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// link makes the next link.
func (g *gate) link() {
	g.mu.token = rand.Text()
	if g.linked != nil {
		g.linked(fmt.Sprintf("http://%s%s#token=%s", g.host, console.Path, g.mu.token))
	}
}

// session gives the secret of a session for the token of a link, once.
func (g *gate) session(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !same(bearer(r), g.mu.token) {
		http.Error(w, "this link was used before: open the one that berth ui has printed last", http.StatusUnauthorized)
		return
	}
	secret := rand.Text()
	g.mu.sessions = append(g.mu.sessions, secret)
	g.link()
	_, _ = fmt.Fprintln(w, secret) // the client may be gone
}

func (g *gate) admits(secret string) (admitted bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range g.mu.sessions {
		admitted = admitted || same(secret, s)
	}
	return admitted
}

func bearer(r *http.Request) string {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return token
}

// same compares secrets in constant time.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
