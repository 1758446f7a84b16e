// Package console has the pages of Berth's console: static files that show in a browser what package
// debughttp answers. They load nothing else, ask with GET only, and write texts of plugins and users as texts.
package console

import (
	"embed"
	"io/fs"
	"net/http"
)

// Path is where the pages are served; the links in them are relative.
const Path = "/ui/"

// Policy is the content security policy of the pages: their own script and style, answers of their own
// server, and nothing else. They are in no frame, and no text becomes HTML.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

//go:embed static
var files embed.FS

// Handler serves the pages below Path.
func Handler() http.Handler {
	static, err := fs.Sub(files, "static")
	if err != nil {
		panic("BUG: " + err.Error())
	}
	pages := http.StripPrefix(Path, http.FileServerFS(static))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		Protect(w.Header())
		pages.ServeHTTP(w, r)
	})
}

// Protect sets the headers that keep a browser from doing with an answer what the console does not need.
func Protect(h http.Header) {
	h.Set("Content-Security-Policy", Policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}
