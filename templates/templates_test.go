package templates

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"
)

func TestEveryFileIsReachable(t *testing.T) {
	reachable := map[string]bool{ReportPage(): true, ReportStyle(): true, string(ReportSchema()): true}
	for _, x := range append(Starters(), Workflows()...) {
		reachable[string(x.Text)] = true
	}
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if !reachable[read(path)] {
			t.Errorf("%s is embedded and nothing gives it out", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestTemplatesSayWhatTheyAre(t *testing.T) {
	seen := map[string]bool{}
	for _, x := range append(Starters(), Workflows()...) {
		if len(x.Doc) < 20 || seen[x.Name] {
			t.Errorf("%s: doc %q", x.Name, x.Doc)
		}
		seen[x.Name] = true
		if !strings.HasSuffix(string(x.Text), "\n") || strings.Contains(string(x.Text), "\t") {
			t.Errorf("%s: a tab, or no line feed at the end", x.Name)
		}
	}
}

// TestStartersAreSelfContained: a starter works in an empty folder, so it must not include a catalogue, and says where its schema is.
func TestStartersAreSelfContained(t *testing.T) {
	for _, x := range Starters() {
		text := string(x.Text)
		if !strings.HasPrefix(text, "# yaml-language-server: $schema=./experiment.schema.json\n") {
			t.Errorf("%s: no schema in the first line", x.Name)
		}
		if strings.Contains(text, "\ninclude:") {
			t.Errorf("%s includes something that a new folder does not have", x.Name)
		}
		for _, part := range []string{"\nversion: 1\n", "\nname: " + x.Name + "\n", "\nmatrix:", "\nbaseline:", "\nstages:", "\nassert:"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s has no %q", x.Name, strings.TrimSpace(part))
			}
		}
	}
}

// TestWorkflowsKeepForeignTextOutOfScripts: ${{ }} inside a script is text that strangers choose and a shell runs.
func TestWorkflowsKeepForeignTextOutOfScripts(t *testing.T) {
	x, err := Find("github-actions")
	if err != nil {
		t.Fatal(err)
	}
	script := false
	indent := 0
	for i, line := range strings.Split(string(x.Text), "\n") {
		depth := len(line) - len(strings.TrimLeft(line, " "))
		if script && strings.TrimSpace(line) != "" && depth <= indent {
			script = false
		}
		if m := regexp.MustCompile(`^\s*(?:- )?run:(.*)$`).FindStringSubmatch(line); m != nil {
			script, indent = true, depth
		}
		if script && strings.Contains(line, "${{") {
			t.Errorf("line %d: %s", i+1, line)
		}
	}
}

func TestFind(t *testing.T) {
	if _, err := Find("quikc"); err == nil || !strings.Contains(err.Error(), `no template "quikc", known are quick, versions`) {
		t.Errorf("error %v", err)
	}
}
