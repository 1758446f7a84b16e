package schema

import (
	"strings"

	"github.com/berth-scheduler/berth/internal/plain"
)

// path is the path to a part of a value. It becomes text only when there is a mistake: field
// names come from untrusted input and may be long, and each is in the path of everything below
// it.
type path []step

// step is a field or an element of a list.
type step struct {
	name  string
	index int
	field bool
}

func (p *path) push(s step) { *p = append(*p, s) }
func (p *path) pop()        { *p = (*p)[:len(*p)-1] }

// String returns the path as pools.team-a[1], cut to MaxPath bytes.
func (p path) String() string {
	text := ""
	for _, s := range p {
		if len(text) > MaxPath {
			break
		}
		if s.field {
			text = Join(text, strings.ToValidUTF8(plain.Cut(s.name, MaxPath), "�"))
		} else {
			text = Index(text, s.index)
		}
	}
	return plain.Cut(text, MaxPath)
}
