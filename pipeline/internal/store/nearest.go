package store

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// The index of one kind is a file with a line per entry: key, and the 32-bit hashes of its recipe's lines, sorted, in
// base64. Ten thousand entries are some megabytes, read once per process, where reading ten thousand recipes would take
// seconds. It only helps to explain misses: it may be lost, hold torn lines, or name entries that are gone.

// nearestIndex is what this process has read of the index files.
type nearestIndex struct {
	mu    sync.Mutex
	kinds map[string]*kindIndex
}

type kindIndex struct {
	size    int64 // of the file when it was read
	modTime time.Time
	entries []indexEntry // oldest first
}

type indexEntry struct {
	key   string
	lines []uint32
}

// Nearest finds, among the entries of a kind, the one whose recipe differs from the given one in the fewest lines, the
// youngest of several. It reports false when the cache has no entry of that kind.
func (s *Store) Nearest(kind, recipe string) (key, nearest string, ok bool) {
	index := s.loadIndex(kind)
	if len(index) == 0 {
		return "", "", false
	}
	want := hashLines(recipe)
	gone := map[string]bool{} // trimmed or damaged since
	for len(gone) < len(index) {
		key := closest(index, want, gone)
		if e, reason := s.Lookup(key); reason.OK() {
			if text, err := e.Recipe(); err == nil {
				return key, text, true
			}
		}
		gone[key] = true
	}
	return "", "", false
}

// closest goes from the youngest to the oldest, so that of equals the youngest wins.
func closest(index []indexEntry, want []uint32, gone map[string]bool) string {
	best, key := math.MaxInt, ""
	for _, e := range slices.Backward(index) {
		if gone[e.key] {
			continue
		}
		if d := distance(want, e.lines, best); d < best {
			best, key = d, e.key
		}
	}
	return key
}

// Difference lists the lines that only one of two recipes has, each in its own order.
func Difference(old, new string) (removed, added []string) {
	return onlyIn(old, new), onlyIn(new, old)
}

func onlyIn(a, b string) []string {
	count := map[string]int{}
	for line := range strings.Lines(b) {
		count[strings.TrimSuffix(line, "\n")]++
	}
	var only []string
	for line := range strings.Lines(a) {
		line = strings.TrimSuffix(line, "\n")
		if count[line]--; count[line] < 0 {
			only = append(only, line)
		}
	}
	return only
}

func hashLines(recipe string) []uint32 {
	var hashes []uint32
	for line := range strings.Lines(recipe) {
		h := fnv.New32a()
		_, _ = h.Write([]byte(strings.TrimSuffix(line, "\n")))
		hashes = append(hashes, h.Sum32())
	}
	slices.Sort(hashes)
	return hashes
}

// distance counts the elements of two sorted lists that have no partner in the other. It gives up at limit.
func distance(a, b []uint32, limit int) int {
	single, i, j := 0, 0, 0
	for i < len(a) && j < len(b) && single < limit {
		switch {
		case a[i] == b[j]:
			i++
			j++
		case a[i] < b[j]:
			single++
			i++
		default:
			single++
			j++
		}
	}
	return single + len(a) - i + len(b) - j
}

func (s *Store) indexPath(kind string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '_'
	}, kind)
	return s.path(indexDir, name)
}

// addToIndex appends an entry. A failure is not worth losing the entry for: GC finds what is missing.
func (s *Store) addToIndex(e *Entry, recipe string) {
	_ = s.fs.Append(s.indexPath(e.Kind), formatIndexLine(e.Key, hashLines(recipe)))
}

// formatIndexLine begins with a line feed, so that a torn line before it costs only itself.
func formatIndexLine(key string, hashes []uint32) []byte {
	raw := make([]byte, 0, 4*len(hashes))
	for _, h := range hashes {
		raw = binary.LittleEndian.AppendUint32(raw, h)
	}
	return fmt.Appendf(nil, "\n%s %s.\n", key, base64.StdEncoding.EncodeToString(raw))
}

func parseIndexLine(line []byte) (indexEntry, bool) {
	key, text, ok := bytes.Cut(line, []byte(" "))
	if !ok || checkKey(string(key)) != nil || !bytes.HasSuffix(text, []byte(".")) {
		return indexEntry{}, false
	}
	raw, err := base64.StdEncoding.DecodeString(string(text[:len(text)-1]))
	if err != nil || len(raw)%4 != 0 {
		return indexEntry{}, false
	}
	lines := make([]uint32, len(raw)/4)
	for i := range lines {
		lines[i] = binary.LittleEndian.Uint32(raw[4*i:])
	}
	if !slices.IsSorted(lines) {
		return indexEntry{}, false
	}
	return indexEntry{string(key), lines}, true
}

// loadIndex returns the index of a kind, read again when the file has changed.
func (s *Store) loadIndex(kind string) []indexEntry {
	path := s.indexPath(kind)
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	s.nearest.mu.Lock()
	defer s.nearest.mu.Unlock()
	known := s.nearest.kinds[path]
	if known != nil && known.size == info.Size() && known.modTime.Equal(info.ModTime()) {
		return known.entries
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	known = &kindIndex{size: info.Size(), modTime: info.ModTime(), entries: parseIndex(data)}
	if s.nearest.kinds == nil {
		s.nearest.kinds = map[string]*kindIndex{}
	}
	s.nearest.kinds[path] = known
	return known.entries
}

// parseIndex keeps the last line of each key.
func parseIndex(data []byte) []indexEntry {
	var entries []indexEntry
	at := map[string]int{}
	for line := range bytes.Lines(data) {
		e, ok := parseIndexLine(bytes.TrimSuffix(line, []byte("\n")))
		if !ok {
			continue
		}
		if i, seen := at[e.key]; seen {
			entries[i].key = ""
		}
		at[e.key] = len(entries)
		entries = append(entries, e)
	}
	return slices.DeleteFunc(entries, func(e indexEntry) bool { return e.key == "" })
}

// rebuildIndex writes the index of every kind anew from what is there, when it differs in its keys. The caller holds the
// exclusive gc lock; an entry committed meanwhile may be missing until the next time.
func (s *Store) rebuildIndex(list []*Entry) {
	byKind := map[string][]*Entry{}
	for _, e := range list {
		byKind[e.Kind] = append(byKind[e.Kind], e)
	}
	for kind, entries := range byKind {
		known := map[string]bool{}
		for _, e := range s.loadIndex(kind) {
			known[e.key] = true
		}
		same := len(known) == len(entries)
		for _, e := range entries {
			same = same && known[e.Key]
		}
		if !same {
			s.writeIndex(kind, entries)
		}
	}
}

func (s *Store) writeIndex(kind string, entries []*Entry) {
	slices.SortFunc(entries, func(a, b *Entry) int { return a.Created.Compare(b.Created) })
	var data []byte
	for _, e := range entries {
		if recipe, err := e.Recipe(); err == nil {
			data = append(data, formatIndexLine(e.Key, hashLines(recipe))...)
		}
	}
	_ = writeAtomic(s.fs, s.indexPath(kind), data, 0o644) // an old index is better than none
}
