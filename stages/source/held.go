package source

import (
	"io"
	"os"
	"path/filepath"
	"sync"
)

// Held keeps files that Resolve had to download to learn their checksum, so that the Fetch which follows in the same
// process need not download them again. The files have no name, so that nothing is left behind however the process ends.
type Held struct {
	mu    sync.Mutex
	files map[string]*os.File // by sha256
}

// keep takes over the file at path, which must be complete and verified. An error only means that it is not kept.
func (h *Held) keep(sha256, path string) {
	if h == nil {
		return
	}
	f, err := os.Open(path)
	if err != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.files == nil {
		h.files = map[string]*os.File{}
	}
	if old := h.files[sha256]; old != nil {
		old.Close()
	}
	h.files[sha256] = f
	os.Remove(path)
}

// take copies a kept file into dir under the given name; "" when there is none. It is kept for other stages that want it.
func (h *Held) take(sha256, dir, name string) string {
	if h == nil || sha256 == "" {
		return ""
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.files[sha256]
	if f == nil {
		return ""
	}
	st, err := f.Stat()
	if err != nil {
		return ""
	}
	path := filepath.Join(dir, name)
	out, err := os.Create(path)
	if err != nil {
		return ""
	}
	_, err = io.Copy(out, io.NewSectionReader(f, 0, st.Size()))
	if closeErr := out.Close(); err != nil || closeErr != nil {
		os.Remove(path)
		return ""
	}
	return path
}

// Close forgets everything.
func (h *Held) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for sum, f := range h.files {
		f.Close()
		delete(h.files, sum)
	}
}
