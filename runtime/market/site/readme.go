package site

import (
	"bytes"
	"errors"
	"html/template"
	"net/url"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"

	"github.com/berth-scheduler/berth/internal/plain"
)

// maxMarkdown is how long a README is rendered, in bytes; a longer one is shown as text. There
// are texts for which the time grows with the square of their length: a second for this one.
const maxMarkdown = 32 << 10

// maxCells is how many cells of tables a rendered README may have, and maxPage how many bytes; what may have more is shown as text. A
// row of one letter gets as many cells as the first row of its table, and a link as many bytes as the address that it refers to.
const (
	maxCells = 50_000
	maxPage  = 1 << 20
)

// readme renders a README, which is a text of a stranger: HTML in it stays text, a picture is
// its description, a link leads to a web page or nowhere, and its headings are below those of
// the page.
//
// # Errors
//
// It cannot be rendered.
func readme(text string) (template.HTML, error) {
	text = plain.Lines(text, MaxReadme)
	asText := template.HTML("<pre>" + template.HTMLEscapeString(text) + "</pre>\n") //nolint:gosec // it is escaped
	if len(text) > maxMarkdown || cells(text) > maxCells {
		return asText, nil
	}
	markdown := goldmark.New(
		goldmark.WithExtensions(extension.Table, extension.Strikethrough),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(&cautious{html.NewConfig()}, 1))),
	)
	var out rendered
	switch err := markdown.Convert([]byte(text), &out); {
	case errors.Is(err, errPage):
		return asText, nil
	case err != nil:
		return "", err
	}
	return template.HTML(out.String()), nil //nolint:gosec // goldmark escapes texts, and cautious writes the rest
}

// cells returns how many cells the tables of a text have at most.
func cells(text string) int {
	all, lines, columns := 0, 0, 0
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" { // it ends a table
			all, lines, columns = all+lines*columns, 0, 0
			continue
		}
		lines++
		columns = max(columns, strings.Count(line, "|")+1)
	}
	return all + lines*columns
}

// rendered is a buffer of at most maxPage bytes.
type rendered struct{ bytes.Buffer }

var errPage = errors.New("the page is too large")

// Write implements io.Writer.
func (r *rendered) Write(data []byte) (int, error) {
	if r.Len()+len(data) > maxPage {
		return 0, errPage
	}
	return r.Buffer.Write(data)
}

// cautious writes what could lead out of the page, or add to it.
type cautious struct{ html.Config }

// RegisterFuncs implements renderer.NodeRenderer.
func (c *cautious) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHeading, c.heading)
	r.Register(ast.KindLink, c.link)
	r.Register(ast.KindAutoLink, c.autoLink)
	r.Register(ast.KindImage, c.image)
	r.Register(ast.KindRawHTML, c.rawHTML)
	r.Register(ast.KindHTMLBlock, c.htmlBlock)
}

func (c *cautious) heading(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	level := byte('0' + min(6, n.(*ast.Heading).Level+2)) // the page's own are of level 1 and 2
	if entering {
		_, _ = w.WriteString("<h")
	} else {
		_, _ = w.WriteString("</h")
	}
	_ = w.WriteByte(level)
	_, _ = w.WriteString(">")
	if !entering {
		_ = w.WriteByte('\n')
	}
	return ast.WalkContinue, nil
}

func (c *cautious) link(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	to := web(n.(*ast.Link).Destination)
	switch {
	case to == nil:
	case entering:
		open(w, to)
	default:
		_, _ = w.WriteString("</a>")
	}
	return ast.WalkContinue, nil
}

func (c *cautious) autoLink(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	link := n.(*ast.AutoLink)
	to := web(link.URL(source))
	if to != nil {
		open(w, to)
	}
	_, _ = w.Write(util.EscapeHTML(link.Label(source)))
	if to != nil {
		_, _ = w.WriteString("</a>")
	}
	return ast.WalkContinue, nil
}

// image writes only the description of a picture, which is below the node.
func (c *cautious) image(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) {
	return ast.WalkContinue, nil
}

func (c *cautious) rawHTML(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		segments := n.(*ast.RawHTML).Segments
		for i := range segments.Len() {
			at := segments.At(i)
			_, _ = w.Write(util.EscapeHTML(at.Value(source)))
		}
	}
	return ast.WalkSkipChildren, nil
}

func (c *cautious) htmlBlock(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	block := n.(*ast.HTMLBlock)
	_, _ = w.WriteString("<pre>")
	for i := range block.Lines().Len() {
		at := block.Lines().At(i)
		_, _ = w.Write(util.EscapeHTML(at.Value(source)))
	}
	if block.HasClosure() {
		at := block.ClosureLine
		_, _ = w.Write(util.EscapeHTML(at.Value(source)))
	}
	_, _ = w.WriteString("</pre>\n")
	return ast.WalkContinue, nil
}

// web returns the address of a web page; nil for any other address.
func web(destination []byte) []byte {
	u, err := url.Parse(string(destination))
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return nil
	}
	return destination
}

// open begins a link. The other page learns nothing of this one.
func open(w util.BufWriter, to []byte) {
	_, _ = w.WriteString(`<a rel="nofollow noopener noreferrer" href="`)
	_, _ = w.Write(util.EscapeHTML(util.URLEscape(to, true)))
	_, _ = w.WriteString(`">`)
}
