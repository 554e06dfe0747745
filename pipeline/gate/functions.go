package gate

import (
	"fmt"
	"slices"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/internal/lang"
	"pgpipeline/pipeline/stat"
)

// function is one function of the assertion language, as users call it.
type function struct {
	name   string
	kind   lang.Kind
	metric string // key of metrics; "" for functions that are their own
	// What the first argument names: "step" or "group".
	of string
	// ratio functions compare two variants.
	ratio bool
	// numbers is how many numbers follow the names at least, and named says what the last stands for in the options.
	numbers int
	named   string
	options []string
	doc     string
}

var functions = []function{
	{name: "relqps", kind: lang.EstimateKind, metric: "qps", ratio: true, doc: "relqps(step[, operation][, candidate[, base]]): rate against the base, above 1 is faster"},
	{name: "relcpu", kind: lang.EstimateKind, metric: "cpu_per_op", ratio: true, doc: "relcpu(step): server CPU time per operation against the base"},
	{name: "relwal", kind: lang.EstimateKind, metric: "wal_per_op", ratio: true, doc: "relwal(step): WAL bytes per operation against the base"},
	{name: "relreads", kind: lang.EstimateKind, metric: "reads_per_op", ratio: true, doc: "relreads(step): storage reads per operation against the base"},
	{name: "relwrites", kind: lang.EstimateKind, metric: "writes_per_op", ratio: true, doc: "relwrites(step): storage writes per operation against the base"},
	{name: "relswitches", kind: lang.EstimateKind, metric: "switches_per_op", ratio: true, doc: "relswitches(step): context switches per operation against the base"},
	{name: "relp50", kind: lang.EstimateKind, metric: "p50", ratio: true, doc: "relp50(step): median response time against the base"},
	{name: "relp95", kind: lang.EstimateKind, metric: "p95", ratio: true, doc: "relp95(step): 95th percentile against the base"},
	{name: "relp99", kind: lang.EstimateKind, metric: "p99", ratio: true, doc: "relp99(step): 99th percentile against the base"},
	{name: "relp999", kind: lang.EstimateKind, metric: "p999", ratio: true, doc: "relp999(step): 99.9th percentile against the base"},
	{name: "relcv", kind: lang.EstimateKind, metric: "cv", ratio: true, doc: "relcv(step): variation of the per-second rate against the base"},
	{name: "slower", kind: lang.ClaimKind, metric: "qps", ratio: true, named: "by", options: []string{"by"}, doc: "slower(step[, by]): slower than the base by more than `by` and the noise floor"},
	{name: "faster", kind: lang.ClaimKind, metric: "qps", ratio: true, named: "by", options: []string{"by"}, doc: "faster(step[, by]): faster than the base by more than `by` and the noise floor"},
	{name: "same", kind: lang.ClaimKind, metric: "qps", ratio: true, numbers: 1, named: "within", options: []string{"within"}, doc: "same(step, within): no further from the base than `within`"},
	{name: "geomean", kind: lang.EstimateKind, metric: "qps", of: "group", ratio: true, options: []string{"any", "metric"}, doc: `geomean(group[, metric]): geometric mean of the ratios of a group's steps`},
	{name: "min", kind: lang.EstimateKind, metric: "qps", of: "group", ratio: true, options: []string{"any", "metric"}, doc: `min(group[, metric]): the worst ratio of a group's steps`},
	{name: "qps", kind: lang.NumberKind, metric: "qps", doc: "qps(step[, operation][, variant]): operations per second, median of the slices"},
	{name: "p50", kind: lang.TimeEstimateKind, metric: "p50", doc: "p50(step[, operation][, variant]): median response time"},
	{name: "p95", kind: lang.TimeEstimateKind, metric: "p95", doc: "p95(step[, operation][, variant]): 95th percentile of the response time"},
	{name: "p99", kind: lang.TimeEstimateKind, metric: "p99", doc: "p99(step[, operation][, variant]): 99th percentile of the response time"},
	{name: "p999", kind: lang.TimeEstimateKind, metric: "p999", doc: "p999(step[, operation][, variant]): 99.9th percentile of the response time"},
	{name: "max_response", kind: lang.TimeNumberKind, metric: "maxrt", doc: "max_response(step[, operation][, variant]): worst response time seen"},
	{name: "maxrt", kind: lang.TimeNumberKind, metric: "maxrt", doc: "maxrt(step[, operation][, variant]): the same as max_response"},
	{name: "cpu_per_op", kind: lang.TimeEstimateKind, metric: "cpu_per_op", doc: "cpu_per_op(step[, variant]): server CPU time per operation"},
	{name: "wal_per_op", kind: lang.EstimateKind, metric: "wal_per_op", doc: "wal_per_op(step[, variant]): WAL bytes per operation"},
	{name: "reads_per_op", kind: lang.EstimateKind, metric: "reads_per_op", doc: "reads_per_op(step[, variant]): storage reads per operation"},
	{name: "writes_per_op", kind: lang.EstimateKind, metric: "writes_per_op", doc: "writes_per_op(step[, variant]): storage writes per operation"},
	{name: "switches_per_op", kind: lang.EstimateKind, metric: "switches_per_op", doc: "switches_per_op(step[, variant]): context switches of the server per operation"},
	{name: "stall", kind: lang.TimeNumberKind, metric: "stall", options: []string{"below"}, doc: "stall(step[, operation][, variant][, {below: 0.1}]): longest run of tenths of a second with less than 10 % of the median rate"},
	{name: "stalls", kind: lang.NumberKind, metric: "stalls", options: []string{"below"}, doc: "stalls(step[, operation][, variant]): how many such runs there were"},
	{name: "rate", kind: lang.EstimateKind, metric: "rate", numbers: 1, named: "percent", options: []string{"percent"}, doc: "rate(step, 99[, operation][, variant]): the per-second rate that is exceeded 99 % of the time"},
	{name: "cv", kind: lang.NumberKind, metric: "cv", doc: "cv(step[, operation][, variant]): variation of the per-second rate, standard deviation over mean"},
	{name: "errors", kind: lang.NumberKind, metric: "errors", doc: "errors(step[, variant]): unexpected SQL errors"},
	{name: "pairs", kind: lang.NumberKind, metric: "pairs", ratio: true, doc: "pairs(step): pairs that count"},
	{name: "boots", kind: lang.NumberKind, metric: "boots", ratio: true, doc: "boots(step): blocks that count"},
	{name: "noise", kind: lang.NumberKind, metric: "noise", ratio: true, doc: "noise(step): smallest change that can be told from noise with the budget"},
	{name: "steady", kind: lang.NumberKind, metric: "steady", doc: "steady(step[, variant]): 1 when the warm-up became steady in most blocks, else 0"},
}

