package sqlscript

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"pgpipeline/stages/driver"
)

// Weighted is a script and how often it is chosen, relative to the others.
type Weighted struct {
	Script *Script
	Weight int // at least 1
}

// Mix is what a step runs: for each event one of its scripts by weight.
type Mix struct {
	Scripts []Weighted
	// Set gives variables a value before the first event.
	Set map[string]string
}

// Automatic are the variables that exist without being set.
var Automatic = []string{"client_id", "random_seed", "rows", "scale", "tables"}

// Check finds variables that nothing sets. A variable that a script sets further down, or another script, counts: it may be
// meant to live on from event to event, as in pgbench.
func (m *Mix) Check() error {
	known := map[string]bool{}
	for _, name := range Automatic {
		known[name] = true
	}
	for name := range m.Set {
		if !isName(name) {
			return fmt.Errorf("%q is not a variable's name", name)
		}
		known[name] = true
	}
	for _, w := range m.Scripts {
		for _, c := range w.Script.commands {
			if c.set != "" {
				known[c.set] = true
			}
		}
	}
	for _, w := range m.Scripts {
		if err := w.Script.unknown(known); err != nil {
			return err
		}
	}
	return nil
}

func (s *Script) unknown(known map[string]bool) (err error) {
	for _, c := range s.commands {
		look := func(name string) {
			if !known[name] && err == nil {
				err = &Error{s.Name, c.line, fmt.Sprintf("variable :%s is set nowhere; there are %v besides those of the scripts", name, Automatic)}
			}
		}
		for _, name := range c.params {
			look(name)
		}
		if c.expr != nil {
			c.expr.variables(look)
		}
	}
	return err
}

// Operations name the latencies of the scripts; nil when there is only one.
func (m *Mix) Operations() []string {
	if len(m.Scripts) < 2 {
		return nil
	}
	names := make([]string, len(m.Scripts))
	for i, w := range m.Scripts {
		names[i] = w.Script.Name
	}
	return names
}

// Program is what one client does. auto are the values of the automatic variables.
func (m *Mix) Program(auto map[string]int64) driver.Program {
	c := &compiler{slots: map[string]int{}}
	for _, name := range slices.Sorted(maps.Keys(auto)) {
		c.set(name, intValue(auto[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(m.Set)) {
		c.set(name, parseValue(m.Set[name]))
	}
	events := make([]func(*driver.Client) error, len(m.Scripts))
	total := 0
	var ends []int64 // running sums of the weights
	run := &state{}
	for i, w := range m.Scripts {
		events[i] = c.script(w.Script, run)
		total += w.Weight
		ends = append(ends, int64(total))
	}
	run.variables = c.values
	p := driver.Program{Statements: c.statements, Operations: m.Operations(), Event: events[0]}
	if len(events) > 1 {
		p.Event = func(client *driver.Client) error {
			draw := client.Rand.Below(int64(total))
			i := 0
			for draw >= ends[i] {
				i++
			}
			client.Operation(i)
			return events[i](client)
		}
	}
	return p
}

// state is what a client remembers between events.
type state struct {
	variables []value
	buffer    []byte
}

type compiler struct {
	slots      map[string]int
	values     []value
	statements []driver.Statement
}

func (c *compiler) slot(name string) int {
	i, ok := c.slots[name]
	if !ok {
		i = len(c.values)
		c.slots[name] = i
		c.values = append(c.values, value{})
	}
	return i
}

func (c *compiler) set(name string, v value) { c.values[c.slot(name)] = v }

// script makes the event of one script.
func (c *compiler) script(s *Script, run *state) func(*driver.Client) error {
	steps := make([]func(*driver.Client) error, len(s.commands))
	for i, cmd := range s.commands {
		switch {
		case cmd.sql != "":
			steps[i] = c.statement(cmd, run)
		case cmd.set != "":
			steps[i] = c.assignment(s, cmd, run)
		default:
			steps[i] = c.pause(s, cmd, run)
		}
	}
	return func(client *driver.Client) error {
		for _, step := range steps {
			if err := step(client); err != nil {
				return err
			}
		}
		return nil
	}
}

func (c *compiler) statement(cmd command, run *state) func(*driver.Client) error {
	index := len(c.statements)
	c.statements = append(c.statements, driver.Statement{SQL: cmd.sql, Params: make([]uint32, len(cmd.params)), TextParams: true})
	slots := make([]int, len(cmd.params))
	for i, name := range cmd.params {
		slots[i] = c.slot(name)
	}
	return func(client *driver.Client) error {
		client.Bind(index)
		for _, slot := range slots {
			v := run.variables[slot]
			if v.kind == 0 {
				client.Null()
				continue
			}
			run.buffer = v.append(run.buffer[:0])
			client.Text(run.buffer)
		}
		return client.Exec()
	}
}

func (c *compiler) assignment(s *Script, cmd command, run *state) func(*driver.Client) error {
	expr, slot := cmd.expr.bind(c.slot), c.slot(cmd.set)
	return func(client *driver.Client) error {
		v, err := expr.eval(run.variables, &client.Rand)
		if err != nil {
			return &Error{s.Name, cmd.line, fmt.Sprintf(`\set %s: %v`, cmd.set, err)}
		}
		run.variables[slot] = v
		return nil
	}
}

// maxSleep keeps a slice from waiting for a client that sleeps on.
const maxSleep = 10 * time.Second

func (c *compiler) pause(s *Script, cmd command, run *state) func(*driver.Client) error {
	expr := cmd.expr.bind(c.slot)
	return func(client *driver.Client) error {
		v, err := expr.eval(run.variables, &client.Rand)
		amount := 0.0
		if err == nil {
			amount, err = v.double()
		}
		wait := time.Duration(amount * float64(cmd.unit))
		if err == nil && (wait < 0 || wait > maxSleep) {
			err = fmt.Errorf("%v is not between 0 and %v", wait, maxSleep)
		}
		if err != nil {
			return &Error{s.Name, cmd.line, fmt.Sprintf(`\sleep: %v`, err)}
		}
		time.Sleep(wait)
		return nil
	}
}
