package store

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestSealedModes(t *testing.T) {
	tests := []struct {
		made         fs.FileMode
		open, hidden fs.FileMode // under an ordinary umask, and under 077
	}{
		{0o644, 0o444, 0o444},
		{0o755, 0o555, 0o555},
		{0o600, 0o400, 0o444},
		{0o700, 0o500, 0o555},
		{0o640, 0o444, 0o444},
		{0o666, 0o444, 0o444},
		{fs.ModeDir | 0o700, 0o555, 0o555},
		{fs.ModeDir | fs.ModeSticky | 0o777, 0o555, 0o555},
		{fs.ModeSetuid | 0o755, 0o555, 0o555},
	}
	for _, test := range tests {
		for hides, want := range map[bool]fs.FileMode{false: test.open, true: test.hidden} {
			if got := (&sealer{hides: hides}).sealed(test.made); got != want {
				t.Errorf("%v, hides=%v: %o, want %o", test.made, hides, got, want)
			}
		}
	}
}

// TestSpecialBitsGo: what is sealed has no setuid bit left on disk either.
func TestSpecialBitsGo(t *testing.T) {
	s := newTest(t)
	p, _, err := s.Create(t.Context(), Request{Key: key("k")})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(p.Dir, "su")
	if err := os.WriteFile(path, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, fs.ModeSetuid|fs.ModeSetgid|0o555); err != nil {
		t.Fatal(err)
	}
	e, err := p.Commit(t.Context(), Info{})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(e.Dir(), "su")); err != nil || info.Mode() != 0o555 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// TestOwnerIsTaken: what an unprivileged build made belongs to root in the end, every name of it.
func TestOwnerIsTaken(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("takes root, which alone can take what others own")
	}
	s := newTest(t)
	p, _, err := s.Create(t.Context(), Request{Key: key("k")})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, p.Dir, "k")
	give := func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, 65534, 65534)
	}
	if err := filepath.WalkDir(p.Dir, give); err != nil {
		t.Fatal(err)
	}
	e, err := p.Commit(t.Context(), Info{})
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(e.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if st, ok := info.Sys().(*syscall.Stat_t); err == nil && (!ok || st.Uid != 0 || st.Gid != 0) {
			t.Errorf("%s belongs to %d:%d", path, st.Uid, st.Gid)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
