package report

import (
	"strings"
	"testing"

	"github.com/joshdk/go-junit"

	"pgpipeline/pipeline/gate"
)

// acceptedExample has a failure that was accepted, one for which that expired, and one that is worse than what was accepted.
func acceptedExample() Input {
	in := example()
	list := in.Verdict.Assertions
	list[0].Outcome, list[0].Tags = gate.Pass, []string{"accepted"}
	list[0].Accepted = []string{"relqps on hot-points may be up to 9 % worse until 2026-04-30, accepted by joe: wider rows"}
	list[1].Accepted = []string{"expired after 2026-01-31: relqps on update-one may be up to 30 % worse until 2026-01-31, accepted by ann: a fix is on its way"}
	in.Verdict.Accepted = []gate.AcceptResult{
		{Step: "hot-points", Metric: "relqps", Size: 0.09, Reason: "wider rows", Until: "2026-04-30", By: "joe", State: "applied", Message: "excuses one"},
		{Step: "update-one", Metric: "relqps", Size: 0.3, Reason: "a fix is on its way", Until: "2026-01-31", By: "ann", State: "expired", Message: "expired after 2026-01-31"},
		{Step: "scan", Metric: "relqps", Size: 0.01, Reason: "larger pages", Until: "2026-05-01", By: "bob", State: "exceeded", Message: "worse than the accepted 1 %"},
	}
	in.Verdict.Earlier = []gate.SeriesVerdict{{Series: "20260201-000000", Blocks: 7, Outcome: gate.Pass}}
	return in
}

// TestAcceptedIsNeverHidden: who reads any report sees what was accepted, why, by whom and until when, and what is accepted no longer.
func TestAcceptedIsNeverHidden(t *testing.T) {
	in := acceptedExample()
	all := []string{"wider rows", "joe", "2026-04-30", "a fix is on its way", "expired after 2026-01-31", "larger pages", "exceeded"}
	for format, want := range map[string][]string{
		"text":     append(all, "ACCEPTED", "20260201-000000"),
		"markdown": append(all, "ACCEPTED", "20260201-000000"),
		"html":     append(all, "ACCEPTED", "20260201-000000"),
		"json":     append(all, `"accepted"`, "20260201-000000"),
		"junit":    append(all, "ACCEPTED"),
		"github":   {"ACCEPTED", "wider rows", "joe", "2026-04-30", "expired after 2026-01-31"},
	} {
		out := strings.ReplaceAll(render(t, format, in), `\_`, "_")
		if format == "text" { // broken where the terminal ends
			out = strings.Join(strings.Fields(out), " ")
		}
		for _, w := range want {
			if !strings.Contains(out, w) {
				t.Errorf("%s does not say %q", format, w)
			}
		}
	}
}

// TestAcceptedIsNoPass: a system that counts passed tests does not count what was accepted.
func TestAcceptedIsNoPass(t *testing.T) {
	suites, err := junit.Ingest([]byte(render(t, "junit", acceptedExample())))
	if err != nil {
		t.Fatal(err)
	}
	if tot := suites[0].Totals; tot.Passed != 0 || tot.Skipped != 3 || tot.Failed != 1 {
		t.Errorf("totals %+v", tot)
	}
	if v := Build(acceptedExample().Record, acceptedExample().Verdict); !strings.Contains(v.Headline, "1 accepted") {
		t.Errorf("headline %q", v.Headline)
	}
}

// TestAcceptedAloneIsOnTheFirstScreen: nothing fails, and the head of the page still says what would have.
func TestAcceptedAloneIsOnTheFirstScreen(t *testing.T) {
	in := acceptedExample()
	in.Verdict.Assertions, in.Verdict.Outcome = in.Verdict.Assertions[:1], gate.Pass
	head, _, _ := strings.Cut(render(t, "html", in), "</header>")
	for _, want := range []string{"PASS", "1 accepted", "wider rows", "joe"} {
		if !strings.Contains(head, want) {
			t.Errorf("the head of the page does not say %q", want)
		}
	}
}
