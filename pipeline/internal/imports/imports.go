package imports

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Options say how to read.
type Options struct {
	Format string // one of Formats
	Name   string // of the record
	// Legacy computes costs from vmstat as the published tables have them, 4 to 5 percent too low: the lines with headings count as
	// samples of zero, and the line since boot counts.
	Legacy bool
	// Device is the block device whose iostat lines count; "" leaves reads and writes out.
	Device string
	// Groups names the published groups of a step; nil: none.
	Groups func(step string) []string
}

// Set is what was read, before it becomes a record.
type Set struct {
	Variants []Variant // in the order given; the first one is the base
	Results  []Result
	CPUs     int    // of the machine that was measured; 0 when not known
	CPUModel string // of the same
	Warnings []string
}

// Variant is one side of the comparison.
type Variant struct {
	Name  string
	Files map[string]string // what was read: path below the argument -> sha256
	Facts map[string]string
}

// Result is one measurement.
type Result struct {
	Variant, Step string
	Repeat        int    // 0 for the first measurement of this step on this variant
	Unit          string // what Ops counts
	Clients       int
	Ops, Events   float64
	Seconds       float64 // such that Ops/Seconds is the published rate
	MaxSeconds    float64 // longest latency; 0 when not known
	Errors        map[string]int64
	Retries       map[string]int64
	Cost          map[string]float64 // totals by engine.Cost...
	Notes         map[string]string
	// Published is what the tables of tables.go print.
	Published *Published
}

// rate in the unit of Ops.
func (r Result) rate() float64 { return r.Ops / r.Seconds }

// reader reads one source into the set.
type reader func(s *Set, src source, opt Options) error

var readers = map[string]reader{
	"sysbench": readSysbench,
	"pgbench":  readPgbench,
	"csv":      readCSV,
	"bench":    readBench,
}

// Formats are the names of all formats.
func Formats() []string { return slices.Sorted(maps.Keys(readers)) }

// Read reads every argument: a folder, a file, or NAME=PATH to name the variant. A variant that is named twice was measured twice.
func Read(args []string, opt Options) (*Set, error) {
	read := readers[opt.Format]
	if read == nil {
		return nil, fmt.Errorf("unknown format %q; there are %s", opt.Format, strings.Join(Formats(), ", "))
	}
	s := &Set{}
	for _, arg := range args {
		src, err := open(arg)
		if err != nil {
			return nil, err
		}
		if err := read(s, src, opt); err != nil {
			return nil, fmt.Errorf("import %s: %w", src.path, err)
		}
	}
	if len(s.Results) == 0 {
		return nil, fmt.Errorf("import %s: nothing in it is a result of format %s", strings.Join(args, " "), opt.Format)
	}
	s.number()
	return s, nil
}

// variant finds or adds a variant.
func (s *Set) variant(name string) *Variant {
	for i := range s.Variants {
		if s.Variants[i].Name == name {
			return &s.Variants[i]
		}
	}
	s.Variants = append(s.Variants, Variant{Name: name, Files: map[string]string{}, Facts: map[string]string{}})
	return &s.Variants[len(s.Variants)-1]
}

// number counts the repetitions of each step on each variant, in the order in which they were read.
func (s *Set) number() {
	type place struct{ variant, step string }
	seen := map[place]int{}
	for i := range s.Results {
		p := place{s.Results[i].Variant, s.Results[i].Step}
		s.Results[i].Repeat = seen[p]
		seen[p]++
	}
}

// steps are the names of all steps, in the order in which they first appear.
func (s *Set) steps() []string {
	var out []string
	for _, r := range s.Results {
		if !slices.Contains(out, r.Step) {
			out = append(out, r.Step)
		}
	}
	return out
}

func (s *Set) warn(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(s.Warnings, text) {
		s.Warnings = append(s.Warnings, text)
	}
}
