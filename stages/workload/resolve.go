package workload

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"pgpipeline/pipeline/engine"
)

// StepRef is a step as an experiment names it: by name, or with parameters, or a whole list.
type StepRef struct {
	Step     string
	List     string
	Range    int
	Pre      bool
	Clients  int
	Rate     float64 // events per second over all clients
	Duration time.Duration
	// Rows of each table that a step of the insert benchmark inserts, in place of a duration; RowsPerCommit of its inserts.
	Rows          int64
	RowsPerCommit int
	// Own is a kind that the experiment brings itself: SQL files, or another load generator. It takes no range.
	Own *Kind
}

// Postwrite is the name of the maintenance action that follows phases of writing: vacuum, checkpoint, settle.
const Postwrite = "postwrite"

// Resolve turns references into steps, in order. A step may be shortened as long as it is unique; the error of one that is not lists the
// candidates.
func Resolve(refs []StepRef, p Params) ([]Step, error) {
	var steps []Step
	seen := map[string]bool{}
	for _, ref := range refs {
		more, err := resolve(ref, p)
		if err != nil {
			return nil, err
		}
		for _, s := range more {
			if s.Maintenance == "" && seen[s.Name] {
				return nil, fmt.Errorf("step %q is listed twice: its results could not be told apart", s.Name)
			}
			seen[s.Name] = true
			steps = append(steps, s)
		}
	}
	return steps, nil
}

// Check says when steps do not fit data of a workload whose load ended with step `through`.
func Check(steps []Step, workload, through string) error {
	w, err := byName(workload)
	if err != nil {
		return err
	}
	for _, s := range steps {
		if s.Workload != nil && s.Workload != w {
			return fmt.Errorf("step %s belongs to the workload %s; the data is that of %s", s.Name, s.Workload.Name, w.Name)
		}
	}
	if w.Check == nil {
		return nil
	}
	return w.Check(steps, through)
}

func resolve(ref StepRef, p Params) ([]Step, error) {
	if ref.List != "" {
		return resolveList(ref, p)
	}
	if ref.Step == Postwrite {
		return []Step{{StepInfo: engine.StepInfo{Name: Postwrite}, Maintenance: Postwrite, Params: p,
			Doc: "vacuum and analyze every table, checkpoint, wait until the disk is quiet"}}, nil
	}
	if ref.Own != nil {
		return []Step{build(nil, ref.Own, stepName{kind: ref.Own.Name}, ref, p)}, nil
	}
	w, k, n, err := find(ref)
	if err != nil {
		return nil, err
	}
	if ref.Rows > 0 && !k.TakesRows {
		return nil, fmt.Errorf("step %q takes no rows", ref.Step)
	}
	return []Step{build(w, k, n, ref, p)}, nil
}

func resolveList(ref StepRef, p Params) ([]Step, error) {
	if ref.Step != "" || ref.Range != 0 || ref.Pre {
		return nil, fmt.Errorf("list %q: a list takes no step, range or pre", ref.List)
	}
	for _, w := range All {
		if list := w.Lists[ref.List]; list != nil {
			refs := list(p)
			for i := range refs {
				override(&refs[i], ref)
			}
			return Resolve(refs, p)
		}
	}
	return nil, fmt.Errorf("unknown list %q; there are %s", ref.List, strings.Join(Lists(), ", "))
}

// override lets what is said of a list hold for each of its steps that does not say otherwise. Rates and client counts of a list
// do not reach a step that has its own in the published order.
func override(step *StepRef, list StepRef) {
	if step.Clients == 0 {
		step.Clients = list.Clients
	}
	if step.Rate == 0 {
		step.Rate = list.Rate
	}
	if step.Duration == 0 {
		step.Duration = list.Duration
	}
}

// stepName is a step's name in parts.
type stepName struct {
	kind, tag string
	rng       int // 0: none
}

func (n stepName) String() string {
	s := n.kind
	if n.tag != "" {
		s += "." + n.tag
	}
	if n.rng > 0 {
		s += "_range=" + strconv.Itoa(n.rng)
	}
	return s
}

// find looks a reference up among all kinds.
func find(ref StepRef) (*Workload, *Kind, stepName, error) {
	want, err := parseName(ref)
	if err != nil {
		return nil, nil, want, err
	}
	w, k, err := findKind(want.kind)
	if err != nil {
		return nil, nil, want, err
	}
	want.kind = k.Name
	if want.tag != "" && !slices.Contains(k.Tags, want.tag) {
		return nil, nil, want, fmt.Errorf("step %q: %s has no variant %q%s", ref.Step, k.Name, want.tag, listed("; there are ", k.Tags))
	}
	switch {
	case want.rng > 0 && len(k.Ranges) == 0:
		return nil, nil, want, fmt.Errorf("step %q: %s takes no range", ref.Step, k.Name)
	case want.rng == 0 && len(k.Ranges) > 1:
		return nil, nil, want, fmt.Errorf("step %q is ambiguous: %s", ref.Step, strings.Join(namesOf(k, want.tag), ", "))
	case want.rng == 0 && len(k.Ranges) == 1:
		want.rng = k.Ranges[0]
	}
	return w, k, want, nil
}

