package source

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

const deb822 = `# comment
Types: deb
# http://snapshot.debian.org/archive
URIs: http://deb.debian.org/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb deb-src
URIs: http://deb.debian.org/debian-security
Suites: bookworm-security
Components: main contrib
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mQINBF
 -----END PGP PUBLIC KEY BLOCK-----

Enabled: no
Types: deb
URIs: http://example.org
Suites: bookworm
Components: main

Types: deb
URIs: https://apt.postgresql.org/pub/repos/apt
Suites: bookworm-pgdg
Components: main
`

const oneLine = `# see sources.list(5)
deb http://deb.debian.org/debian trixie main non-free-firmware
deb-src http://deb.debian.org/debian trixie main # source
deb [arch=amd64 signed-by=/usr/share/keyrings/x.gpg] http://security.debian.org/debian-security trixie-security main
deb [ trusted=yes ] file:/srv/mirror ./
`

func TestAptSources(t *testing.T) {
	got, err := parseDeb822(strings.NewReader(deb822))
	if err != nil || len(got) != 3 {
		t.Fatalf("%d entries (%v), want 3: %+v", len(got), err, got)
	}
	if want := (aptEntry{uris: []string{"http://deb.debian.org/debian"}, suites: []string{"bookworm", "bookworm-updates"},
		components: []string{"main"}, signedBy: "/usr/share/keyrings/debian-archive-keyring.gpg"}); !reflect.DeepEqual(got[0], want) {
		t.Errorf("first entry %+v", got[0])
	}
	again, err := parseDeb822(strings.NewReader(got[1].deb822()))
	if err != nil || !reflect.DeepEqual(again[0], got[1]) {
		t.Errorf("written and read again, %+v became %+v (%v)", got[1], again, err)
	}
	got, err = parseSourcesList(strings.NewReader(oneLine))
	if err != nil || len(got) != 4 {
		t.Fatalf("%d entries (%v), want 4: %+v", len(got), err, got)
	}
	if got[2].signedBy != "/usr/share/keyrings/x.gpg" || got[2].suites[0] != "trixie-security" {
		t.Errorf("third entry %+v", got[2])
	}
	if !got[3].trusted || got[3].suites[0] != "./" {
		t.Errorf("fourth entry %+v", got[3])
	}
	if _, err := parseSourcesList(strings.NewReader("deb http://x\n")); err == nil {
		t.Error("an entry without a suite was accepted")
	}
}

func TestAptSuites(t *testing.T) {
	entries, err := parseDeb822(strings.NewReader(deb822))
	if err != nil {
		t.Fatal(err)
	}
	suites := func(list []aptEntry) []string {
		var out []string
		for _, e := range list {
			out = append(out, e.suites...)
		}
		return out
	}
	for _, c := range []struct {
		suite      string
		main, more []string
	}{
		{"bookworm", []string{"bookworm"}, []string{"bookworm-updates", "bookworm-security"}},
		{"trixie", []string{"trixie"}, []string{"trixie-security"}},
		{"sid", []string{"sid"}, []string{"sid-security"}},
		{"bookworm-pgdg", []string{"bookworm-pgdg"}, nil},
	} {
		main, more := sourcesFor(entries, c.suite, "bookworm")
		if !slices.Equal(suites(main), c.main) || !slices.Equal(suites(more), c.more) {
			t.Errorf("%s: %q and %q, want %q and %q", c.suite, suites(main), suites(more), c.main, c.more)
		}
	}
}

func TestDebianVersions(t *testing.T) {
	ascending := []string{"9.6.24-1", "15~beta1-1", "15~rc1-1", "15-1", "15.3-0+deb12u1", "15.18-0+deb12u1", "15.18-0+deb12u2",
		"15.18-1", "15.20-0+deb12u1", "15.20a-1", "15.20+git-1", "1:1.0-1"}
	for i, a := range ascending {
		for k, b := range ascending {
			if got := cmp.Compare(compareDebian(a, b), 0); got != cmp.Compare(i, k) {
				t.Errorf("compare %q and %q: %d, want %d", a, b, got, cmp.Compare(i, k))
			}
		}
	}
	for in, want := range map[string]string{"15.18-0+deb12u1": "15.18", "1:2.3-4-5": "2.3-4", "248": "248"} {
		if got := upstreamVersion(in); got != want {
			t.Errorf("upstream version of %q is %q, want %q", in, got, want)
		}
	}
}

