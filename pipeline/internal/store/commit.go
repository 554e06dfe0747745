package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// syncEachBelow is the number of files up to which each is synced by itself. Beyond it one sync of the whole file system
// is faster by far (a source tree has 7,000 files), at the price of waiting for other people's writes too.
const syncEachBelow = 32

// Commit makes the entry: it seals and hashes what is in Dir, writes recipe, manifest and meta beside it, makes all of it
// durable and then moves it to its key in one step. If it returns an error the entry is absent (or, when only the very
// last sync failed, whole) and everything pending is removed. ctx ends the hashing.
func (p *Pending) Commit(ctx context.Context, info Info) (*Entry, error) {
	if p.lock == nil {
		return nil, errors.New("commit: the entry is already committed or aborted")
	}
	defer p.Abort()
	e, err := p.commit(ctx, info)
	if err != nil {
		return nil, p.commitError(err, e)
	}
	p.store.addToIndex(e, p.request.Recipe)
	_ = p.store.fs.RemoveAll(p.root) // else the next sweep does
	p.release()
	return e, nil
}

func (p *Pending) commit(ctx context.Context, info Info) (*Entry, error) {
	e := &Entry{Info: info, Key: p.request.Key, ID: randomText(16), Created: p.store.now().UTC().Truncate(time.Millisecond)}
	seal := newSealer(p.store.fs, p.Dir)
	if err := seal.seal(); err != nil {
		return e, err
	}
	e.Files, e.Bytes, e.OutModTime = len(seal.nodes), seal.bytes, seal.nodes[0].modTime
	if err := fillSums(ctx, p.Dir, seal.nodes); err != nil {
		return e, err
	}
	if err := p.writeParts(e, formatManifest(seal.nodes)); err != nil {
		return e, err
	}
	if err := p.syncTree(seal.nodes); err != nil {
		return e, err
	}
	return e, p.publish(e)
}

func fillSums(ctx context.Context, dir string, nodes []node) error {
	var files []*node
	for i := range nodes {
		if nodes[i].kind == 'f' {
			files = append(files, &nodes[i])
		}
	}
	return hashFiles(ctx, dir, files, func(n *node, sum [32]byte, err error) error {
		n.sum = sum
		return err
	})
}

// writeParts writes what lies beside out/.
func (p *Pending) writeParts(e *Entry, manifest []byte) error {
	e.ManifestSum, e.RecipeSum = sumText(manifest), sumText([]byte(p.request.Recipe))
	meta, err := formatMeta(e)
	if err != nil {
		return err
	}
	parts := []struct {
		name string
		data []byte
	}{{"manifest", manifest}, {"recipe.txt", []byte(p.request.Recipe)}, {"meta", meta}, {"used", nil}}
	for _, part := range parts {
		if err := p.store.fs.WriteFile(filepath.Join(p.root, "entry", part.name), part.data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (p *Pending) syncTree(nodes []node) error {
	if len(nodes) > syncEachBelow {
		return p.store.fs.SyncAll(p.root)
	}
	entry := filepath.Join(p.root, "entry")
	for _, name := range []string{"manifest", "recipe.txt", "meta", "used"} {
		if err := p.store.fs.Sync(filepath.Join(entry, name)); err != nil {
			return err
		}
	}
	for _, n := range nodes {
		if n.kind == 'l' {
			continue // lives in its directory
		}
		if err := p.store.fs.Sync(filepath.Join(p.Dir, n.path)); err != nil {
			return err
		}
	}
	return p.store.fs.Sync(entry)
}

// publish puts the entry in its place; one that is there already is moved aside first.
func (p *Pending) publish(e *Entry) error {
	s := p.store
	e.root = s.entryPath(e.Key)
	parent := parentDir(e.root)
	if err := mkdirs(s.fs, parent, 0o755); err != nil {
		return err
	}
	if _, err := os.Lstat(e.root); !errors.Is(err, fs.ErrNotExist) {
		if err := s.setAside(e.Key); err != nil {
			return err
		}
	}
	if err := s.fs.Rename(filepath.Join(p.root, "entry"), e.root); err != nil {
		return err
	}
	return s.fs.Sync(parent)
}

// setAside takes an entry out of sight in one step, for good, and then removes it.
func (s *Store) setAside(key string) error {
	aside := s.path(asideDir, key+"-"+randomText(6))
	if err := s.fs.Rename(s.entryPath(key), aside); err != nil {
		return err
	}
	if err := s.fs.Sync(parentDir(s.entryPath(key))); err != nil {
		return err
	}
	_ = s.fs.RemoveAll(aside) // out of sight is what matters; the next sweep tries again
	return nil
}

func (p *Pending) commitError(err error, e *Entry) error {
	err = wrap("commit entry "+short(p.request.Key), p.root, err)
	var se *Error
	if errors.As(err, &se) && se.Kind == Full {
		se.Bytes = e.Bytes
	}
	if isContext(err) {
		return fmt.Errorf("commit entry %s: %w", short(p.request.Key), err)
	}
	return err
}