// parseName splits a name such as random-points.pre_range=10 and joins it with what the reference says beside it.
func parseName(ref StepRef) (stepName, error) {
	base, rng, hasRange := strings.Cut(ref.Step, "_range=")
	n := stepName{rng: ref.Range}
	if hasRange {
		v, err := strconv.Atoi(rng)
		if err != nil || v <= 0 {
			return n, fmt.Errorf("step %q: range %q is not a positive number", ref.Step, rng)
		}
		if ref.Range != 0 && ref.Range != v {
			return n, fmt.Errorf("step %q: its name says range %d, the parameter %d", ref.Step, v, ref.Range)
		}
		n.rng = v
	}
	if ref.Range < 0 {
		return n, fmt.Errorf("step %q: range %d is not positive", ref.Step, ref.Range)
	}
	n.kind = base
	// Kinds may have dots of their own (l.i1): only a known tag is cut off.
	if i := strings.LastIndexByte(base, '.'); i > 0 && isTag(base[i+1:]) {
		n.kind, n.tag = base[:i], base[i+1:]
	}
	if ref.Pre {
		if n.tag != "" && n.tag != "pre" {
			return n, fmt.Errorf("step %q cannot be pre as well", ref.Step)
		}
		n.tag = "pre"
	}
	return n, nil
}

func isTag(s string) bool {
	for _, w := range All {
		for _, k := range w.Kinds {
			if slices.Contains(k.Tags, s) {
				return true
			}
		}
	}
	return false
}

// findKind finds a kind by its name or a unique beginning of it.
func findKind(name string) (w *Workload, k *Kind, err error) {
	var found []string
	for _, each := range All {
		for i := range each.Kinds {
			kind := &each.Kinds[i]
			if kind.Name == name {
				return each, kind, nil
			}
			if name != "" && strings.HasPrefix(kind.Name, name) {
				w, k = each, kind
				found = append(found, kind.Name)
			}
		}
	}
	switch len(found) {
	case 1:
		return w, k, nil
	case 0:
		return nil, nil, fmt.Errorf("unknown step %q%s", name, listed("; did you mean ", similar(name)))
	default:
		return nil, nil, fmt.Errorf("step %q is ambiguous: %s", name, strings.Join(found, ", "))
	}
}

func listed(before string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	return before + strings.Join(names, ", ")
}

// similar returns the kinds that share a part with the name.
func similar(name string) []string {
	var found []string
	for _, w := range All {
		for _, k := range w.Kinds {
			for _, part := range strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '_' || r == '.' }) {
				if len(part) > 2 && strings.Contains(k.Name, part) && !slices.Contains(found, k.Name) {
					found = append(found, k.Name)
				}
			}
		}
	}
	return found
}

func namesOf(k *Kind, tag string) []string {
	if len(k.Ranges) == 0 {
		return []string{stepName{kind: k.Name, tag: tag}.String()}
	}
	var names []string
	for _, r := range k.Ranges {
		names = append(names, stepName{k.Name, tag, r}.String())
	}
	return names
}

// build makes the step. Client count and rate enter the name when they are the step's own.
func build(w *Workload, k *Kind, n stepName, ref StepRef, p Params) Step {
	name := n.String()
	if ref.Clients > 0 && ref.Clients != p.Clients {
		p.Clients = ref.Clients
		name += "_clients=" + strconv.Itoa(ref.Clients)
	}
	if ref.Rate > 0 && ref.Rate != p.Rate {
		p.Rate = ref.Rate
		name += "_rate=" + strconv.FormatFloat(ref.Rate, 'g', -1, 64)
	}
	if ref.Duration > 0 {
		p.Duration = ref.Duration
	}
	p.Insert.Work = ref.Rows
	if ref.RowsPerCommit > 0 {
		p.Insert.RowsPerCommit = ref.RowsPerCommit
	}
	s := Step{Work: k.FixedWork || ref.Rows > 0, Doc: k.Doc, Workload: w, Kind: k, Range: n.rng, Tag: n.tag, Params: p, Pass: k.Pass, Rate: p.Rate, Duration: p.Duration}
	if k.Pass {
		s.Rate = 0 // one pass follows the other
	}
	s.StepInfo = engine.StepInfo{Name: name, Class: k.Class, Writes: k.Writes, Unit: k.Unit, Operations: k.Operations,
		Groups: groupsOf(w, n), OpenLoop: s.Rate > 0, Seconds: s.Duration.Seconds(), Clients: p.Clients}
	return s
}

// groupsOf lists the published groups that a step belongs to.
func groupsOf(w *Workload, n stepName) []string {
	if w == nil {
		return nil
	}
	full := n.String()
	n.rng = 0
	var groups []string
	for _, g := range slices.Sorted(maps.Keys(w.Groups)) {
		if slices.Contains(w.Groups[g], full) || slices.Contains(w.Groups[g], n.String()) {
			groups = append(groups, g)
		}
	}
	return groups
}

// Names returns the full name of every published step.
func Names() []string {
	var names []string
	for _, w := range All {
		for i := range w.Kinds {
			k := &w.Kinds[i]
			names = append(names, namesOf(k, "")...)
			for _, tag := range k.Tags {
				names = append(names, namesOf(k, tag)...)
			}
		}
	}
	return names
}

// Lists returns the names of all lists, sorted.
func Lists() []string {
	var names []string
	for _, w := range All {
		names = slices.AppendSeq(names, maps.Keys(w.Lists))
	}
	slices.Sort(names)
	return names
}

// Groups returns the published groups: name to full names of steps.
func Groups() map[string][]string {
	groups := map[string][]string{}
	for _, w := range All {
		for i := range w.Kinds {
			k := &w.Kinds[i]
			for _, tag := range append([]string{""}, k.Tags...) {
				for _, r := range append([]int{}, rangesOf(k)...) {
					n := stepName{k.Name, tag, r}
					for _, g := range groupsOf(w, n) {
						groups[g] = append(groups[g], n.String())
					}
				}
			}
		}
	}
	return groups
}

func rangesOf(k *Kind) []int {
	if len(k.Ranges) == 0 {
		return []int{0}
	}
	return k.Ranges
}