func TestAptProxy(t *testing.T) {
	for shell, want := range map[string]string{
		"":                                       "",
		"ALL='http://cache:3142/'\n":             "http://cache:3142/",
		"ONE='DIRECT'\nALL='http://cache:3142'":  "",
		"ONE='http://one:1'\nALL='http://two:2'": "http://one:1",
	} {
		got, err := aptProxy(shell)
		if err != nil || fmt.Sprint(got) != want && !(got == nil && want == "") {
			t.Errorf("%q: proxy %v (%v), want %q", shell, got, err, want)
		}
	}
}

// mirror makes a package archive that the test's apt trusts, with one tarball per version; those that are listed in gone
// are in the index only. It returns the data of the tarballs.
func mirror(t *testing.T, suite string, gone []string, versions ...string) map[string][]byte {
	t.Helper()
	dir := t.TempDir()
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) { // apt reads it as its own user
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	data := map[string][]byte{}
	var index strings.Builder
	for _, v := range versions {
		up := upstreamVersion(v)
		orig := gzipped(t, tarOf(t, entry{name: "pg-" + up + "/VERSION", body: up}))
		data[up] = orig
		listed := func(name string, body []byte) string {
			if !slices.Contains(gone, v) {
				write(t, filepath.Join(dir, "pool", name), string(body))
			}
			return fmt.Sprintf(" %x %d %s\n", sha256.Sum256(body), len(body), name)
		}
		fmt.Fprintf(&index, "Package: pg\nVersion: %s\nFormat: 3.0 (quilt)\nDirectory: pool\nChecksums-Sha256:\n%s%s%s\n", v,
			listed("pg_"+v+".dsc", []byte("dsc")), listed("pg_"+up+".orig.tar.gz", orig), listed("pg_"+v+".debian.tar.xz", []byte("debian")))
	}
	sources := index.String()
	write(t, filepath.Join(dir, "dists", suite, "main/source/Sources"), sources)
	write(t, filepath.Join(dir, "dists", suite, "Release"), fmt.Sprintf(
		"Origin: Test\nSuite: %[1]s\nCodename: %[1]s\nComponents: main\nDate: %[2]s\nSHA256:\n %[4]s %[3]d main/source/Sources\n",
		suite, time.Now().UTC().Add(-48*time.Hour).Format(time.RFC1123), len(sources), sha256Of([]byte(sources))))
	list := write(t, filepath.Join(t.TempDir(), "sources.list"), fmt.Sprintf("deb [trusted=yes] file:%s %s main\n", dir, suite))
	useAptFiles(t, list)
	return data
}

// scratch is a folder that apt's own user may enter.
func scratch(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "source-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestAptTakesWhatIsServed(t *testing.T) {
	data := mirror(t, "testing", []string{"15.20-1"}, "15.3-1", "15.20-1", "15.18-1")
	r, f, dest := bring(t, Options{Scratch: scratch(t)}, "apt::pg?suite=testing")
	if r.Version != "15.18" || r.SHA256 != sha256Of(data["15.18"]) || !strings.HasSuffix(r.Address, "/pool/pg_15.18.orig.tar.gz") {
		t.Errorf("resolved %+v", r)
	}
	if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, "pg 15.20-1 is in the index but not on the mirror") {
		t.Errorf("notes do not say that 15.20 was left out:\n%s", notes)
	}
	if !strings.HasPrefix(f.Verified, "unverified") { // the index of this test is not signed
		t.Errorf("verified %q", f.Verified)
	}
	wantFiles(t, dest, "VERSION")
	for addr, want := range map[string]string{"apt::pg=15.3?suite=testing": "15.3", "apt::pg=15.3-1?suite=testing": "15.3"} {
		if got := resolved(t, Options{Scratch: scratch(t)}, addr); got.Version != want {
			t.Errorf("%s is %s", addr, got.Version)
		}
	}
	for addr, want := range map[string]string{
		"apt::pg=15.20?suite=testing": "serves no version of pg",
		"apt::pg=16.1?suite=testing":  "has no version 16.1, but 15.20-1, 15.18-1, 15.3-1",
		"apt::other?suite=testing":    `no source package "other"`,
		"apt::pg?suite=nowhere":       "no mirror configured for nowhere",
	} {
		_, err := Resolve(context.Background(), []string{addr}, Options{Scratch: scratch(t)})
		wantError(t, err, want)
	}
}

