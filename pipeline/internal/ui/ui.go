// Package ui shows a run while it runs: a live tree on a terminal, plain lines in CI, JSON lines for programs. All three are
// renderings of the engine's stream of events; none of them knows what a stage does.
//
// The flow is one way: events are folded into a state (state.go); the tree (tree.go) is a pure function of state, time
// and width to lines; the painter (tty.go) puts these lines on the terminal; plain.go prints what changed. Read state.go first.
//
// The painter is ours, with lipgloss for styles and x/ansi for widths. Bubble Tea was tried and left: even without input and signals
// it asks the terminal questions (modes, capabilities) whose answers arrive on a standard input that nobody reads, and
// which then turn up as garbage on the user's prompt. All that is needed here is to move up some lines and write them again, which
// never touches the terminal's mode, so that there is nothing to restore after Ctrl-C, a crash or SIGKILL.
package ui

import (
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/colorprofile"
	"golang.org/x/term"

	"pgpipeline/pipeline/engine"
)

// Sink takes the events of a run and shows them. Event may be called from any goroutine and does not wait for a slow
// terminal longer than one write. Close shows the last state; it may be called twice.
type Sink interface {
	Event(engine.Event)
	Close()
}

// Modes are the values of --progress, and "json" for --json.
var Modes = []string{"auto", "tty", "plain", "json"}

// Experiment is what the events do not tell: what is run, and which variant each measuring node compares with.
type Experiment struct {
	Name  string
	Bases map[string]string // id of a measuring node -> name of its base
}

// New returns the sink for mode. "auto" is "tty" when w is a terminal that can move its cursor and this is not CI, else "plain".
// "tty" forces the tree, except on a dumb terminal. An unknown mode is "auto": flags are checked by who reads them.
func New(mode string, experiment Experiment, w io.Writer) Sink {
	switch mode {
	case "json":
		return newJSONLines(w)
	case "plain":
		return newPlain(w, experiment)
	case "tty":
		if os.Getenv("TERM") != "dumb" {
			return newTTY(w, lookFor(w), experiment)
		}
	default:
		if f, ok := w.(*os.File); ok && live(f, os.Getenv) {
			return newTTY(w, lookFor(w), experiment)
		}
	}
	return newPlain(w, experiment)
}

// live reports whether the tree can be shown on f: a terminal, not a dumb one, and nobody's build log.
func live(f *os.File, getenv func(string) string) bool {
	if !term.IsTerminal(int(f.Fd())) {
		return false
	}
	dumb := getenv("TERM") == "dumb" || getenv("TERM") == ""
	ci := getenv("CI") != "" && getenv("CI") != "false"
	return !dumb && !ci
}

// look is what the terminal can show.
type look struct {
	Color   bool
	Unicode bool
}

// lookFor finds out what w can show: NO_COLOR, TERM and the locale are respected.
func lookFor(w io.Writer) look {
	profile := colorprofile.Detect(w, os.Environ())
	return look{Color: profile >= colorprofile.ANSI && os.Getenv("NO_COLOR") == "", Unicode: unicodeLocale(os.Getenv)}
}

// unicodeLocale follows the precedence of POSIX. The Linux console's font lacks the block elements.
func unicodeLocale(getenv func(string) string) bool {
	if getenv("TERM") == "linux" {
		return false
	}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(getenv(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}
