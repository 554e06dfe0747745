package imports

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
)

// The long form: one line per measurement, in any order of columns. step and a rate are required; the rate is a column `rate` or
// `qps`, or `ops` with `seconds`, or `value` where `metric` says qps or rate (the reports' own CSV: other metrics are left out).
// variant (else the file's name), unit, clients and base are optional. Lines that repeat a step and variant are repetitions.
var csvRates = []string{"rate", "qps", "value"}

func readCSV(s *Set, src source, _ Options) error {
	files, err := src.files()
	if err != nil {
		return err
	}
	for _, path := range files {
		if src.dir && filepath.Ext(path) != ".csv" {
			continue
		}
		if err := s.csvFile(src, path); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(path), err)
		}
	}
	return nil
}

func (s *Set) csvFile(src source, path string) error {
	holder := Variant{Files: map[string]string{}}
	text, err := holder.read(path)
	if err != nil {
		return err
	}
	in := csv.NewReader(strings.NewReader(text))
	in.FieldsPerRecord = -1
	head, err := in.Read()
	if err != nil {
		return fmt.Errorf("line 1: a heading with the names of the columns is missing: %w", err)
	}
	t := csvTable{at: map[string]int{}, name: src.name()}
	for i, h := range head {
		t.at[strings.ToLower(strings.TrimSpace(strings.TrimPrefix(h, "\ufeff")))] = i
	}
	if err := t.check(); err != nil {
		return err
	}
	base := ""
	for {
		fields, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		line, _ := in.FieldPos(0)
		r, ok, err := t.result(fields)
		if err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
		if !ok {
			continue
		}
		s.variant(r.Variant).Files[filepath.Base(path)] = holder.Files[filepath.Base(path)]
		if b := t.field(fields, "base"); b == "1" || strings.EqualFold(b, "true") {
			base = r.Variant
		}
		s.Results = append(s.Results, r)
	}
	s.setBase(base)
	return nil
}

// setBase moves a variant to the front.
func (s *Set) setBase(name string) {
	for i, v := range s.Variants {
		if v.Name == name {
			copy(s.Variants[1:i+1], s.Variants[:i])
			s.Variants[0] = v
			return
		}
	}
}

type csvTable struct {
	at   map[string]int
	name string
}

func (t csvTable) has(column string) bool { _, ok := t.at[column]; return ok }

func (t csvTable) field(fields []string, column string) string {
	if i, ok := t.at[column]; ok && i < len(fields) {
		return strings.TrimSpace(strings.TrimPrefix(fields[i], "'")) // reports quote what a spreadsheet would compute
	}
	return ""
}

func (t csvTable) check() error {
	if !t.has("step") {
		return errors.New("line 1: there is no column \"step\"")
	}
	for _, c := range csvRates {
		if t.has(c) {
			return nil
		}
	}
	if t.has("ops") && t.has("seconds") {
		return nil
	}
	return errors.New("line 1: there is no column \"rate\" or \"qps\", and no \"ops\" with \"seconds\"")
}

func (t csvTable) number(fields []string, column string) (float64, error) {
	text := t.field(fields, column)
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v <= 0 {
		return 0, fmt.Errorf("%s: %q is not a positive number", column, text)
	}
	return v, nil
}

// result is one line; ok is false for lines that are not a rate of a step.
func (t csvTable) result(fields []string) (r Result, ok bool, err error) {
	metric, step := t.field(fields, "metric"), t.field(fields, "step")
	if metric != "" && metric != "qps" && metric != "rate" || step == "" || step == "*" {
		return r, false, nil
	}
	r = Result{Step: step, Variant: t.field(fields, "variant"), Unit: strings.TrimSuffix(t.field(fields, "unit"), "/s"),
		Cost: map[string]float64{}, Notes: map[string]string{}}
	if facet := t.field(fields, "facet"); facet != "" {
		r.Step = step + " " + facet
	}
	if r.Variant == "" {
		r.Variant = t.name
	}
	if r.Unit == "" {
		r.Unit = "operations"
	}
	if text := t.field(fields, "clients"); text != "" {
		if r.Clients, err = strconv.Atoi(text); err != nil {
			return r, false, fmt.Errorf("clients: %q is not a whole number", text)
		}
	}
	return t.rate(fields, r)
}

func (t csvTable) rate(fields []string, r Result) (Result, bool, error) {
	var err error
	if t.has("ops") && t.has("seconds") {
		if r.Ops, err = t.number(fields, "ops"); err == nil {
			r.Seconds, err = t.number(fields, "seconds")
		}
		return r, err == nil, err
	}
	r.Seconds = 1 // only the rate is known
	for _, c := range csvRates {
		if t.has(c) {
			r.Ops, err = t.number(fields, c)
			break
		}
	}
	return r, err == nil, err
}