// FunctionDoc describes one function of the assertion language for help texts.
type FunctionDoc struct{ Name, Doc string }

// Functions lists the functions of the assertion language.
func Functions() []FunctionDoc {
	var out []FunctionDoc
	for _, f := range functions {
		out = append(out, FunctionDoc{f.name, f.doc})
	}
	return out
}

// request is a call with its names resolved.
type request struct {
	fn        *function
	metric    string
	steps     []engine.StepInfo
	label     string // step or group as messages name it
	operation string
	variant   string // "" is the candidate that is judged
	base      string // "" is the facet's base
	number    *float64
	below     float64
	any       bool
}

// parse resolves a call's arguments: strings are operations, metrics or variants by what they name, numbers are the function's.
func (s scope) parse(f *function, c lang.Call) (request, *lang.ArgError) {
	r := request{fn: f, metric: f.metric, below: stat.StallBelow}
	if len(c.Args) == 0 {
		return r, &lang.ArgError{Arg: -1, Msg: f.name + "() needs a " + f.first(), Hint: f.doc}
	}
	name, ok := c.Args[0].Value.(string)
	if !ok {
		return r, &lang.ArgError{Msg: fmt.Sprintf("the first argument of %s() is the name of a %s", f.name, f.first()), Hint: f.doc}
	}
	r.label = name
	if err := s.subject(&r, name); err != nil {
		return r, err
	}
	for i, a := range c.Args[1:] {
		if err := s.argument(&r, a.Value); err != nil {
			err.Arg = i + 1
			return r, err
		}
	}
	if f.numbers > 0 && r.number == nil {
		return r, &lang.ArgError{Arg: -1, Msg: fmt.Sprintf("%s() needs a number", f.name), Hint: f.doc}
	}
	return r, s.complete(&r)
}

func (f *function) first() string {
	if f.of == "group" {
		return "group"
	}
	return "step"
}

func (s scope) subject(r *request, name string) (err *lang.ArgError) {
	if r.fn.of == "group" {
		r.steps, err = s.members(name)
		return err
	}
	st, err := s.step(name)
	r.steps = []engine.StepInfo{st}
	if err == nil {
		r.label = st.Name
	}
	return err
}

