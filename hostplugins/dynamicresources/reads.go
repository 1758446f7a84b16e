package dynamicresources

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"k8s.io/dynamic-resource-allocation/cel"
)

// reads is what an expression reads of a device besides its driver and whether it allows several allocations.
type reads struct {
	attributes    []attribute
	all, capacity bool // all attributes, or any capacity
}

// readsOf finds out what an expression reads. What it does not understand reads everything.
func readsOf(compiled *cel.CompilationResult) (r reads) {
	everything := reads{all: true, capacity: true}
	if compiled.Error != nil {
		return everything
	}
	parsed, issues := compiled.Environment.Compile(compiled.Expression)
	if issues.Err() != nil {
		return everything
	}
	r.visit(parsed.NativeRep().Expr())
	return r
}

// visit takes in what a part of an expression reads. A variable that is named device, too, was made of
// parts that are visited.
func (r *reads) visit(e ast.Expr) {
	switch e.Kind() {
	case ast.LiteralKind:
	case ast.IdentKind:
		r.everything(e.AsIdent() == "device")
	case ast.SelectKind:
		s := e.AsSelect()
		if domain, ok := domainOf(s.Operand()); ok {
			r.attributes = append(r.attributes, attribute{domain + "/" + s.FieldName(), domain, s.FieldName()})
			return
		}
		if s.Operand().Kind() != ast.IdentKind || s.Operand().AsIdent() != "device" {
			r.visit(s.Operand())
			return
		}
		switch s.FieldName() {
		case "driver", "allowMultipleAllocations":
		case "capacity":
			r.capacity = true
		case "attributes":
			r.all = true
		default:
			r.everything(true)
		}
	case ast.CallKind:
		r.visitCall(e.AsCall())
	case ast.ListKind:
		for _, x := range e.AsList().Elements() {
			r.visit(x)
		}
	case ast.MapKind:
		for _, x := range e.AsMap().Entries() {
			r.visit(x.AsMapEntry().Key())
			r.visit(x.AsMapEntry().Value())
		}
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		for _, x := range []ast.Expr{c.IterRange(), c.AccuInit(), c.LoopCondition(), c.LoopStep(), c.Result()} {
			r.visit(x)
		}
	default:
		r.everything(true)
	}
}

func (r *reads) visitCall(c ast.CallExpr) {
	args := c.Args()
	switch c.FunctionName() {
	case operators.Index, operators.OptIndex, operators.OptSelect:
		if domain, ok := domainOf(args[0]); ok {
			if id, ok := text(args[1]); ok {
				r.attributes = append(r.attributes, attribute{domain + "/" + id, domain, id})
				return
			}
		}
	case operators.In:
		if domain, ok := domainOf(args[1]); ok {
			if id, ok := text(args[0]); ok {
				r.attributes = append(r.attributes, attribute{domain + "/" + id, domain, id})
				return
			}
		}
	}
	if c.IsMemberFunction() {
		r.visit(c.Target())
	}
	for _, x := range args {
		r.visit(x)
	}
}

func (r *reads) everything(ok bool) { r.all, r.capacity = r.all || ok, r.capacity || ok }

// domainOf returns the domain if an expression is device.attributes["domain"].
func domainOf(e ast.Expr) (string, bool) {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != operators.Index {
		return "", false
	}
	args := e.AsCall().Args()
	if args[0].Kind() != ast.SelectKind {
		return "", false
	}
	s := args[0].AsSelect()
	if s.IsTestOnly() || s.FieldName() != "attributes" || s.Operand().Kind() != ast.IdentKind || s.Operand().AsIdent() != "device" {
		return "", false
	}
	return text(args[1])
}

// text returns the string if an expression is one.
func text(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	s, ok := e.AsLiteral().(types.String)
	return string(s), ok
}
