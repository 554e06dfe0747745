package report

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"pgpipeline/templates"
)

// Reference is the description of all formats in Markdown: docs/formats.md. The tables of CSV and JSON come from what the writers
// themselves use and from the schema, so that they cannot go stale.
func Reference() (string, error) {
	var b strings.Builder
	b.WriteString(referenceHead)
	b.WriteString("\n| format | what it is |\n|---|---|\n")
	for _, f := range formats {
		fmt.Fprintf(&b, "| `%s` | %s |\n", f.name, f.doc)
	}
	b.WriteString(referenceRules)
	b.WriteString("\n## csv\n\n" + csvDoc + "\n\n| column | meaning |\n|---|---|\n")
	for _, c := range csvColumns {
		fmt.Fprintf(&b, "| `%s` | %s |\n", c.name, c.doc)
	}
	text, err := schemaReference(templates.ReportSchema())
	if err != nil {
		return "", err
	}
	fmt.Fprintf(&b, "\n## json\n\n%s The version is %d. `templates/report/report.schema.json` is the same as a JSON Schema.\n%s", jsonDoc, JSONVersion, text)
	return b.String(), nil
}

const referenceHead = `# Formats of reports

Written by ` + "`make docs`" + `. ` + "`pipeline report RUN --format FORMAT`" + ` prints a report, ` + "`-o FILE`" + ` writes it; the exit code is 0 whatever the verdict, so
that results can be kept when a gate fails. Secrets are taken out of all of them.
`

const referenceRules = `
## junit

One test case per assertion and candidate, named by the expression, with ` + "`file`" + ` and ` + "`line`" + ` of the assertion and the measuring time as
` + "`time`" + `; one per stage that failed.

| outcome | element | fails a pipeline |
|---|---|---|
| pass | none; the figures are in ` + "`system-out`" + ` | no |
| fail | ` + "`failure`" + ` | yes |
| invalid measurement, failed stage | ` + "`error`" + ` | yes |
| undecided | ` + "`skipped`" + `; ` + "`failure`" + ` with ` + "`on_inconclusive: fail`" + ` | as that says |
| severity warn, or accepted | ` + "`skipped`" + ` | no |

The properties of the suite are run, outcome, headline, host, noise, and one ` + "`accepted`" + ` per entry of the accept file.

## github

Workflow commands for the log of a GitHub Actions step, which become annotations at the lines of the assertions: ` + "`error`" + ` for what fails the
run, ` + "`warning`" + ` for severity warn and what is undecided, ` + "`notice`" + ` for what was accepted and for the verdict. At most ten in all, worst first:
GitHub shows no more of a kind. The job summary is the Markdown: ` + "`pipeline report RUN --format markdown >> \"$GITHUB_STEP_SUMMARY\"`" + `.

## bench

The Go benchmark format. Every block is one sample of each step and variant: ` + "`benchstat -col /variant FILE`" + ` compares the variants. benchstat knows
nothing of pairs: expect wider intervals than the report's own.

## accept.yaml

A list of known regressions beside the experiment's file. Until its last day an entry excuses what fails by no more than its size; the report then
says ACCEPTED, never PASS, and names who, why and until when. Expired or exceeded it excuses nothing, and every report says so.

` + "```yaml" + `
- step: hot-points        # with or without its range, a glob, or the name of a group
  metric: relqps          # relqps, relp99, relcpu, ...
  size: 0.08              # relqps down to 0.92, relp99 up to 1.08
  reason: costs of a fix
  until: 2026-12-31       # the last day
  by: dba
` + "```" + `
`

const csvDoc = `The long form: one line per step, variant and metric. Groups have ` + "`*`" + ` as their step. A text that a spreadsheet would run as a formula has
an apostrophe in front.`

const jsonDoc = `Estimates and verdicts, without samples, histograms and series: those are in the run's record, which ` + "`pipeline show RUN --json`" + ` prints. A
field keeps its meaning while ` + "`version`" + ` stays; fields are added at any time.`

// schemaNode is the part of JSON Schema that our schema uses.
type schemaNode struct {
	Type        any                    `json:"type"`
	Description string                 `json:"description"`
	Properties  map[string]*schemaNode `json:"properties"`
	Required    []string               `json:"required"`
	Items       *schemaNode            `json:"items"`
	Additional  json.RawMessage        `json:"additionalProperties"`
	Enum        []any                  `json:"enum"`
	Const       any                    `json:"const"`
	Ref         string                 `json:"$ref"`
	Defs        map[string]*schemaNode `json:"$defs"`
}

// schemaReference is a table for the report and one for each kind of object in it.
func schemaReference(text []byte) (string, error) {
	var root schemaNode
	if err := json.Unmarshal(text, &root); err != nil {
		return "", fmt.Errorf("report schema: %w", err)
	}
	var b strings.Builder
	root.table(&b, "")
	for _, name := range sortedKeys(root.Defs) {
		d := root.Defs[name]
		fmt.Fprintf(&b, "\n### %s\n\n%s\n", name, d.Description)
		d.table(&b, "")
	}
	return b.String(), nil
}

func (n *schemaNode) table(b *strings.Builder, prefix string) {
	if prefix == "" {
		b.WriteString("\n| field | type | meaning |\n|---|---|---|\n")
	}
	for _, name := range n.ordered() {
		p := n.Properties[name]
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", prefix+name, p.kind(), strings.ReplaceAll(p.meaning(), "|", `\|`))
		if inner := p; len(inner.Properties) > 0 {
			inner.table(b, prefix+name+".")
		}
		if p.Items != nil && len(p.Items.Properties) > 0 {
			p.Items.table(b, prefix+name+"[].")
		}
	}
}

// ordered lists what is always there first, as the schema has it, then the rest by name.
func (n *schemaNode) ordered() []string {
	rank := map[string]int{}
	for i, name := range n.Required {
		rank[name] = len(n.Required) - i
	}
	names := sortedKeys(n.Properties)
	sort.SliceStable(names, func(i, j int) bool { return rank[names[i]] > rank[names[j]] })
	return names
}

func (n *schemaNode) meaning() string {
	text := n.Description
	if len(n.Enum) > 0 {
		words := make([]string, len(n.Enum))
		for i, e := range n.Enum {
			words[i] = fmt.Sprint(e)
		}
		text = strings.TrimSpace(text + " (" + strings.Join(words, ", ") + ")")
	}
	return text
}

// kind is the type in words; an object of the schema is a link to its table.
func (n *schemaNode) kind() string {
	if n.Const != nil {
		return fmt.Sprintf("always `%v`", n.Const)
	}
	if name, ok := strings.CutPrefix(n.Ref, "#/$defs/"); ok {
		return "[" + name + "](#" + name + ")"
	}
	var values schemaNode
	switch t := typeName(n.Type); {
	case t == "array" && n.Items != nil:
		return "list of " + n.Items.kind()
	case t == "object" && json.Unmarshal(n.Additional, &values) == nil && (values.Type != nil || values.Ref != ""):
		return "object of " + values.kind()
	case t == "":
		return "any"
	default:
		return t
	}
}

// typeName is a type, or the one beside null.
func typeName(t any) string {
	switch t := t.(type) {
	case string:
		return t
	case []any:
		for _, one := range t {
			if one != "null" {
				return fmt.Sprint(one)
			}
		}
	}
	return ""
}