func (s scope) argument(r *request, v any) *lang.ArgError {
	switch v := v.(type) {
	case float64:
		if r.fn.named == "" || r.number != nil {
			return &lang.ArgError{Msg: fmt.Sprintf("%s() takes no such number", r.fn.name), Hint: r.fn.doc}
		}
		r.number = &v
		return nil
	case string:
		return s.word(r, v)
	case map[string]any:
		for _, name := range sortedKeys(v) {
			if err := s.option(r, name, v[name]); err != nil {
				return err
			}
		}
		return nil
	}
	return &lang.ArgError{Msg: fmt.Sprintf("%s() takes no such argument", r.fn.name), Hint: r.fn.doc}
}

// word is a string after the first: an operation of the step, a metric of a group, or a variant.
func (s scope) word(r *request, w string) *lang.ArgError {
	if r.fn.of == "group" && ratioMetric(w) != "" {
		r.metric = ratioMetric(w)
		return nil
	}
	if r.fn.of != "group" && r.operation == "" && slices.Contains(r.steps[0].Operations, w) {
		r.operation = w
		return nil
	}
	name, ok := s.variant(w)
	switch {
	case !ok:
		known := append(slices.Clone(r.steps[0].Operations), s.variantNames()...)
		return unknown("operation or variant", w, known)
	case r.variant == "":
		r.variant = name
	case r.base == "" && r.fn.ratio:
		r.base = name
	default:
		return &lang.ArgError{Msg: fmt.Sprintf("%q is one variant too many", w), Hint: r.fn.doc}
	}
	return nil
}

func (s scope) option(r *request, name string, v any) *lang.ArgError {
	text, isText := v.(string)
	number, isNumber := v.(float64)
	flag, isFlag := v.(bool)
	known := append([]string{"variant", "operation", "base"}, r.fn.options...)
	switch {
	case !slices.Contains(known, name):
		return unknown("option", name, known)
	case name == "any" && isFlag:
		r.any = flag
	case name == "below" && isNumber && number > 0 && number < 1:
		r.below = number
	case name == r.fn.named && isNumber:
		r.number = &number
	case isText && (name == "variant" || name == "base" || name == "operation" || name == "metric"):
		return s.word(r, text)
	default:
		return &lang.ArgError{Msg: fmt.Sprintf("option %q cannot be %v", name, v), Hint: r.fn.doc}
	}
	return nil
}

// complete checks what only shows once all arguments are known.
func (s scope) complete(r *request) *lang.ArgError {
	ops := r.steps[0].Operations
	if len(r.steps) == 1 && r.operation == "" && len(ops) > 1 && percentile(r.metric) > 0 {
		return &lang.ArgError{Msg: fmt.Sprintf("step %q has several operations", r.label), Hint: fmt.Sprintf("name one of %s: %s(%q, %q)", list(ops), r.fn.name, r.label, ops[0])}
	}
	if r.fn.ratio && r.variant == "" && len(s.candidates()) == 0 && r.fn.kind != lang.NumberKind {
		return &lang.ArgError{Arg: -1, Msg: "there is nothing to compare with: the run has a single variant",
			Hint: "name the compared axis under `baseline`"}
	}
	if r.fn.ratio && r.variant != "" && r.variant == r.baseOr(s) {
		return &lang.ArgError{Arg: 1, Msg: fmt.Sprintf("%q is the base itself", r.variant), Hint: "name a candidate: " + list(s.candidates())}
	}
	return nil
}

func (r request) baseOr(s scope) string {
	if r.base != "" {
		return r.base
	}
	return s.base()
}

// library is the functions bound to a scope, for the compiler of the language.
func (s scope) library() []lang.Function {
	var out []lang.Function
	for i := range functions {
		f := &functions[i]
		out = append(out, lang.Function{Name: f.name, Doc: f.doc, Kind: f.kind, Check: func(c lang.Call) *lang.ArgError {
			_, err := s.parse(f, c)
			return err
		}})
	}
	return out
}

func functionNamed(name string) *function {
	i := slices.IndexFunc(functions, func(f function) bool { return f.name == name })
	return &functions[i]
}

// ratioMetric is the metric behind a ratio function's name, or the metric itself.
func ratioMetric(name string) string {
	for _, f := range functions {
		if f.ratio && f.of == "" && f.kind == lang.EstimateKind && (f.name == name || f.metric == name) {
			return f.metric
		}
	}
	return ""
}
