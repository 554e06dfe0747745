package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestOpen(t *testing.T) {
	layout := func(text string) func(string) error {
		return func(dir string) error { return os.WriteFile(filepath.Join(dir, layoutFile), []byte(text), 0o644) }
	}
	tests := []struct {
		name    string
		prepare func(dir string) error
		kind    ErrorKind // "" for success
		want    string
	}{
		{"empty", func(string) error { return nil }, "", ""},
		{"missing", os.Remove, "", ""},
		{"first use cut short", func(dir string) error { return os.WriteFile(dir+"/LAYOUT.tmp-abc", nil, 0o644) }, "", ""},
		{"this layout", layout("pipeline cache, layout 1\n"), "", ""},
		{"newer layout", layout("pipeline cache, layout 2\n"), Layout, "written by a newer pipeline (layout 2; this one knows 1); upgrade"},
		{"older layout", layout("pipeline cache, layout 0\n"), Layout, "outdated layout 0; remove "},
		{"garbage", layout("\x00\x00"), Layout, "unreadable layout"},
		{"somebody's home", func(dir string) error { return os.WriteFile(dir+"/.bashrc", nil, 0o644) }, Layout, `not a cache: it holds ".bashrc"`},
		{"a file", func(dir string) error { return errors.Join(os.Remove(dir), os.WriteFile(dir, nil, 0o644)) }, Layout, "not a directory"},
		{"open to all", func(dir string) error { return os.Chmod(dir, 0o777) }, Permission, "everyone may write to it; chmod o-w "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(tempDir(t), "cache")
			if err := errors.Join(os.Mkdir(dir, 0o755), test.prepare(dir)); err != nil {
				t.Fatal(err)
			}
			_, err := Open(dir, Options{})
			var se *Error
			switch {
			case test.kind == "" && err != nil:
				t.Error(err)
			case test.kind != "" && (!errors.As(err, &se) || se.Kind != test.kind || !strings.Contains(err.Error(), test.want)):
				t.Errorf("error %v, want %s %q", err, test.kind, test.want)
			}
		})
	}
}

// TestOpenOfAnother: another user's directory could hold another user's programs.
func TestOpenOfAnother(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("takes root, which alone can give a directory away")
	}
	dir := tempDir(t)
	if err := os.Chown(dir, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	_, err := Open(dir, Options{})
	var se *Error
	if !errors.As(err, &se) || se.Kind != Permission || !strings.Contains(err.Error(), "it belongs to uid 65534, and you are uid 0") {
		t.Error(err)
	}
}

func TestDefaultDir(t *testing.T) {
	t.Setenv("PIPELINE_CACHE", "/somewhere/else")
	if dir, err := DefaultDir(); dir != "/somewhere/else" || err != nil {
		t.Errorf("%s, %v", dir, err)
	}
	t.Setenv("PIPELINE_CACHE", "")
	t.Setenv("XDG_CACHE_HOME", "/xdg")
	want := "/xdg/pipeline"
	if os.Geteuid() == 0 {
		want = "/var/cache/pipeline"
	}
	if dir, err := DefaultDir(); dir != want || err != nil {
		t.Errorf("%s, %v; want %s", dir, err, want)
	}
}

func TestReadOnlyOption(t *testing.T) {
	s := newTest(t)
	build(t, s, "k", Info{Kind: "k"})
	ro, err := Open(s.Dir(), Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := ro.Verify(t.Context(), key("k")); err != nil {
		t.Error(err)
	}
	_, _, err = ro.Create(t.Context(), Request{Key: key("new")})
	var se *Error
	if !errors.As(err, &se) || se.Kind != ReadOnly || !errors.Is(err, syscall.EROFS) {
		t.Errorf("Create: %v", err)
	}
	pins, err := ro.Pin(t.Context(), key("k"))
	if err != nil {
		t.Fatal(err)
	}
	pins.Close()
	if _, err := ro.GC(t.Context(), GCOptions{}); !errors.As(err, &se) || se.Kind != ReadOnly {
		t.Errorf("GC: %v", err)
	}
}

// TestVanished removes the whole cache under a live store: the next use makes it again, and one in progress says so.
func TestVanished(t *testing.T) {
	s := newTest(t)
	build(t, s, "k", Info{Kind: "k"})
	p, _, err := s.Create(t.Context(), Request{Key: key("pending"), Recipe: "pending"})
	if err != nil {
		t.Fatal(err)
	}
	if err := removeTree(s.Dir()); err != nil {
		t.Fatal(err)
	}
	var se *Error
	if err := p.Explain(errors.New("make: *** [all] Error 2")); !errors.As(err, &se) || se.Kind != Vanished {
		t.Errorf("Explain: %v", err)
	}
	if _, err := p.Commit(t.Context(), Info{}); !errors.As(err, &se) || se.Kind != Vanished {
		t.Errorf("Commit: %v", err)
	}
	if _, reason := s.Lookup(key("k")); reason.Text != "not in the cache" {
		t.Errorf("Lookup: %s", reason)
	}
	build(t, s, "k", Info{Kind: "k"})
}

func TestBadKeys(t *testing.T) {
	s := newTest(t)
	for _, k := range []string{"", "ab", "../../etc/passwd", strings.Repeat("A", 64), strings.Repeat("a", 63) + "/"} {
		if _, _, err := s.Create(t.Context(), Request{Key: k}); err == nil {
			t.Errorf("Create accepts %q", k)
		}
		if _, reason := s.Lookup(k); reason.OK() {
			t.Errorf("Lookup accepts %q", k)
		}
	}
}

// TestExplain leaves errors alone that have nothing to do with the disk.
func TestExplain(t *testing.T) {
	s := newTest(t)
	p, _, err := s.Create(t.Context(), Request{Key: key("k")})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Abort()
	plain := errors.New("make: *** [all] Error 2")
	if err := p.Explain(plain); err != plain {
		t.Errorf("plain error became %v", err)
	}
	var se *Error
	full := &os.PathError{Op: "write", Path: p.Dir + "/f", Err: syscall.ENOSPC}
	if err := p.Explain(full); !errors.As(err, &se) || se.Kind != Full || se.Path != full.Path {
		t.Errorf("ENOSPC became %v", err)
	}
}
