package lang

import (
	"fmt"
	"slices"
	"strings"
)

// DidYouMean returns `did you mean "x"?` for the known name nearest to what was written, or "" when none is near.
func DidYouMean(written string, known []string) string {
	if near := Nearest(written, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}

// Nearest returns the known name that takes the fewest edits to reach, or "" when that takes more than a third of its
// letters. Of equals the first in the alphabet wins, so that messages do not depend on the order of a map.
func Nearest(written string, known []string) string {
	sorted := slices.Sorted(slices.Values(known))
	best, bestCost := "", 0
	for _, name := range sorted {
		cost := editDistance(strings.ToLower(written), strings.ToLower(name))
		if best == "" || cost < bestCost {
			best, bestCost = name, cost
		}
	}
	if best == "" || bestCost > max(1, max(len(best), len(written))/3) {
		return ""
	}
	return best
}

// editDistance counts insertions, deletions, replacements and swaps of neighbours (optimal string alignment), because a
// swap is the commonest slip of the keyboard.
func editDistance(a, b string) int {
	before, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		before, prev, cur = prev, cur, before
	}
	return prev[len(b)]
}
