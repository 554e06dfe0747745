package spec

import (
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// Accepted is a regression that somebody decided to live with.
type Accepted struct {
	Step   string `yaml:"step,required" doc:"name or glob of the steps"`
	Metric string `yaml:"metric,required" doc:"metric, such as relqps"`
	// Size is how much worse is accepted, as a fraction: 0.05 is 5 %.
	Size   float64 `yaml:"size,required" doc:"how much worse is accepted, as a fraction"`
	Reason string  `yaml:"reason,required" doc:"why"`
	Until  Date    `yaml:"until,required" doc:"last day on which it holds"`
	By     string  `yaml:"by,required" doc:"who decided"`
	Pos    Pos     `yaml:"-"`
}

// Ends is the first moment at which it no longer holds.
func (a Accepted) Ends() time.Time { return a.Until.Time.AddDate(0, 0, 1) }

// Date is a day, "2027-01-31".
type Date struct{ Time time.Time }

// Want says what a Date takes.
func (Date) Want() string { return "a date such as 2027-01-31" }

// Pattern is a regular expression for its texts.
func (Date) Pattern() string { return `^[0-9]{4}-[0-9]{2}-[0-9]{2}$` }

// UnmarshalText reads a date.
func (d *Date) UnmarshalText(text []byte) error {
	t, err := time.Parse(time.DateOnly, string(text))
	if err != nil {
		return fmt.Errorf("%s is not %s", quote(string(text)), d.Want())
	}
	d.Time = t
	return nil
}

// MarshalText writes a date.
func (d Date) MarshalText() ([]byte, error) { return []byte(d.Time.Format(time.DateOnly)), nil }

// LoadAccept reads a list of accepted regressions. A file that does not exist accepts none.
func LoadAccept(path string) ([]Accepted, error) {
	text, err := readRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", path, cause(err))
	}
	v, err := Parse(path, text)
	if err != nil {
		return nil, err
	}
	var list []Accepted
	if err := Decode(v, &list); err != nil {
		return nil, err
	}
	for i, item := range v.Items {
		list[i].Pos = item.Pos
	}
	return list, nil
}
