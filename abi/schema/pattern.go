package schema

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/berth-scheduler/berth/abi"
)

const patternFix = "write a regular expression as in RE2"

// pattern is a compiled regular expression.
type pattern struct {
	regexp *regexp.Regexp
	// price is the steps per byte of text: a match may be at any of the expression's
	// instructions.
	price int
}

// patterns compiles the patterns of a schema and adds up their costs.
type patterns struct {
	compiled                    map[string]*pattern
	bytes, instructions, ranges int
}

// pattern compiles a pattern.
func (c *compiler) pattern(text string) (*pattern, error) {
	p := &c.patterns
	if known := p.compiled[text]; known != nil {
		return known, nil
	}
	p.bytes += len(text)
	switch {
	case len(text) > abi.MaxPatternSize:
		return nil, c.fail(fmt.Sprintf("the pattern has %d bytes, at most %d are allowed (ABI-10)", len(text), abi.MaxPatternSize), "shorten it")
	case p.bytes > abi.MaxPatternsSize:
		return nil, c.fail(tooMany(abi.MaxPatternsSize, "bytes of patterns"), "simplify the schema")
	}
	// The parser expands a class such as \pL to hundreds of ranges.
	if p.ranges+700*(strings.Count(text, `\p`)+strings.Count(text, `\P`)) > maxRanges {
		return nil, c.fail("the classes of characters in the patterns have too many ranges", `use fewer classes such as \pL`)
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, c.fail(err.Error(), patternFix)
	}
	instructions, ranges := programSize(tree)
	instructions += 2 // every program has these
	p.instructions, p.ranges = p.instructions+instructions, p.ranges+ranges
	switch {
	case instructions > abi.MaxPatternProgram:
		return nil, c.fail(fmt.Sprintf("the pattern compiles to more than %d instructions (ABI-10)", abi.MaxPatternProgram),
			"repeat less in it: x{100} is a hundred times x")
	case p.instructions > abi.MaxPatternsProgram:
		return nil, c.fail(fmt.Sprintf("the patterns compile to more than %d instructions (ABI-10)", abi.MaxPatternsProgram),
			"repeat less in them: x{100} is a hundred times x")
	case p.ranges > maxRanges:
		return nil, c.fail("the classes of characters in the patterns have too many ranges", `repeat classes such as \pL less`)
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		return nil, c.fail(err.Error(), patternFix)
	}
	out := &pattern{regexp: compiled, price: 2 + instructions/4}
	p.compiled[text] = out
	return out, nil
}

// maxRanges bounds the ranges of all character classes. Each takes 8 bytes.
const maxRanges = 100_000

// programSize returns the maximum number of instructions that an expression compiles to, and
// the number of ranges in its character classes.
func programSize(re *syntax.Regexp) (instructions, ranges int) {
	const huge = 1 << 20 // large enough to be refused, but sums of it do not overflow
	for _, sub := range re.Sub {
		i, r := programSize(sub)
		instructions, ranges = min(huge, instructions+i), min(huge, ranges+r)
	}
	switch re.Op {
	case syntax.OpConcat:
	case syntax.OpAlternate:
		instructions += len(re.Sub)
	case syntax.OpLiteral:
		instructions += len(re.Rune)
	case syntax.OpRepeat:
		times := max(re.Min, re.Max) + 1 // x{2,} is xx+
		instructions, ranges = min(huge, (instructions+1)*times), min(huge, ranges*times)
	default: // a loop and a group take two, anything else one
		ranges += len(re.Rune) / 2
		instructions += 2
	}
	return instructions, ranges
}

// matches reports whether a pattern matches a text.
func (c *checker) matches(p *pattern, text string) bool {
	c.spend(1 + len(text)*p.price)
	return p.regexp.MatchString(text)
}
