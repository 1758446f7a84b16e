package schema

import (
	"fmt"
	"net/url"
	"strings"
)

const (
	// maxApplied bounds how many schemas apply to one value, maxChain how deeply they nest.
	maxApplied = 10_000
	maxChain   = 64
)

// localPointer returns the JSON pointer of a reference into the same document.
func localPointer(ref any) (string, error) {
	text, _ := ref.(string)
	fragment, ok := strings.CutPrefix(text, "#")
	if !ok || fragment != "" && fragment[0] != '/' {
		return "", fmt.Errorf("%s is not a reference into this schema", Show(ref))
	}
	pointer, err := url.PathUnescape(fragment)
	if err != nil {
		return "", fmt.Errorf("%s is not a reference: a %% has no two digits after it", Show(ref))
	}
	return pointer, nil
}

// resolve returns the schema at a JSON pointer, or nil if there is none.
func (c *compiler) resolve(n *node, pointer string) *node {
	rest := pointer
	for rest != "" && n != nil {
		var keyword, name string
		keyword, rest = nextStep(rest)
		switch c.keywords[keyword] {
		case schemaList, schemaMap:
			if rest == "" {
				return nil
			}
			name, rest = nextStep(rest)
			n = c.parts[n][keyword+"/"+name]
		default:
			n = c.parts[n][keyword]
		}
	}
	return n
}

// nextStep splits off the first step of a JSON pointer.
func nextStep(pointer string) (name, rest string) {
	name = pointer[1:] // it begins with a slash
	if i := strings.IndexByte(name, '/'); i >= 0 {
		name, rest = name[:i], name[i:]
	}
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(name), rest
}

// reach is the number of schemas that a schema applies to a value, and their depth.
type reach struct {
	count, chain int
	running      bool
}

// ends refuses schemas that refer to themselves for the same value, which would never
// terminate, and schemas that apply too many schemas to one value.
func (c *compiler) ends() error {
	known := map[*node]*reach{}
	for _, n := range c.nodes {
		if _, err := c.reach(n, known); err != nil {
			return err
		}
	}
	return nil
}

func (c *compiler) reach(n *node, known map[*node]*reach) (*reach, error) {
	r := known[n]
	switch {
	case r != nil && r.running:
		return nil, &Problem{Path: c.places[n], Detail: "the schema refers to itself for the same value", Fix: "refer to it from properties or items"}
	case r != nil:
		return r, nil
	}
	r = &reach{count: 1, chain: 1, running: true}
	known[n] = r
	for _, next := range n.inPlace() {
		inner, err := c.reach(next, known)
		if err != nil {
			return nil, err
		}
		r.count, r.chain = r.count+inner.count, max(r.chain, inner.chain+1)
		switch {
		case r.count > maxApplied:
			return nil, &Problem{Path: c.places[n], Detail: tooMany(maxApplied, "schemas apply to one value"), Fix: "simplify the schema"}
		case r.chain > maxChain:
			return nil, &Problem{Path: c.places[n], Detail: tooMany(maxChain, "nested schemas apply to one value"), Fix: "simplify the schema"}
		}
	}
	r.running = false
	return r, nil
}
