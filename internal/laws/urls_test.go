package laws_test

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// TestExtenderURLs: the URL of an extender may have a password and a key in its query. So nothing reads it but what connects, what
// checks it, and plain.URL, which returns what may be shown.
func TestExtenderURLs(t *testing.T) {
	for _, problem := range shownURLs(allModules(t)) {
		t.Error(problem)
	}
}

// shownURLs returns a sentence for each place that reads an extender's URL otherwise.
func shownURLs(files []goFile) []string {
	var problems []string
	for _, f := range files {
		if f.isTest() || slices.Contains([]string{"runtime/config/extenders.go", "runtime/extender/client.go"}, f.path) {
			continue
		}
		fine := make(map[ast.Node]bool)
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, to := range n.Lhs {
					fine[to] = true
				}
			case *ast.CallExpr:
				if s, ok := n.Fun.(*ast.SelectorExpr); ok && len(n.Args) == 1 && s.Sel.Name == "URL" {
					x, ok := s.X.(*ast.Ident)
					fine[n.Args[0]] = ok && x.Name == importedAs(f, module+"/internal/plain")
				}
			case *ast.SelectorExpr:
				if n.Sel.Name == "URLPrefix" && !fine[n] {
					problems = append(problems, problem{f, n, "it reads an extender's URL, which may have secrets. Remedy: show plain.URL of it"}.String())
				}
			}
			return true
		})
	}
	return problems
}

func TestShownURLsChecker(t *testing.T) {
	const begin = "package a\nimport \"" + module + "/internal/plain\"\n"
	checkLaw(t, shownURLs, []lawCase{
		{"shown", "a/a.go", begin + "var x = e.URLPrefix\n", "a/a.go:3: it reads an extender's URL"},
		{"shown in part", "a/a.go", begin + "var x = f(plain.URL(a), e.URLPrefix)\n", "Remedy: show plain.URL of it"},
		{"another function of that name", "a/a.go", "package a\nvar x = other.URL(e.URLPrefix)\n", "a/a.go:2:"},
		{"without its secrets", "a/a.go", begin + "var x = plain.URL(c[0].URLPrefix)\n", ""},
		{"replaced", "a/a.go", begin + "func f() { c[0].URLPrefix = plain.URL(c[0].URLPrefix) }\n", ""},
		{"the client", "runtime/extender/client.go", begin + "var x = e.URLPrefix\n", ""},
		{"a test", "a/a_test.go", begin + "var x = e.URLPrefix\n", ""},
	})
}

// TestRedirects: a client that follows redirects sends what it has, tokens and pods as well, to servers that nobody named. So each
// client of ours says what it does.
func TestRedirects(t *testing.T) {
	for _, problem := range redirected(allModules(t)) {
		t.Error(problem)
	}
}

// redirected returns a sentence for each HTTP client that follows redirects, outside of tests.
func redirected(files []goFile) []string {
	guarded := []string{ // by oci.NewTransport, or by client-go
		"runtime/module/fetch_http.go", "runtime/market/oci/store.go", "runtime/kube/forward.go",
	}
	var problems []string
	for _, f := range files {
		pkg := importedAs(f, "net/http")
		if f.isTest() || pkg == "" || strings.HasPrefix(f.path, "test/") || slices.Contains(guarded, f.path) {
			continue
		}
		bad := func(n ast.Node, what string) {
			problems = append(problems, problem{f, n, what + " follows redirects. Remedy: an http.Client with CheckRedirect"}.String())
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				if isSelector(n.Type, pkg, "Client") && !slices.ContainsFunc(n.Elts, func(e ast.Expr) bool {
					kv, ok := e.(*ast.KeyValueExpr)
					if !ok {
						return false
					}
					key, ok := kv.Key.(*ast.Ident)
					return ok && key.Name == "CheckRedirect"
				}) {
					bad(n, "this client")
				}
			case *ast.SelectorExpr:
				for _, name := range []string{"DefaultClient", "Get", "Head", "Post", "PostForm"} {
					if isSelector(n, pkg, name) {
						bad(n, "http."+name)
					}
				}
			}
			return true
		})
	}
	return problems
}

func TestRedirectsChecker(t *testing.T) {
	const begin = "package a\nimport \"net/http\"\n"
	checkLaw(t, redirected, []lawCase{
		{"the default client", "a/a.go", begin + "var x = http.DefaultClient\n", "a/a.go:3: http.DefaultClient follows redirects"},
		{"a function", "a/a.go", begin + "var x, _ = http.Get(y)\n", "http.Get follows redirects"},
		{"a client", "a/a.go", begin + "var x = &http.Client{Transport: y}\n", "a/a.go:3: this client follows redirects. Remedy"},
		{"a client that follows none", "a/a.go", begin + "var x = &http.Client{CheckRedirect: y}\n", ""},
		{"a field", "a/a.go", begin + "type x struct{ http.Client }\n", ""},
		{"a test", "a/a_test.go", begin + "var x = http.DefaultClient\n", ""},
	})
}
