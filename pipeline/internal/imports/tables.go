package imports

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Published is one step of a result folder in the units of the published tables.
type Published struct {
	Rate          float64 // queries per second as printed; scans: thousands of rows per second
	VMSamples     int
	Machine       *vmstat // nil when it was not sampled
	Disk          *iostat // nil when it was not sampled, or no device was named
	CPUPerOp      float64 // percent of all CPUs, divided by Rate
	SwitchesPerOp float64
}

// Row is one line of the published tables: a step, and a cell per variant, nil where the variant has none.
type Row struct {
	Step  string
	Cells []*Published
}

// Rows are the steps in the order of the published tables: point queries, the other reads, the writes; each sorted by name. Steps
// that ran before the writes or to warm up are not in the tables.
func (s *Set) Rows() []Row {
	var rows []Row
	for _, step := range s.steps() {
		row := Row{Step: step, Cells: make([]*Published, len(s.Variants))}
		for _, r := range s.Results {
			if r.Step == step && r.Repeat == 0 && r.Published != nil {
				i := slices.IndexFunc(s.Variants, func(v Variant) bool { return v.Name == r.Variant })
				row.Cells[i] = r.Published
			}
		}
		if !strings.Contains(step, ".pre") && !strings.Contains(step, ".warm") && !slices.Equal(row.Cells, make([]*Published, len(row.Cells))) {
			rows = append(rows, row)
		}
	}
	slices.SortStableFunc(rows, func(a, b Row) int {
		if x, y := block(a.Step), block(b.Step); x != y {
			return x - y
		}
		return strings.Compare(collated(a.Step), collated(b.Step))
	})
	return rows
}

// block is the part of the table that a step belongs to.
func block(step string) int {
	if strings.Contains(step, "point") {
		return 0
	}
	for _, w := range []string{"delete", "insert", "update", "write"} {
		if strings.Contains(step, w) {
			return 2
		}
	}
	return 1
}

// collated is the name as file names are sorted in the locale of the tables: punctuation does not count, and ".pk1" follows.
func collated(step string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("-._=", r) {
			return -1
		}
		return r
	}, step) + "pk"
}

// WriteAbsolute writes the table of rates, as integers.
func (s *Set) WriteAbsolute(w io.Writer) error {
	var b strings.Builder
	s.heading(&b, s.Variants)
	for _, r := range s.Rows() {
		for _, c := range r.Cells {
			b.WriteString(absolute(c) + "\t")
		}
		b.WriteString(r.Step + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteRelative writes the table of rates relative to the first variant, computed from the integers of the other table.
func (s *Set) WriteRelative(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Relative to: %s\n", s.Variants[0].Name)
	s.heading(&b, s.Variants[1:])
	for _, r := range s.Rows() {
		for _, c := range r.Cells[1:] {
			b.WriteString(relative(c, r.Cells[0]) + "\t")
		}
		b.WriteString(r.Step + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteCosts writes what each operation cost the machine: one line per step and variant, in the published units and formats.
func (s *Set) WriteCosts(w io.Writer) error {
	var b strings.Builder
	b.WriteString("cpu/o\tcs/o\tsamples\tr/o\trKB/o\twKB/o\to/s\tvariant\tstep\n")
	for _, r := range s.Rows() {
		for i, c := range r.Cells {
			if c != nil {
				fmt.Fprintf(&b, "%s\t%s\t%s\n", c.costs(), s.Variants[i].Name, r.Step)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (p *Published) costs() string {
	cpu, switches, samples := "-", "-", "-"
	if p.Machine != nil {
		cpu, switches, samples = fmt.Sprintf("%.6f", p.CPUPerOp), fmt.Sprintf("%.3f", p.SwitchesPerOp), fmt.Sprint(p.VMSamples)
	}
	disk := "-\t-\t-"
	if p.Disk != nil {
		disk = fmt.Sprintf("%.3f\t%.3f\t%.3f", p.Disk.Reads/p.Rate, p.Disk.ReadKB/p.Rate, p.Disk.WriteKB/p.Rate)
	}
	return fmt.Sprintf("%s\t%s\t%s\t%s\t%.0f", cpu, switches, samples, disk, p.Rate)
}

func (s *Set) heading(b *strings.Builder, variants []Variant) {
	var columns []string
	for i, v := range variants {
		fmt.Fprintf(b, "col-%d : %s\n", i+1, v.Name)
		columns = append(columns, fmt.Sprintf("col-%d", i+1))
	}
	b.WriteString("\n" + strings.Join(columns, "\t") + "\n")
}

func absolute(c *Published) string {
	if c == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f", c.Rate)
}

func relative(c, base *Published) string {
	if c == nil || base == nil {
		return "-"
	}
	var x, y float64
	_, _ = fmt.Sscan(absolute(c), &x)
	_, _ = fmt.Sscan(absolute(base), &y)
	if y == 0 {
		return "inf"
	}
	return fmt.Sprintf("%.2f", x/y)
}
