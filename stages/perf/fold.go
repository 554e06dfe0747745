package perf

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Fold reads the output of `perf script -F comm,ip,sym`: for each sample a line with the command, then a line for each frame from
// the innermost outwards, then an empty line. It returns stacks and how often each was seen.
func Fold(text string) map[string]int {
	stacks := map[string]int{}
	var frames []string
	command := ""
	flush := func() {
		if command != "" {
			slices.Reverse(frames)
			stacks[strings.Join(append([]string{command}, frames...), ";")]++
		}
		command, frames = "", nil
	}
	for _, line := range strings.Split(text, "\n") {
		switch {
		case strings.TrimSpace(line) == "":
			flush()
		case line[0] != ' ' && line[0] != '\t':
			flush()
			command = clean(line)
		default:
			frames = append(frames, frame(line))
		}
	}
	flush()
	return stacks
}

// frame is the function of a line "ADDRESS NAME".
func frame(line string) string {
	_, name, ok := strings.Cut(strings.TrimSpace(line), " ")
	if !ok || strings.TrimSpace(name) == "" {
		return "[unknown]"
	}
	return clean(name)
}

// clean keeps the separators of the format out of names.
func clean(name string) string {
	return strings.NewReplacer(";", ":", " ", "_").Replace(strings.TrimSpace(name))
}

// Text writes stacks in the folded format, sorted.
func Text(stacks map[string]int) string {
	var b strings.Builder
	for _, stack := range slices.Sorted(maps.Keys(stacks)) {
		fmt.Fprintf(&b, "%s %d\n", stack, stacks[stack])
	}
	return b.String()
}
