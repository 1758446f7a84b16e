package alerts

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"
)

// Alert is a rule that fires while its expression has elements.
type Alert struct {
	Name        string            `json:"alert"`
	Expression  string            `json:"expr"`
	For         string            `json:"for"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// Rules reads the alerts of deploy/monitoring, strictly.
func Rules(deploy string) ([]Alert, error) {
	path := filepath.Join(deploy, "monitoring", "alerts.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var rule struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Metadata   map[string]any `json:"metadata"`
		Spec       struct {
			Groups []struct {
				Name  string  `json:"name"`
				Rules []Alert `json:"rules"`
			} `json:"groups"`
		} `json:"spec"`
	}
	if err := yaml.UnmarshalStrict(text, &rule); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var out []Alert
	for _, g := range rule.Spec.Groups {
		out = append(out, g.Rules...)
	}
	return out, nil
}

// Documented reads the alerts of docs/run.md: the first two columns of the table under
// "## Alerts".
func Documented(docs string) ([]Alert, error) {
	rows, err := Table(filepath.Join(docs, "run.md"), "## Alerts")
	if err != nil {
		return nil, err
	}
	var out []Alert
	for _, row := range rows {
		out = append(out, Alert{Name: strings.Trim(row[0], "`"), Expression: strings.Trim(row[1], "`")})
	}
	return out, nil
}

// Table returns the cells of the table below a heading of a page, without its own heading.
func Table(page, heading string) ([][]string, error) {
	text, err := os.ReadFile(page)
	if err != nil {
		return nil, err
	}
	_, section, ok := strings.Cut(string(text), "\n"+heading+"\n")
	if !ok {
		return nil, fmt.Errorf("%s has no heading %q", page, heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var rows [][]string
	for line := range strings.Lines(section) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "|") {
			row := strings.Split(strings.Trim(line, "|"), "|")
			for i := range row {
				row[i] = strings.TrimSpace(row[i])
			}
			rows = append(rows, row)
		}
	}
	if len(rows) < 3 {
		return nil, fmt.Errorf("%s has no table below %q", page, heading)
	}
	return rows[2:], nil
}

// Metrics returns the names of the metrics that an expression reads, sorted.
func Metrics(expression string) ([]string, error) {
	parsed, err := parser.ParseExpr(expression)
	if err != nil {
		return nil, err
	}
	var names []string
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		if v, ok := node.(*parser.VectorSelector); ok {
			names = append(names, v.Name)
		}
		return nil
	})
	slices.Sort(names)
	return slices.Compact(names), nil
}

// variable is one of Grafana's variables in an expression, and its replacement here.
var variable = regexp.MustCompile(`\$__rate_interval|\$__interval|\$[a-z_]+`)

// Panel is a query of the dashboard.
type Panel struct{ Title, Expression string }

// Dashboard reads the queries of the dashboard in deploy/monitoring, with Grafana's variables
// replaced.
func Dashboard(deploy string) ([]Panel, error) {
	path := filepath.Join(deploy, "monitoring", "dashboard.json")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var out []Panel
	for _, p := range board.Panels {
		for _, t := range p.Targets {
			out = append(out, Panel{p.Title, variable.ReplaceAllStringFunc(t.Expr, func(name string) string {
				if strings.HasPrefix(name, "$__") {
					return "5m"
				}
				return ".*"
			})})
		}
	}
	return out, nil
}
