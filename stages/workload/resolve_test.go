package workload_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgpipeline/stages/workload"
)

func TestResolveNames(t *testing.T) {
	tests := []struct {
		ref  workload.StepRef
		want string
	}{
		{workload.StepRef{Step: "hot-points"}, "hot-points_range=100"},
		{workload.StepRef{Step: "hot"}, "hot-points_range=100"},
		{workload.StepRef{Step: "point-query.pre"}, "point-query.pre_range=100"},
		{workload.StepRef{Step: "point-query", Pre: true}, "point-query.pre_range=100"},
		{workload.StepRef{Step: "random-points.pre_range=10"}, "random-points.pre_range=10"},
		{workload.StepRef{Step: "random-points", Range: 10, Pre: true}, "random-points.pre_range=10"},
		{workload.StepRef{Step: "random-points", Range: 7}, "random-points_range=7"},
		{workload.StepRef{Step: "read-only_range=100"}, "read-only_range=100"},
		{workload.StepRef{Step: "read-only-sum"}, "read-only-sum_range=1000"},
		{workload.StepRef{Step: "write-only"}, "write-only_range=10000"},
		{workload.StepRef{Step: "points-covered-si.warm"}, "points-covered-si.warm_range=100"},
		{workload.StepRef{Step: "update-one", Clients: 8}, "update-one_range=100_clients=8"},
		{workload.StepRef{Step: "point-query", Rate: 2000}, "point-query_range=100_rate=2000"},
		{workload.StepRef{Step: "point-query", Clients: 1}, "point-query_range=100"}, // what all steps have
		{workload.StepRef{Step: "postwrite"}, "postwrite"},
	}
	for _, test := range tests {
		steps, err := workload.Resolve([]workload.StepRef{test.ref}, small)
		if err != nil || len(steps) != 1 || steps[0].Name != test.want {
			t.Errorf("%+v: %v, %v; want %s", test.ref, steps, err, test.want)
		}
	}
}

func TestResolveErrors(t *testing.T) {
	tests := []struct {
		refs []workload.StepRef
		want string
	}{
		{[]workload.StepRef{{Step: "random-points"}},
			`step "random-points" is ambiguous: random-points_range=10, random-points_range=100, random-points_range=1000`},
		{[]workload.StepRef{{Step: "read-only.pre"}},
			`step "read-only.pre" is ambiguous: read-only.pre_range=10, read-only.pre_range=100, read-only.pre_range=10000`},
		{[]workload.StepRef{{Step: "points-cov"}}, `step "points-cov" is ambiguous: points-covered-pk, points-covered-si`},
		{[]workload.StepRef{{Step: "hots-points"}}, `unknown step "hots-points"; did you mean random-points, hot-points, points-covered-pk, ` +
			`points-notcovered-pk, points-covered-si, points-notcovered-si`},
		{[]workload.StepRef{{Step: "xyz"}}, `unknown step "xyz"`},
		{[]workload.StepRef{{Step: ""}}, `unknown step ""`},
		{[]workload.StepRef{{Step: "hot-points.pre"}}, `step "hot-points.pre": hot-points has no variant "pre"`},
		{[]workload.StepRef{{Step: "random-points_range=ten"}}, `step "random-points_range=ten": range "ten" is not a positive number`},
		{[]workload.StepRef{{Step: "random-points_range=10", Range: 100}}, `step "random-points_range=10": its name says range 10, the parameter 100`},
		{[]workload.StepRef{{Step: "random-points", Range: -1}}, `step "random-points": range -1 is not positive`},
		{[]workload.StepRef{{Step: "scan.warm", Pre: true}}, `step "scan.warm" cannot be pre as well`},
		{[]workload.StepRef{{Step: "insert"}, {Step: "insert"}}, `step "insert_range=100" is listed twice: its results could not be told apart`},
		{[]workload.StepRef{{List: "sysbench"}}, `unknown list "sysbench"; there are ` + strings.Join(workload.Lists(), ", ")},
		{[]workload.StepRef{{List: "sysbench-a", Pre: true}}, `list "sysbench-a": a list takes no step, range or pre`},
	}
	for _, test := range tests {
		steps, err := workload.Resolve(test.refs, small)
		if err == nil || err.Error() != test.want {
			t.Errorf("%+v: %d steps, %v\nwant %s", test.refs, len(steps), err, test.want)
		}
	}
}

// list resolves a list and returns the names of its steps, maintenance included.
func list(t *testing.T, name string, p workload.Params) (steps []workload.Step, names []string) {
	t.Helper()
	steps, err := workload.Resolve([]workload.StepRef{{List: name}}, p)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		names = append(names, s.Name)
	}
	return steps, names
}

func TestListsAreThePublishedOnes(t *testing.T) {
	p := workload.Params{Tables: 8, Rows: 1000, Clients: 40, Duration: 20 * time.Second}
	a, names := list(t, "sysbench-a", p)
	golden(t, "sysbench-a.golden", strings.Join(names, "\n")+"\n")
	if len(a) != 42+1 { // and one postwrite
		t.Errorf("list A has %d entries", len(a))
	}
	groups := map[string]int{}
	for _, s := range a {
		for _, g := range s.Groups {
			groups[g]++
		}
		if s.Kind != nil && s.Kind.Name == "scan" && s.Clients != 8 {
			t.Errorf("scan has %d clients for 8 tables", s.Clients)
		}
	}
	for g, n := range map[string]int{"point-1": 11, "point-2": 6, "range-1": 9, "range-2": 6, "writes": 10} {
		if groups[g] != n {
			t.Errorf("group %s has %d of the 42 steps, published are %d", g, groups[g], n)
		}
	}
	b, names := list(t, "sysbench-b", p)
	golden(t, "sysbench-b.golden", strings.Join(names, "\n")+"\n")
	if len(b) != 37+1 {
		t.Errorf("list B has %d entries", len(b))
	}
	clear(groups)
	for _, s := range b {
		if s.Tag == "" {
			for _, g := range s.Groups {
				groups[g]++
			}
		}
	}
	if b[0].Name != "scan.warmpre_range=100" || b[0].Duration != time.Minute || b[1].Duration != p.Duration {
		t.Errorf("%s for %v, then %s for %v", b[0].Name, b[0].Duration, b[1].Name, b[1].Duration)
	}
	for g, n := range map[string]int{"points": 9, "ranges": 5, "aggregates": 8, "writes": 10} {
		if groups[g] != n {
			t.Errorf("group %s has %d steps, published are %d", g, groups[g], n)
		}
	}
}

func TestGroupsNameKnownSteps(t *testing.T) {
	names := workload.Names()
	for g, members := range workload.Groups() {
		if len(members) == 0 {
			t.Errorf("group %s is empty", g)
		}
		for _, m := range members {
			if !slices.Contains(names, m) {
				t.Errorf("group %s: %s is not a step", g, m)
			}
		}
	}
}

func TestListParametersReachItsSteps(t *testing.T) {
	steps, err := workload.Resolve([]workload.StepRef{{List: "sysbench-b", Duration: 3 * time.Second, Rate: 100}}, small)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		switch {
		case s.Maintenance != "":
		case s.Pass:
			if s.Rate != 0 || s.OpenLoop {
				t.Errorf("%s has a rate", s.Name)
			}
		case s.Rate != 100 || s.Duration != 3*time.Second || !s.OpenLoop:
			t.Errorf("%s: rate %v, %v", s.Name, s.Rate, s.Duration)
		}
	}
}
