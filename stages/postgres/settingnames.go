package postgres

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"pgpipeline/pipeline/proc"
)

// SettingNames returns the names of the settings that a configuration file for this server usually holds. Developer
// options are left out, so a name that is missing here may still exist; see CheckSettings.
func (i Install) SettingNames(ctx context.Context) ([]string, error) {
	var out bytes.Buffer
	err := proc.Run(ctx, proc.Cmd{
		Path: i.program("postgres"), Args: []string{"--describe-config"}, Env: proc.Environ(),
		Stdout: &out, Timeout: time.Minute,
	})
	if err != nil {
		return nil, fmt.Errorf("settings of server %s: %w", i.Version, err)
	}
	var names []string
	for line := range strings.Lines(out.String()) {
		if name, _, ok := strings.Cut(line, "\t"); ok {
			names = append(names, name)
		}
	}
	return names, nil
}

// nearest returns the name that was probably meant: the one with the fewest edits, when these are few for its length.
func nearest(name string, names []string) string {
	best, bestEdits := "", max(2, len(name)/4)+1
	for _, candidate := range names {
		if d := edits(strings.ToLower(name), candidate); d < bestEdits {
			best, bestEdits = candidate, d
		}
	}
	return best
}

// edits is the number of insertions, deletions and replacements between two names.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
