package cel

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// The limits of an expression.
const (
	maxText  = 8192
	maxDepth = 64 // of what is in one another
)

// shape is what an expression is before its types are known.
type shape uint8

const (
	shapeInt shape = iota
	shapeDouble
	shapeString
	shapeBool
	shapeName
	shapeSelect // of args[0], the field text
	shapeIndex  // of args[0] by args[1]
	shapeCall   // of the function text
	shapeMethod // of the function text on args[0]
	shapeUnary  // the operator text
	shapeBinary // the operator text
	shapeChoice // args[0] ? args[1] : args[2]
	shapeList
	shapeMap // keys and values in turns
)

// expression is an expression without types.
type expression struct {
	shape shape
	at    int
	text  string
	n     int64
	f     float64
	args  []*expression
}

// reserved are names that are no variables.
const reserved = " as break const continue else for function if import let loop package namespace return var void while in "

// parser makes an expression of tokens.
type parser struct {
	lexer lexer
	token token
	depth int
}

// parse returns the expression of a text.
func parse(text string) (*expression, *Error) {
	p := &parser{lexer: lexer{text: text}}
	switch {
	case len(text) > maxText:
		p.lexer.refuse(0, "the expression has more than 8192 bytes")
	case !utf8.ValidString(text):
		p.lexer.refuse(0, "the expression is not in UTF-8")
	}
	if p.lexer.err != nil {
		return nil, p.lexer.err
	}
	p.step()
	e := p.choice()
	if p.token.kind != tokenEnd {
		p.refuse(p.token.at, "expected an operator or the end, found "+p.token.name())
	}
	if p.lexer.err != nil {
		return nil, p.lexer.err
	}
	return e, nil
}

func (p *parser) step() { p.token = p.lexer.next() }

// refuse keeps the first mistake, and lets everything end.
func (p *parser) refuse(at int, text string) *expression {
	p.lexer.refuse(at, text)
	p.token = token{kind: tokenEnd, at: at}
	return &expression{at: at}
}

// name returns a token for people.
func (t *token) name() string {
	switch t.kind {
	case tokenEnd, tokenInt, tokenDouble, tokenString:
		return t.kind
	case tokenName:
		return t.text
	}
	return strconv.Quote(t.kind)
}

// take goes on after a token of a kind; false if there is another one.
func (p *parser) take(kind string) bool {
	if p.token.kind != kind {
		return false
	}
	p.step()
	return true
}

// want is take for a token that must be there.
func (p *parser) want(kind string) {
	if !p.take(kind) {
		p.refuse(p.token.at, "expected "+strconv.Quote(kind)+", found "+p.token.name())
	}
}

// choice is an expression: a conditional one, or an or.
func (p *parser) choice() *expression {
	if p.depth++; p.depth > maxDepth {
		return p.refuse(p.token.at, "more than 64 expressions are in one another")
	}
	defer func() { p.depth-- }()
	e := p.binary(0)
	at := p.token.at
	if !p.take("?") {
		return e
	}
	yes := p.binary(0)
	p.want(":")
	return &expression{shape: shapeChoice, at: at, args: []*expression{e, yes, p.choice()}}
}

// levels returns the binary operators, weaker ones first.
func levels() []string { return []string{" || ", " && ", " < <= > >= == != in ", " + - ", " * / % "} }

// binary is an expression of operators that bind as a level or more.
func (p *parser) binary(level int) *expression {
	if level == len(levels()) {
		return p.unary()
	}
	e := p.binary(level + 1)
	for n := 0; ; n++ {
		operator := p.token.kind
		if operator == tokenName && p.token.text == "in" {
			operator = "in"
		}
		if !strings.Contains(levels()[level], " "+operator+" ") {
			return e
		}
		if at := p.token.at; n == 1000 {
			return p.refuse(at, "more than 1000 operators follow one another")
		}
		at := p.token.at
		p.step()
		e = &expression{shape: shapeBinary, at: at, text: operator, args: []*expression{e, p.binary(level + 1)}}
	}
}

