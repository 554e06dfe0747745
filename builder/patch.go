package builder

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// patchSource makes j.source a copy with the patches applied; without patches the source itself is used. Patches run as the
// account too: a patch file is input.
func (j *job) patchSource(ctx context.Context) error {
	if len(j.Patches) == 0 {
		return nil
	}
	j.progress("patch", 0, float64(len(j.Patches)))
	copied := filepath.Join(j.Scratch, "source")
	if err := copyTree(ctx, j.Source, copied); err != nil {
		return fmt.Errorf("copy source for patches: %w", err)
	}
	if err := giveTo(copied, j.As); err != nil {
		return fmt.Errorf("copy source for patches: %w", err)
	}
	for i, text := range j.Patches {
		file := filepath.Join(j.tmp, fmt.Sprintf("patch-%d.diff", i+1))
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
		args := []string{"-p1", "--batch", "--forward", "--fuzz=0", "--no-backup-if-mismatch", "--input=" + file}
		if err := j.run(ctx, command{dir: copied, name: "patch", args: args}); err != nil {
			return fmt.Errorf("apply patch %d of %d: %w", i+1, len(j.Patches), err)
		}
	}
	j.source = copied
	return nil
}

// patchedGrammar says whether patches change what bison and flex read, so that both are needed even where the source brings
// their output along.
func patchedGrammar(patches []string) bool {
	for _, text := range patches {
		for line := range strings.Lines(text) {
			name, ok := strings.CutPrefix(line, "+++ ")
			name, _, _ = strings.Cut(strings.TrimRight(name, "\r\n"), "\t")
			if ok && (strings.HasSuffix(name, ".y") || strings.HasSuffix(name, ".l")) {
				return true
			}
		}
	}
	return false
}
