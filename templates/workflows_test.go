package templates

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"pgpipeline/stages/postgres/pgtest"
)

// TestGitHubWorkflow has the workflow read by a linter that knows the syntax, the events and their fields, the inputs of well-known
// actions, and foreign text in scripts.
func TestGitHubWorkflow(t *testing.T) {
	text := workflow(t, "github-actions")
	lint := func(text string) []*actionlint.Error {
		l, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		found, err := l.Lint(".github/workflows/benchmark.yml", []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	for _, e := range lint(text) {
		t.Error(e)
	}
	for what, broken := range map[string]string{
		"an unknown key":    strings.Replace(text, "timeout-minutes:", "timeout-minuts:", 1),
		"an unknown field":  strings.Replace(text, "github.run_id", "github.run_idd", 1),
		"an unknown input":  strings.Replace(text, "fetch-depth:", "fetch-dpeth:", 1),
		"text of strangers": strings.Replace(text, "mkdir -p report", "echo ${{ github.head_ref }}", 1),
	} {
		if broken == text {
			t.Errorf("the workflow no longer has what %s is made from", what)
		} else if len(lint(broken)) == 0 {
			t.Errorf("the linter does not see %s: this test is worth nothing", what)
		}
	}
}

// TestGitLabJob validates the job against the schema that GitLab publishes, as a package carries it.
func TestGitLabJob(t *testing.T) {
	f, err := os.Open(filepath.Join(pgtest.Package(t, "gitlab-ci-local@4.55.0"), "src/schema/schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	doc, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("gitlab-ci.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("gitlab-ci.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	text := workflow(t, "gitlab-ci")
	if err := schema.Validate(document(t, text)); err != nil {
		t.Error(err)
	}
	for what, broken := range map[string]string{
		"an unknown key":    strings.Replace(text, "  interruptible:", "  interruptable:", 1),
		"an unknown report": strings.Replace(text, "      junit:", "      junt:", 1),
		"a wrong word":      strings.Replace(text, "    when: always\n    expose_as", "    when: alway\n    expose_as", 1),
	} {
		if broken == text {
			t.Errorf("the job no longer has what %s is made from", what)
		} else if schema.Validate(document(t, broken)) == nil {
			t.Errorf("the schema does not see %s: this test is worth nothing", what)
		}
	}
}

// TestWorkflowsReportWhateverTheVerdict: both write every format that their system shows, after a failed step too.
func TestWorkflowsReportWhateverTheVerdict(t *testing.T) {
	for name, want := range map[string][]string{
		"github-actions": {"--format github", "--format markdown", "--format html", "--format junit", "if: ${{ !cancelled() }}", "$GITHUB_STEP_SUMMARY", "gh pr comment"},
		"gitlab-ci":      {"--format markdown", "--format html", "--format junit", "after_script:", "when: always", "junit: report/junit.xml", "/notes"},
	} {
		text := workflow(t, name)
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s has no %q", name, w)
			}
		}
	}
}

func workflow(t *testing.T, name string) string {
	t.Helper()
	list := Workflows()
	i := slices.IndexFunc(list, func(x Template) bool { return x.Name == name })
	if i < 0 {
		t.Fatalf("no workflow %q", name)
	}
	return string(list[i].Text)
}

// document is the YAML text with the types that a JSON parser gives, as the schema's library wants them.
func document(t *testing.T, text string) any {
	t.Helper()
	var tree any
	if err := yaml.NewDecoder(bytes.NewReader([]byte(text))).Decode(&tree); err != nil {
		t.Fatal(err)
	}
	return tree
}