// unary is a member with signs before it: an even number of them says nothing.
func (p *parser) unary() *expression {
	sign, at := p.token.kind, p.token.at
	if sign != "!" && sign != "-" {
		return p.member(p.primary())
	}
	signs := 0
	for ; p.token.kind == sign; signs++ {
		at = p.token.at
		p.step()
	}
	if number := p.token; sign == "-" && signs == 1 && (number.kind == tokenInt || number.kind == tokenDouble) {
		p.step()
		return p.member(&expression{shape: numberShape(number.kind), at: at, n: -number.n, f: -number.f})
	}
	if signs%2 == 0 {
		sign += sign // the type must be right nevertheless
	}
	return &expression{shape: shapeUnary, at: at, text: sign, args: []*expression{p.member(p.primary())}}
}

func numberShape(kind string) shape {
	if kind == tokenInt {
		return shapeInt
	}
	return shapeDouble
}

// member is a primary with fields, calls and indices after it.
func (p *parser) member(e *expression) *expression {
	for n := 0; ; n++ {
		at := p.token.at
		if n == maxDepth {
			return p.refuse(at, "more than 64 fields follow one another")
		}
		switch {
		case p.take("."):
			at = p.token.at
			if p.token.kind == "?" {
				return p.refuse(at, "the subset has no optional fields")
			}
			name := p.token.text
			if p.token.kind != tokenName || name == "in" || name == "true" || name == "false" || name == "null" {
				return p.refuse(at, "expected a name, found "+p.token.name())
			}
			if p.step(); p.take("(") {
				e = &expression{shape: shapeMethod, at: at, text: name, args: append([]*expression{e}, p.list(")")...)}
			} else {
				e = &expression{shape: shapeSelect, at: at, text: name, args: []*expression{e}}
			}
		case p.take("["):
			if p.token.kind == "?" {
				return p.refuse(p.token.at, "the subset has no optional fields")
			}
			e = &expression{shape: shapeIndex, at: at, args: []*expression{e, p.choice()}}
			p.want("]")
		case p.token.kind == "{" && (e.shape == shapeName || e.shape == shapeSelect):
			return p.refuse(at, "the subset has no messages")
		default:
			return e
		}
	}
}

// list reads expressions up to a bracket, which it takes. A comma may be before it only in lists.
func (p *parser) list(end string) []*expression {
	var all []*expression
	for !p.take(end) {
		if p.token.kind == "?" {
			p.refuse(p.token.at, "the subset has no optional elements")
		}
		all = append(all, p.choice())
		if p.token.kind != end {
			p.want(",")
			if p.token.kind == end && end == ")" {
				p.refuse(p.token.at, "expected an expression, found \")\"")
			}
		}
		if p.token.kind == tokenEnd {
			p.want(end)
			return all
		}
	}
	return all
}

// primary is a literal, a name, a call of a function, a list, a map, or an expression in parentheses.
func (p *parser) primary() *expression {
	t := p.token
	e := &expression{at: t.at, text: t.text, n: t.n, f: t.f}
	switch t.kind {
	case tokenInt:
		if t.tooLarge {
			return p.refuse(t.at, "9223372036854775808 is beyond the ints of 64 bits")
		}
		e.shape = shapeInt
	case tokenDouble:
		e.shape = shapeDouble
	case tokenString:
		e.shape = shapeString
	case tokenName:
		return p.named(e)
	case "(":
		p.step()
		inner := p.choice()
		p.want(")")
		return inner
	case "[":
		p.step()
		e.shape, e.args = shapeList, p.list("]")
		return e
	case "{":
		p.step()
		e.shape = shapeMap
		for !p.take("}") {
			e.args = append(e.args, p.choice())
			p.want(":")
			e.args = append(e.args, p.choice())
			if p.token.kind != "}" {
				p.want(",")
			}
			if p.token.kind == tokenEnd {
				p.want("}")
				break
			}
		}
		return e
	case ".":
		return p.refuse(t.at, "the subset has no names that begin with a dot")
	default:
		return p.refuse(t.at, "expected an expression, found "+t.name())
	}
	p.step()
	return e
}

// named is a name, or a call of a function.
func (p *parser) named(e *expression) *expression {
	p.step()
	switch {
	case e.text == "true", e.text == "false":
		e.shape = shapeBool
		if e.text == "true" {
			e.n = 1
		}
	case e.text == "null":
		return p.refuse(e.at, "the subset has no null")
	case strings.Contains(reserved, " "+e.text+" "):
		return p.refuse(e.at, e.text+" is a reserved word of CEL")
	case p.take("("):
		e.shape, e.args = shapeCall, p.list(")")
	default:
		e.shape = shapeName
	}
	return e
}
