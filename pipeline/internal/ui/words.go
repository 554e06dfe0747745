package ui

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"pgpipeline/pipeline/engine"
)

// clock writes a duration as people read it: 9s, 1m02s, 2h05m.
func clock(d time.Duration) string {
	s := int(math.Round(d.Seconds()))
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	}
	return fmt.Sprintf("%dh%02dm", s/3600, s%3600/60)
}

// about writes a forecast: with one figure less than it has, because it is a guess.
func about(d time.Duration) string {
	s := d.Seconds()
	switch {
	case s < 5:
		return "a moment"
	case s < 55:
		return fmt.Sprintf("%ds", int(math.Ceil(s/5)*5))
	case s < 3600:
		return fmt.Sprintf("%dm", int(math.Ceil(s/60)))
	}
	m := int(math.Ceil(s/300) * 5)
	return fmt.Sprintf("%dh%02dm", m/60, m%60)
}

// text writes a forecast: "about 3m left", "at most 2h05m left"; "" when nothing is known or nothing is left.
func (f forecast) text(guess, bound string) string {
	switch {
	case !f.known || f.left <= 0:
		return ""
	case f.atMost:
		return bound + about(f.left) + " left"
	}
	return guess + about(f.left) + " left"
}

// amount writes how far a progress is: "12.4 MB of 23 MB", "3.1M of 20M rows", "512 of 800".
func amount(p *engine.Progress) string {
	if p == nil || p.Total <= 0 {
		return ""
	}
	switch p.Unit {
	case "B", "bytes":
		return humanize.Bytes(uint64(max(p.Done, 0))) + " of " + humanize.Bytes(uint64(p.Total))
	case "s", "seconds", "%", "":
		return ""
	}
	return strings.TrimSpace(short(p.Done) + " of " + short(p.Total) + " " + p.Unit)
}

// short writes a count in at most four figures: 812, 12.3k, 4.56M.
func short(v float64) string {
	for _, u := range []struct {
		size float64
		unit string
	}{{1e9, "G"}, {1e6, "M"}, {1e4, "k"}} {
		if v >= u.size {
			size := u.size
			if u.unit == "k" {
				size = 1e3
			}
			return trim(v/size) + u.unit
		}
	}
	return fmt.Sprintf("%.0f", v)
}

func trim(v float64) string {
	s := fmt.Sprintf("%.3g", v)
	if v >= 100 {
		s = fmt.Sprintf("%.0f", v)
	}
	return s
}

// rate writes operations per second with thousands separators.
func rate(v float64) string {
	if v >= 100 {
		return humanize.Comma(int64(math.Round(v)))
	}
	return fmt.Sprintf("%.3g", v)
}

// label is a node's name below its kind: "build[pg=17.0]" is "pg=17.0".
func (n *node) label() string {
	l := strings.TrimPrefix(n.id, n.kind)
	if rest, ok := strings.CutPrefix(l, "["); ok {
		if inner, tail, found := strings.Cut(rest, "]"); found {
			l = strings.TrimSpace(inner + " " + tail)
		}
	}
	if l == "" {
		return n.id
	}
	return l
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
