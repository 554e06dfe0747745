package report

import (
	"fmt"
	"math"
	"sort"
	"strings"

	"github.com/dustin/go-humanize"

	"pgpipeline/pipeline/gate"
)

// ratioText writes a ratio with two decimals, the convention of the published reports. A change that two decimals would hide gets
// a third one.
func ratioText(r gate.Ratio) string {
	if r.Point >= 100 { // a cost of next to nothing in the base
		return rateText(r.Point)
	}
	if text := fmt.Sprintf("%.2f", r.Point); !r.Changed || text != "1.00" {
		return text
	}
	return fmt.Sprintf("%.3f", r.Point)
}

// ratioInterval writes "[0.98, 1.03]", "" when neither side is bounded.
func ratioInterval(r gate.Ratio) string {
	return interval(r.Lo, r.Hi, func(v float64) string { return fmt.Sprintf("%.2f", v) })
}

func interval(lo, hi *float64, write func(float64) string) string {
	if lo == nil && hi == nil {
		return ""
	}
	l, h := "…", "…"
	if lo != nil {
		l = write(*lo)
	}
	if hi != nil {
		h = write(*hi)
	}
	return "[" + l + ", " + h + "]"
}

func intervalText(lo, hi *float64, unit string) string {
	return interval(lo, hi, func(v float64) string { return unitText(v, unit) })
}

// unitText writes a value in its unit.
func unitText(v float64, unit string) string {
	switch unit {
	case "s":
		return secondsText(v)
	case "1/s":
		return rateText(v) + "/s"
	case "B":
		if v >= 0 {
			return humanize.IBytes(uint64(v))
		}
	case "":
		if math.Abs(v) < 10 {
			return trimZeros(fmt.Sprintf("%.3f", v), 2)
		}
	}
	return strings.TrimSpace(rateText(v) + " " + unit)
}

// trimZeros drops trailing zeros but keeps at least n decimals.
func trimZeros(s string, n int) string {
	dot := strings.IndexByte(s, '.')
	for len(s)-dot-1 > n && strings.HasSuffix(s, "0") {
		s = s[:len(s)-1]
	}
	return strings.TrimSuffix(s, ".")
}

// rateText writes operations per second: thousands separated, fewer decimals the larger it is.
func rateText(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "n/a"
	case a >= 100:
		return humanize.Comma(int64(math.Round(v)))
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	case a >= 0.01 || v == 0:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.2g", v)
}

// secondsText writes a short time with three figures: 1.23 ms, 456 µs, 12.3 s.
func secondsText(s float64) string {
	a := math.Abs(s)
	switch {
	case a == 0:
		return "0 s"
	case a < 999.5e-9:
		return threeFigures(s*1e9) + " ns"
	case a < 999.5e-6:
		return threeFigures(s*1e6) + " µs"
	case a < 999.5e-3:
		return threeFigures(s*1e3) + " ms"
	}
	return threeFigures(s) + " s"
}

func threeFigures(v float64) string {
	switch a := math.Abs(v); {
	case a < 9.995:
		return fmt.Sprintf("%.2f", v)
	case a < 99.95:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// durationText writes a long time: 12s, 3m05s, 2h31m.
func durationText(s float64) string {
	n := int(math.Round(s))
	switch {
	case s < 9.95:
		return trimZeros(fmt.Sprintf("%.1f", s), 0) + "s"
	case n < 60:
		return fmt.Sprintf("%ds", n)
	case n < 3600:
		return fmt.Sprintf("%dm%02ds", n/60, n%60)
	}
	return fmt.Sprintf("%dh%02dm", n/3600, n%3600/60)
}

// percentText writes a fraction as a percentage: 1.2 %, 35 %.
func percentText(f float64) string {
	if math.Abs(f) < 0.0995 {
		return fmt.Sprintf("%.2g %%", f*100)
	}
	return fmt.Sprintf("%.0f %%", f*100)
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%s %ss", humanize.Comma(int64(n)), noun)
}

func median(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	s := append([]float64(nil), list...)
	sort.Float64s(s)
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}
