package mutate

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// operator makes mistakes of one kind in a line of Go, Rust, C or AssemblyScript.
type operator struct {
	name string
	at   *regexp.Regexp
	// change returns what takes the place of a match.
	change func(match string) string
}

func operators() []operator {
	swap := map[string]string{
		" < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", " == ": " != ", " != ": " == ", " === ": " !== ", " !== ": " === ", " && ": " || ", " || ": " && ",
	}
	return []operator{
		{"comparison", regexp.MustCompile(` (?:<|<=|>|>=|===?|!==?|&&|\|\|) `), func(m string) string { return swap[m] }},
		{"bound", regexp.MustCompile(` < |\b0\.\.|range \w+(?:\.\w+(?:\(\))?)+ \{`), func(m string) string {
			switch m {
			case " < ":
				return " + 1 < "
			case "0..":
				return "1.."
			}
			return strings.TrimSuffix(m, " {") + " - 1 {"
		}},
		{"constant", regexp.MustCompile(`\b(?:0x[0-9a-fA-F]+|\d+)\b`), func(m string) string {
			var n uint64
			if _, err := fmt.Sscanf(m, "%v", &n); err != nil {
				return m
			}
			return fmt.Sprint(n + 1)
		}},
		{"dropped call", regexp.MustCompile(`^\s+[a-zA-Z_][\w.>:-]*(?:<[\w.]+>)?\(.*\);?$`), func(string) string { return "" }},
	}
}

// site is a place where an operator can make a mistake.
type site struct {
	file   string
	line   int
	change Change
}

var (
	quoted  = regexp.MustCompile("\"(?:[^\"\\\\]|\\\\.)*\"|'(?:[^'\\\\\n]|\\\\.)'|`[^`]*`")
	ignored = regexp.MustCompile(`^\s*(?://|/?\*|#|import |use |return$|panic\(|package |static_assert|BERTH__|assert|__builtin_trap|unreachable\(|stop\(|fail\()`)
)

// exempt returns rules about lines in which a mistake cannot matter, so that none is made there. They
// are about kinds of code, not about single places, and known before anything is drawn.
func exempt() []*regexp.Regexp {
	return []*regexp.Regexp{
		// What neither a right plugin nor a right host ever sees: checks of each other, and what they say.
		regexp.MustCompile(`BERTH__RARE\(|\b(?:berth__)?(?:outside|stop|fail|panic|unreachable|undeclared)!?\(|^\s+[\w.]*\bneed\(\w+\)$`),
		// A refused configuration: the schema refuses it first, and the texts are the schema's (ABI-9.8).
		regexp.MustCompile(`json_error\(|json_only\(|json_known\(|\.only\(|\.Only\(|\.error\(|\.fail\(|\bErr\(|Error::from\(|fmt\.Errorf\(|errors\.New\(`),
		// Room for more than is needed: sizes of arrays, capacities, and growth ahead of need.
		regexp.MustCompile(`\w\[\d+\](?: =|;)|\bmake\(|with_capacity\(|slices\.Grow\(|\.grow\(|\.reserve\(|\? \d+ : 2 \* `),
		// Logs, which decide nothing, and hints to the compiler.
		regexp.MustCompile(`\b(?:berth_)?(?:log|Log|debug|Debug|Warn|Info)\(|@inline|__attribute__|go:|KeepAlive\(`),
	}
}

// Draw returns changes of files by operators, in an order that depends on the seed only,
// an equal number of each operator as long as there are any, but for lines that are exempt.
// Whether they compile is not known.
func Draw(root, subject string, files []string, seed uint64) ([]Change, error) {
	all, rules := operators(), exempt()
	sites := make([][]site, len(all))
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			return nil, err
		}
		lines := strings.Split(string(text), "\n")
		for i, line := range lines {
			if strings.Contains(line, "cfg(test)") {
				break // Rust's tests end a file
			}
			if ignored.MatchString(line) || strings.Contains(line, "abi.") && strings.Contains(line, "const") {
				continue
			}
			if slices.ContainsFunc(rules, func(rule *regexp.Regexp) bool { return rule.MatchString(line) }) {
				continue
			}
			for at, o := range all {
				sites[at] = append(sites[at], o.sites(subject, file, lines, i)...)
			}
		}
	}
	var out []Change
	random := rand.New(rand.NewPCG(seed, uint64(len(subject))))
	for _, of := range sites {
		random.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
	}
	for i, more := 0, true; more; i++ {
		more = false
		for _, of := range sites {
			if i < len(of) {
				more = true
				out = append(out, of[i].change)
			}
		}
	}
	return out, nil
}

// sites returns the mistakes that the operator can make in a line.
func (o *operator) sites(subject, file string, lines []string, i int) []site {
	line := lines[i]
	code := quoted.ReplaceAllStringFunc(line, func(s string) string { return strings.Repeat("_", len(s)) })
	if at := strings.Index(code, "//"); at >= 0 {
		code = code[:at]
	}
	var out []site
	for _, m := range o.at.FindAllStringIndex(code, -1) {
		if o.name == "comparison" && extremum(code, m) {
			continue
		}
		was := code[m[0]:m[1]]
		changed := line[:m[0]] + o.change(was) + line[m[1]:]
		if changed == line {
			continue
		}
		before, after := unique(lines, i)
		text := func(line string) string {
			return strings.Join(append(append(before[:len(before):len(before)], line), after...), "\n")
		}
		out = append(out, site{file, i, Change{
			Subject: subject, File: file, Old: text(line), New: text(changed),
			Mistake: fmt.Sprintf("%s: `%s`", o.name, strings.TrimSpace(changed)),
		}})
		if changed == "" || strings.TrimSpace(changed) == "" {
			out[len(out)-1].change.Mistake = fmt.Sprintf("%s: without `%s`", o.name, strings.TrimSpace(line))
		}
	}
	return out
}

var (
	lastOperand = regexp.MustCompile(`[\w.\[\]]+$`)
	choice      = regexp.MustCompile(`^([\w.\[\]]+) \? ([\w.\[\]]+) : `)
)

// extremum reports whether a comparison chooses the larger or the smaller of what it compares: with
// equal ones the choice does not matter.
func extremum(code string, m []int) bool {
	of := choice.FindStringSubmatch(code[m[1]:])
	return of != nil && (of[2] == of[1] || of[2] == lastOperand.FindString(code[:m[0]]))
}

// unique returns as few lines around a line as make it occur once in the file.
func unique(lines []string, i int) (before, after []string) {
	whole := "\n" + strings.Join(lines, "\n") + "\n"
	for n := 0; ; n++ {
		from, to := max(0, i-n), min(len(lines), i+1+n)
		if strings.Count(whole, strings.Join(lines[from:to], "\n")) == 1 || n > len(lines) {
			return lines[from:i], lines[i+1 : to]
		}
	}
}