// TestAptArchivedSuite uses testdata/archived: a signed archive whose Release file was valid until January 2020.
func TestAptArchivedSuite(t *testing.T) {
	dir := scratch(t)
	if err := os.CopyFS(dir+"/archive", os.DirFS("testdata/archived")); err != nil {
		t.Fatal(err)
	}
	list := write(t, filepath.Join(t.TempDir(), "a.sources"), fmt.Sprintf(
		"Types: deb\nURIs: file:%[1]s/archive\nSuites: testing\nComponents: main\nSigned-By: %[1]s/archive/key.asc\n", dir))
	useAptFiles(t, list)
	aptMore = "Acquire::Check-Valid-Until \"true\"; Acquire::Check-Date \"true\";\n" // whatever this machine has
	t.Cleanup(func() { aptMore = "" })
	r, f, dest := bring(t, Options{Scratch: dir}, "apt::pg?suite=testing")
	if notes := strings.Join(r.Notes, "\n"); r.Version != "9.6.24" || !strings.Contains(notes, "past its date") {
		t.Errorf("resolved %+v", r)
	}
	if f.Verified != "signed apt index" {
		t.Errorf("verified %q", f.Verified)
	}
	wantFiles(t, dest, "VERSION")

	// What was not asked for by name has to be up to date, and the signature has to be that of the key.
	update := func() error {
		j, done, err := newJob(Options{Scratch: dir}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer done()
		state, err := (&aptGetter{job: j}).state("testing")
		if err != nil {
			t.Fatal(err)
		}
		state.expired = false
		return state.update(context.Background())
	}
	wantError(t, update(), "expired", "clock is wrong")
	release := filepath.Join(dir, "archive/dists/testing/InRelease")
	text, err := os.ReadFile(release)
	if err != nil {
		t.Fatal(err)
	}
	write(t, release, strings.Replace(string(text), "Origin: Test", "Origin: Tess", 1))
	if _, err := Resolve(context.Background(), []string{"apt::pg?suite=testing"}, Options{Scratch: dir}); err == nil {
		t.Error("a changed index was accepted")
	}
}

func useAptFiles(t *testing.T, list string) {
	was := aptFiles
	aptFiles = func() []string { return []string{list} }
	t.Cleanup(func() { aptFiles = was })
}

// TestAptFallsBackToOtherMirrors: the pinned file is gone, and an upstream tarball with the same checksum is elsewhere.
func TestAptFallsBackToOtherMirrors(t *testing.T) {
	data := mirror(t, "testing", nil, "15.18-1")
	r := resolved(t, Options{Scratch: scratch(t)}, "apt::pg?suite=testing")
	mirror(t, "testing", nil, "15.20-1")
	s := newSite(t, map[string][]byte{"/pg-15.18.tar.gz": data["15.18"]})
	r.Address = "apt::" + s.URL + "/pool/gone.orig.tar.gz"
	dest := filepath.Join(t.TempDir(), "dest")
	f, err := Fetch(context.Background(), r, dest, Options{Scratch: scratch(t), Mirrors: []string{"apt::pg?suite=testing", s.URL + "/pg-15.18.tar.gz"}})
	if err != nil {
		t.Fatal(err)
	}
	if f.Address != s.URL+"/pg-15.18.tar.gz" {
		t.Errorf("address %q", f.Address)
	}
	notes := strings.Join(f.Notes, "\n")
	for _, want := range []string{"distribution has moved on", "it is 15.20"} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes lack %q:\n%s", want, notes)
		}
	}
}

// TestAptDistribution asks the real mirror of this machine for PostgreSQL. Which versions a mirror serves is not ours to
// test, so one that lists a version and does not have it yet only has to be told so.
func TestAptDistribution(t *testing.T) {
	if _, err := os.Stat(aptHelper); err != nil {
		t.Fatal("apt:: is for systems of Debian's family, and so is this test")
	}
	for addr, major := range map[string]string{"apt::postgresql-15?suite=bookworm": "15.", "apt::postgresql-18?suite=sid": "18."} {
		r, err := Resolve(context.Background(), []string{addr}, Options{Scratch: scratch(t)})
		if err != nil {
			wantError(t, err, "the mirror serves no version", "is in the index but not on the mirror")
			continue
		}
		if r.Verified != "signed apt index" || len(r.SHA256) != 64 || !strings.HasPrefix(r.Version, major) ||
			!strings.Contains(r.Address, "/pool/") || !strings.Contains(r.Address, ".orig.tar.") {
			t.Errorf("resolved %+v", r)
		}
		resp, err := http.Head(strings.TrimPrefix(r.Address, "apt::"))
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("the resolved address is not served: %v", err)
		}
	}
}
