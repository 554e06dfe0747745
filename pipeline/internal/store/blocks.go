package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A block's file is named <16 hex of the evidence key>-<sequence>-<8 hex of its own sha256>.json: all blocks of the same
// evidence are found by reading directories alone, and one that was changed is recognised.

// evidencePrefix is how much of the evidence key is in the name.
const evidencePrefix = 16

// Block is one stored block.
type Block struct {
	Run  string
	Path string
	Data []byte
}

// AppendBlock stores a block under the next number. When it returns, the block survives anything.
func (r *Run) AppendBlock(evidenceKey string, data []byte) error {
	op := "store a block of run " + r.ID
	prefix, err := evidenceName(evidenceKey)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	dir := filepath.Join(r.Dir, "blocks")
	if r.next[prefix] == 0 {
		if r.next[prefix], err = nextSequence(dir, prefix); err != nil {
			return runError(op, dir, err, 0)
		}
	}
	path := filepath.Join(dir, fmt.Sprintf("%s-%06d-%s.json", prefix, r.next[prefix], sumText(data)[:8]))
	if err := writeAtomic(r.runs.fs, path, data, 0o444); err != nil {
		return runError(op, path, err, len(data))
	}
	r.next[prefix]++
	return nil
}

func evidenceName(key string) (string, error) {
	if len(key) < evidencePrefix || strings.Trim(key[:evidencePrefix], "0123456789abcdef") != "" {
		return "", fmt.Errorf("evidence key %q: not a lower-case sha256", key)
	}
	return key[:evidencePrefix], nil
}

func nextSequence(dir, prefix string) (int, error) {
	names, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	next := 1
	for _, d := range names {
		if n, _, ok := blockName(d.Name(), prefix); ok {
			next = max(next, n+1)
		}
	}
	return next, nil
}

// blockName takes the name of a block's file apart.
func blockName(name, prefix string) (sequence int, sum string, ok bool) {
	rest, ok := strings.CutPrefix(name, prefix+"-")
	if !ok {
		return 0, "", false
	}
	rest, ok = strings.CutSuffix(rest, ".json")
	number, sum, cut := strings.Cut(rest, "-")
	sequence, err := strconv.Atoi(number)
	return sequence, sum, ok && cut && err == nil && len(sum) == 8
}

// Blocks calls each with the blocks of all runs that have the same first 16 digits of evidence key, in the order of run ids
// and then of their measuring; the caller compares the whole key. One at a time, because those of a week are hundreds of
// megabytes. A damaged block is left out and named in damage.
func (r *Runs) Blocks(evidenceKey string, each func(Block)) (damage []string, err error) {
	prefix, err := evidenceName(evidenceKey)
	if err != nil {
		return nil, err
	}
	ids, err := r.ids()
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		dir := filepath.Join(r.dir, "runs", id, "blocks")
		names, err := os.ReadDir(dir) // sorted: by sequence
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, runError("read blocks", dir, err, 0)
		}
		for _, d := range names {
			_, sum, ok := blockName(d.Name(), prefix)
			if !ok {
				continue
			}
			path := filepath.Join(dir, d.Name())
			data, err := os.ReadFile(path)
			if err != nil || sumText(data)[:8] != sum {
				damage = append(damage, fmt.Sprintf("block %s is damaged and was left out", path))
				continue
			}
			each(Block{Run: id, Path: path, Data: data})
		}
	}
	return damage, nil
}
