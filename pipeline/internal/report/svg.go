package report

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// svg writes one inline picture. gonum/plot was looked at and left: its pictures carry their own fonts and fixed colours, so they do not
// follow a page that is light, dark or printed, they have no text for screen readers, and a page with a hundred of them is several times larger
// than one whose style sheet is said once. What is drawn here are rectangles, lines and words.
//
// Colours come from the page's style sheet by class: v0 is the base, v1 and on the candidates.
type svg struct {
	b             strings.Builder
	width, height float64
}

// newSVG begins a picture that a screen reader calls label. Sizes are in CSS pixels.
func newSVG(width, height float64, label string) *svg {
	s := &svg{width: width, height: height}
	fmt.Fprintf(&s.b, `<svg role="img" aria-label="%s" viewBox="0 0 %s %s" width="%s" height="%s">`,
		html.EscapeString(clean(label)), num(width), num(height), num(width), num(height))
	return s
}

// done ends the picture.
func (s *svg) done() template.HTML {
	s.b.WriteString("</svg>")
	return template.HTML(s.b.String()) // every text in it passed EscapeString
}

func (s *svg) rect(x, y, w, h float64, class string) {
	fmt.Fprintf(&s.b, `<rect x="%s" y="%s" width="%s" height="%s" class="%s"/>`, num(x), num(y), num(max(w, 0)), num(max(h, 0)), class)
}

func (s *svg) line(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(&s.b, `<path d="M%s %sL%s %s" class="%s"/>`, num(x1), num(y1), num(x2), num(y2), class)
}

func (s *svg) circle(x, y, r float64, class string) {
	fmt.Fprintf(&s.b, `<circle cx="%s" cy="%s" r="%s" class="%s"/>`, num(x), num(y), num(r), class)
}

// arrow points down from a place.
func (s *svg) arrow(x, y float64, class string) {
	fmt.Fprintf(&s.b, `<path d="M%s %sh8l-4 6z" class="%s"/>`, num(x-4), num(y), class)
}

// text writes at a point; class says how it is anchored.
func (s *svg) text(x, y float64, class, text string) {
	fmt.Fprintf(&s.b, `<text x="%s" y="%s" class="%s">%s</text>`, num(x), num(y), class, html.EscapeString(clean(text)))
}

// turned writes text turned by degrees around its point.
func (s *svg) turned(x, y, degrees float64, class, text string) {
	fmt.Fprintf(&s.b, `<text transform="translate(%s %s)rotate(%s)" class="%s">%s</text>`, num(x), num(y), num(degrees), class, html.EscapeString(clean(text)))
}

// group wraps what draw writes, with a title that a pointer shows and a screen reader reads.
func (s *svg) group(title string, draw func()) {
	fmt.Fprintf(&s.b, `<g><title>%s</title>`, html.EscapeString(clean(title)))
	draw()
	s.b.WriteString("</g>")
}

type point struct{ x, y float64 }

// polyline draws through the points with relative moves, which keeps a page with 50,000 points small.
func (s *svg) polyline(points []point, class string) {
	if len(points) == 0 {
		return
	}
	s.b.WriteString(`<path d="M` + num(points[0].x) + " " + num(points[0].y) + "l")
	x, y := round1(points[0].x), round1(points[0].y)
	for _, p := range points[1:] {
		dx, dy := round1(round1(p.x)-x), round1(round1(p.y)-y)
		x, y = round1(x+dx), round1(y+dy)
		s.b.WriteString(num(dx) + pairSep(dy) + num(dy) + " ")
	}
	s.b.WriteString(`" class="` + class + `"/>`)
}

// pairSep is nothing before a minus, which separates by itself.
func pairSep(next float64) string {
	if next < 0 {
		return ""
	}
	return " "
}

func round1(v float64) float64 { return math.Round(v*10) / 10 }

// num writes a coordinate: a tenth of a pixel is finer than any screen.
func num(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "0"
	}
	text := strconv.FormatFloat(round1(v), 'f', -1, 64)
	if text == "-0" {
		return "0"
	}
	return text
}

// scale maps values to pixels, linearly or by logarithm.
type scale struct {
	lo, hi   float64 // values
	from, to float64 // pixels
	log      bool
}

// at is the pixel of v, kept inside the scale.
func (s scale) at(v float64) float64 {
	lo, hi := s.lo, s.hi
	if s.log {
		lo, hi, v = math.Log(lo), math.Log(hi), math.Log(max(v, s.lo))
	}
	if hi <= lo {
		return s.from
	}
	f := max(0, min(1, (v-lo)/(hi-lo)))
	return s.from + f*(s.to-s.from)
}

// ticks returns round values for about n marks of a linear scale, or the powers of ten of a logarithmic one.
func (s scale) ticks(n int) []float64 {
	if s.log {
		return s.powers()
	}
	var list []float64
	step := niceStep((s.hi - s.lo) / float64(max(n, 1)))
	if step <= 0 {
		return []float64{s.lo}
	}
	for i := math.Ceil(s.lo/step - 1e-9); i*step <= s.hi+step*1e-6; i++ {
		list = append(list, i*step+0) // a sum is never minus zero
	}
	return list
}

// powers are the powers of ten on a logarithmic scale; on one that has few, twice and five times them as well.
func (s scale) powers() []float64 {
	steps := []float64{1}
	if s.hi < 30*s.lo {
		steps = []float64{1, 2, 5}
	}
	var list []float64
	for p := math.Floor(math.Log10(s.lo)); p <= math.Log10(s.hi); p++ {
		for _, m := range steps {
			if v := m * math.Pow(10, p); v >= s.lo*(1-1e-9) && v <= s.hi*(1+1e-9) {
				list = append(list, v)
			}
		}
	}
	return list
}

// niceStep is 1, 2 or 5 times a power of ten, at least v.
func niceStep(v float64) float64 {
	if v <= 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0
	}
	p := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if m*p >= v*(1-1e-9) {
			return m * p
		}
	}
	return 10 * p
}
