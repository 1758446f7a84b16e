// Package site renders an index as HTML pages: a list of its plugins, and a page for each. The
// pages are static, work without a script, and load nothing. Texts from the index
// are escaped, and READMEs are rendered without HTML and pictures of their own.
package site

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"time"

	"github.com/berth-scheduler/berth/runtime/market/index"
)

//go:embed list.html plugin.html style.css search.js
var files embed.FS

// MaxReadme is the number of bytes of a README that a page shows.
const MaxReadme = 256 << 10

// Plugin is a plugin of an index, with what its page shows besides.
type Plugin struct {
	*index.Plugin
	// Latest is the version that the page describes.
	Latest *index.Version
	// Readme is the text of the README, in Markdown. Signed says in words who signed the version, or why the
	// policy refuses it.
	Readme, Signed string
}

// Pages returns the pages of an index by their paths: index.html, and plugins/NAME.html.
// The commands on the pages name the index by reference.
func Pages(f *index.File, reference string, plugins []Plugin) (map[string][]byte, error) {
	style, err := files.ReadFile("style.css")
	if err != nil {
		return nil, err
	}
	style = append(style, filters()...)
	script, err := files.ReadFile("search.js")
	if err != nil {
		return nil, err
	}
	t, err := template.New("").Funcs(functions()).ParseFS(files, "*.html")
	if err != nil {
		return nil, err
	}
	page := page{
		Reference: reference, Serial: f.Serial, Expires: f.Expires.Format(time.DateOnly), Plugins: plugins,
		Style: template.CSS(style), Script: template.JS(script), //nolint:gosec // they are ours
		// Allows the page's own script and style, and nothing else.
		Policy: fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'", hash(style), hash(script)),
	}
	out := map[string][]byte{}
	if out["index.html"], err = page.render(t, "list.html"); err != nil {
		return nil, err
	}
	for i := range plugins {
		page.Plugin = &plugins[i]
		if out["plugins/"+plugins[i].Name+".html"], err = page.render(t, "plugin.html"); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// page is the data of the templates.
type page struct {
	Reference, Expires string
	Serial             int64
	Plugins            []Plugin
	Plugin             *Plugin // nil on the list
	Style              template.CSS
	Script             template.JS
	Policy             string
}

func (p *page) render(t *template.Template, name string) ([]byte, error) {
	var out bytes.Buffer
	err := t.ExecuteTemplate(&out, name, p)
	return out.Bytes(), err
}

// hash returns the source expression for a script or style in a Content-Security-Policy.
func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
