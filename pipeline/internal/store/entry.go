package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Info is what a stage's caller says about an entry; it is kept in the entry's meta file and comes back with every Lookup.
type Info struct {
	Kind     string            `json:"kind"`             // stage kind: Nearest and the index are by kind
	Label    string            `json:"label,omitempty"`  // for people: "build[pg=17.0]"
	Run      string            `json:"run,omitempty"`    // the run that made it
	Reason   string            `json:"reason,omitempty"` // why it was made: what `explain` says afterwards
	Seconds  float64           `json:"seconds"`          // how long that took; forecasts use it
	Needs    []string          `json:"needs,omitempty"`  // keys of its inputs: trimming keeps them with it
	Facts    map[string]string `json:"facts,omitempty"`
	Warnings []string          `json:"warnings,omitempty"`
}

// Entry is one finished directory.
type Entry struct {
	Info
	Key     string    `json:"key"`
	ID      string    `json:"id"` // differs between two makings of the same key
	Created time.Time `json:"created"`
	Files   int       `json:"files"`
	Bytes   int64     `json:"bytes"` // sum of the sizes of its files

	RecipeSum   string `json:"recipe_sha256"`
	ManifestSum string `json:"manifest_sha256"`
	OutModTime  int64  `json:"out_mtime"` // of out/, nanoseconds since 1970

	root string // entries/<kk>/<key>
}

// Dir is the read-only directory with what the stage made.
func (e *Entry) Dir() string { return filepath.Join(e.root, "out") }

// Recipe is the text that the key is made of.
func (e *Entry) Recipe() (string, error) {
	data, err := os.ReadFile(filepath.Join(e.root, "recipe.txt"))
	if err != nil {
		return "", wrap("read recipe", e.root, err)
	}
	if sumText(data) != e.RecipeSum {
		return "", fmt.Errorf("recipe of entry %s is damaged", short(e.Key))
	}
	return string(data), nil
}

// LastUsed is when a run last pinned the entry, to the minute.
func (e *Entry) LastUsed() time.Time {
	info, err := os.Stat(filepath.Join(e.root, "used"))
	if err != nil {
		return e.Created
	}
	return info.ModTime()
}

// Reason says why an entry cannot be used; the zero Reason says that it can.
type Reason struct {
	// Damaged entries exist and are not what they were. They are replaced when they are next made.
	Damaged bool
	Text    string
}

// OK reports that there is no reason not to use the entry.
func (r Reason) OK() bool { return r.Text == "" }

func (r Reason) String() string { return r.Text }

func damaged(format string, args ...any) Reason {
	return Reason{Damaged: true, Text: "damaged: " + fmt.Sprintf(format, args...)}
}

// Lookup finds the entry of a key with one small read and one stat, so that planning hundreds of nodes takes milliseconds.
// It changes nothing on disk. The files of the entry are looked at by Check, which callers use before they use the files.
// The entry is nil exactly if there is a reason.
func (s *Store) Lookup(key string) (*Entry, Reason) {
	if err := checkKey(key); err != nil {
		return nil, Reason{Text: err.Error()}
	}
	e, reason := readEntry(s.entryPath(key), key)
	if !reason.OK() {
		return nil, reason
	}
	return e, reason
}

// readEntry returns what can be read even of a damaged entry.
func readEntry(root, key string) (*Entry, Reason) {
	data, err := readSmall(root + "/meta")
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(root); err != nil {
			return nil, Reason{Text: "not in the cache"}
		}
		return nil, damaged("meta is missing")
	}
	if err != nil {
		return nil, damaged("meta: %v", cause(err))
	}
	e, err := parseMeta(data)
	if err != nil {
		return nil, damaged("meta: %v", err)
	}
	if e.Key != key {
		return nil, damaged("meta is of key %s", short(e.Key))
	}
	e.root = root
	info, err := os.Lstat(e.Dir())
	if err != nil || !info.IsDir() {
		return nil, damaged("its directory is missing")
	}
	if info.ModTime().UnixNano() != e.OutModTime {
		return e, checkTop(e)
	}
	return e, Reason{}
}

// readSmall reads a file of some kilobytes with three system calls where os.ReadFile takes seven: half of a lookup's time.
func readSmall(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	buf := make([]byte, 8<<10)
	n, err := unix.Read(fd, buf)
	if err != nil || n == len(buf) {
		return os.ReadFile(path) // interrupted, or larger
	}
	return buf[:n], nil
}

// checkTop looks at out/ when its time has changed, which a copied cache may show without any damage.
func checkTop(e *Entry) Reason {
	c, reason := e.newChecker()
	if reason.OK() {
		reason = c.list(".")
	}
	return reason
}

// The meta file is a line with the sha256 of the rest, and JSON: a flipped byte anywhere shows.
func formatMeta(e *Entry) ([]byte, error) {
	data, err := json.MarshalIndent(e, "", " ")
	if err != nil {
		return nil, fmt.Errorf("write meta of %s: %w", short(e.Key), err)
	}
	data = append(data, '\n')
	return append([]byte("sha256 "+sumText(data)+"\n"), data...), nil
}

func parseMeta(data []byte) (*Entry, error) {
	head, body, ok := bytes.Cut(data, []byte("\n"))
	if !ok || string(head) != "sha256 "+sumText(body) {
		return nil, errors.New("its checksum does not match")
	}
	var e Entry
	if err := json.Unmarshal(body, &e); err != nil {
		return nil, err
	}
	if err := checkKey(e.Key); err != nil {
		return nil, err
	}
	return &e, nil
}

func sumText(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
