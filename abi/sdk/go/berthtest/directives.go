package berthtest

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
)

// answer is the answer of a call as a whole.
type answer struct {
	point   abi.Point
	code    abi.Code
	reasons []string
	// directives are the ones that are carried out (ABI-13.3).
	directives []wire.Directive
	// wait is permit's wait.
	wait time.Duration
	// fault is why the host would not accept the answer; empty if it would.
	fault string
}

// lines formats the answer: the point and its node, the code, reasons and directives.
func (a *answer) lines(node string) []string {
	head := pointName(a.point)
	if node != "" {
		head += " " + node
	}
	if a.fault != "" {
		return []string{head + " fault: " + a.fault}
	}
	head += " " + a.code.String()
	if a.code == abi.Wait {
		head += " " + a.wait.String()
	}
	if len(a.reasons) > 0 {
		head += ": " + strings.Join(a.reasons, ", ")
	}
	all := []string{head}
	for _, d := range a.directives {
		all = append(all, "  "+shown(d))
	}
	return all
}

// shown formats a directive.
func shown(d wire.Directive) string {
	switch d.Kind {
	case abi.Annotate, abi.Label:
		return fmt.Sprintf("%v %s=%s", d.Kind, d.First, d.Second)
	case abi.Nominate:
		if d.First == "" {
			return "nominate no node"
		}
	case abi.Reject:
		if d.Second != "" {
			return fmt.Sprintf("%v %s: %s", d.Kind, d.First, d.Second)
		}
	}
	return strings.TrimSpace(fmt.Sprintf("%v %s", d.Kind, d.First))
}

// answered reads the answer of the last call.
func (s *session) answered(point abi.Point, code abi.Code) answer {
	s.tb.Helper()
	a := answer{point: point, code: code, reasons: s.reasonSet(s.answer(84))}
	if point == abi.Permit && code == abi.Wait {
		ms := binary.LittleEndian.Uint64(s.last.img.data[s.last.img.call+96:])
		a.wait = min(time.Duration(min(ms, 1<<40))*time.Millisecond, 15*time.Minute) // (ABI-5.18)
	}
	if code != abi.Success && code != abi.Wait && (point != abi.PostFilter || !code.Rejected()) {
		return a
	}
	directives, fault := s.directives(s.answer(88), s.answer(92))
	for i := range directives {
		if fault == "" {
			fault = s.refuses(point, &directives[i])
		}
	}
	if point == abi.Bind && fault == "" && code == abi.Success && !has(directives, abi.BindPod) {
		fault = "Success without a directive bind (ABI-5.19)"
	}
	if a.fault = fault; fault == "" {
		a.directives = directives
	}
	return a
}

func has(directives []wire.Directive, kind abi.DirectiveKind) bool {
	for _, d := range directives {
		if d.Kind == kind {
			return true
		}
	}
	return false
}

// directives reads n directives (ABI-13.1), or says why they are invalid.
func (s *session) directives(address, n uint32) (all []wire.Directive, fault string) {
	if n > 256 {
		return nil, fmt.Sprintf("%d directives, the limit is 256 (ABI-10)", n)
	}
	mem, total := s.memory(), 0
	text := func(at uint64) string {
		from, size := uint64(binary.LittleEndian.Uint32(mem[at:])), uint64(binary.LittleEndian.Uint32(mem[at+4:]))
		if from+size > uint64(len(mem)) {
			fault = "a text of a directive is out of bounds (ABI-3.5)"
			return ""
		}
		total += int(size)
		return string(mem[from : from+size])
	}
	if uint64(address)+24*uint64(n) > uint64(len(mem)) {
		return nil, "the directives are out of bounds (ABI-3.5)"
	}
	for i := range uint64(n) {
		at := uint64(address) + 24*i
		d := wire.Directive{Kind: abi.DirectiveKind(binary.LittleEndian.Uint32(mem[at:])), First: text(at + 8), Second: text(at + 16)}
		switch {
		case fault != "":
			return nil, fault
		case total > 65536:
			return nil, "the texts of the directives have more than 65536 bytes (ABI-10)"
		case !utf8.ValidString(d.First) || !utf8.ValidString(d.Second):
			return nil, "a text of a directive is not UTF-8 (ABI-13.1)"
		}
		all = append(all, d)
	}
	return all, ""
}

// refuses says why the host would not carry out a directive (ABI-13.2), empty if it would.
func (s *session) refuses(point abi.Point, d *wire.Directive) string {
	why := ""
	switch {
	case d.Kind.String() == "unknown":
		return fmt.Sprintf("unknown directive %d (ABI-13.2)", d.Kind)
	case !d.Kind.At(point):
		why = "is none of " + pointName(point)
	case !s.manifest.Directives.Allows(d.Kind, d.First):
		why = "is not declared in the manifest's directives." + declaredAs(d.Kind)
		if d.Kind == abi.Annotate || d.Kind == abi.Label {
			why = "has a key without a prefix in the manifest's directives." + declaredAs(d.Kind)
		}
	case (d.Kind == abi.Annotate || d.Kind == abi.Label) && !wire.IsAnnotationKey(d.First):
		why = "has a key that is not valid"
	case d.Kind == abi.Label && !wire.IsLabelValue(d.Second):
		why = "has a value that is not valid"
	default:
		return ""
	}
	return fmt.Sprintf("the directive %q %s (ABI-13.2)", shown(*d), why)
}

// declaredAs returns the field of the manifest's directives that a directive needs.
func declaredAs(kind abi.DirectiveKind) string {
	switch kind {
	case abi.Annotate:
		return "annotations"
	case abi.Label:
		return "labels"
	case abi.Allow, abi.Reject:
		return "waiting"
	}
	return kind.String()
}
