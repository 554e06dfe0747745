package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
)

// errStop ends a hashing early without being an error itself.
var errStop = errors.New("stop")

// hashFiles computes the sha256 of files below dir on all CPUs, the largest first, and calls done for each, one at a time,
// in no order. It ends at the first error of done, or with that of ctx.
func hashFiles(ctx context.Context, dir string, files []*node, done func(n *node, sum [32]byte, err error) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	queue := slices.Clone(files)
	slices.SortStableFunc(queue, func(a, b *node) int { return cmp.Compare(b.size, a.size) })
	var mu sync.Mutex
	next := func() *node {
		mu.Lock()
		defer mu.Unlock()
		if len(queue) == 0 {
			return nil
		}
		n := queue[0]
		queue = queue[1:]
		return n
	}
	report := func(n *node, sum [32]byte, err error) {
		mu.Lock()
		defer mu.Unlock()
		if ctx.Err() != nil {
			return
		}
		if err := done(n, sum, err); err != nil {
			cancel(err)
		}
	}
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(queue)) {
		wg.Go(func() {
			buf := make([]byte, 256<<10)
			for n := next(); n != nil && ctx.Err() == nil; n = next() {
				sum, err := hashFile(ctx, filepath.Join(dir, n.path), buf)
				report(n, sum, err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

func hashFile(ctx context.Context, path string, buf []byte) (sum [32]byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	h := sha256.New()
	for {
		n, err := f.Read(buf)
		h.Write(buf[:n])
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return sum, err
		}
		if err := ctx.Err(); err != nil {
			return sum, err
		}
	}
	h.Sum(sum[:0])
	return sum, nil
}
