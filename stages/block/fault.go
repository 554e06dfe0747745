package block

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"pgpipeline/pipeline/engine"
	"pgpipeline/stages/driver"
	"pgpipeline/stages/postgres"
)

// blame says whose fault an error is: the variant's own, or something outside. What the user stopped is nobody's fault.
func (b *block) blame(a *arm, err error) error {
	var known *engine.SideError
	if errors.As(err, &known) || errors.Is(err, context.Canceled) {
		return err
	}
	side := "candidate:" + a.Name
	if a.Base {
		side = "base"
	}
	var lines []string
	if a.server != nil {
		if died := a.server.Died(); died != nil {
			err = fmt.Errorf("%w: %w", err, died)
		}
		lines = a.server.Severe()
	}
	if outsideCause(err, lines) {
		side = "outside"
	}
	for _, l := range lines {
		if !strings.Contains(err.Error(), l) {
			err = fmt.Errorf("%w\n  %s", err, l)
		}
	}
	return &engine.SideError{Side: side, Err: err}
}

// outsideCause recognises what a server does not do to itself: it was told to stop, it or one of its processes was killed (the
// kernel does so when memory runs out), an administrator ended a backend, the disk is full.
func outsideCause(err error, log []string) bool {
	var sql *driver.ServerError
	if errors.As(err, &sql) {
		switch sql.Code {
		case "57P01", "53100", "53200": // admin_shutdown, disk_full, out_of_memory
			return true
		}
	}
	var place *postgres.PlaceError
	if errors.As(err, &place) {
		return true
	}
	text := err.Error() + "\n" + strings.Join(log, "\n")
	for _, sign := range []string{"signal 9", "signal: killed", "administrator command", "received fast shutdown", "received smart shutdown",
		"received immediate shutdown", "No space left on device"} {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return false
}

func isOutside(err error) bool {
	var side *engine.SideError
	return !errors.As(err, &side) || side.Side == "outside"
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
