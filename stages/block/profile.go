package block

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"pgpipeline/stages/perf"
)

// profileTime is how long a server is profiled after its step; what is measured in that time is not counted.
const profileTime = 3 * time.Second

// profile runs the step on for a few seconds under perf and keeps the folded stacks. A profile that is not possible is a warning,
// never the end of a measurement; an error is that of the step itself.
func (c *collector) profile(ctx context.Context) error {
	if c.block.Profiles == "" {
		return nil
	}
	if c.step.FixedWork() {
		c.m.Warnings = append(c.m.Warnings, "no profile: the step ends with its work")
		return nil
	}
	name := fmt.Sprintf("%s.%s.block-%d.folded", safeName(c.step.Name), safeName(c.arm.Name), c.block.Number)
	pids := c.arm.usage.PIDs()
	if c.step.Kind.Tool != nil {
		pids = nil // its connections, and so the backends, are yet to come
	}
	recording, err := perf.Start(ctx, filepath.Join(c.block.Scratch, name+".data"), pids)
	if err != nil {
		c.m.Warnings = append(c.m.Warnings, "no profile: "+firstLine(err.Error()))
		return nil
	}
	result, err := sliceOf(ctx, c.step, c.session, profileTime, 0)
	path := filepath.Join(c.block.Profiles, name)
	perfErr := perf.WriteFile(path, func(w io.Writer) error { return recording.Stop(context.WithoutCancel(ctx), w) })
	if err != nil {
		return c.fail(result, err)
	}
	if perfErr != nil {
		c.m.Warnings = append(c.m.Warnings, "no profile: "+firstLine(perfErr.Error()))
		return nil
	}
	c.notes["profile"] = filepath.Join(filepath.Base(c.block.Profiles), name)
	return nil
}

// safeName keeps what is harmless in the name of a file.
func safeName(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._=-", r) {
			return r
		}
		return '-'
	}, s)
}
