package source

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// A site serves files and counts what is asked for.
type site struct {
	*httptest.Server
	files map[string][]byte
	hits  atomic.Int64
}

func newSite(t testing.TB, files map[string][]byte) *site {
	s := &site{files: files}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.hits.Add(1)
		data, ok := s.files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Write(data)
	}))
	t.Cleanup(s.Close)
	return s
}

func TestHTTPWithChecksum(t *testing.T) {
	data := sourceTar(t)
	s := newSite(t, map[string][]byte{"/pg-1.0.tar.gz": data})
	r, f, dest := bring(t, Options{SHA256: sha256Of(data)}, s.URL+"/pg-1.0.tar.gz")
	wantFiles(t, dest, sourceTarFiles...)
	if s.hits.Load() != 1 {
		t.Errorf("%d requests, want 1: with a checksum nothing has to be looked at to pin it", s.hits.Load())
	}
	if r.Version != "1.0" || f.Verified != "sha256 of the experiment" || f.SHA256 != sha256Of(data) || f.Files != 3 {
		t.Errorf("resolved %+v, facts %+v", r, f)
	}
}

func TestHTTPWithoutChecksum(t *testing.T) {
	data := sourceTar(t)
	s := newSite(t, map[string][]byte{"/pg-1.0.tar.gz": data})
	var held Held
	defer held.Close()
	r, f, dest := bring(t, Options{Held: &held}, s.URL+"/pg-1.0.tar.gz")
	wantFiles(t, dest, sourceTarFiles...)
	if s.hits.Load() != 1 {
		t.Errorf("%d requests, want 1: what pinning downloaded is kept for the fetch", s.hits.Load())
	}
	if r.SHA256 != sha256Of(data) || f.Verified != Unverified {
		t.Errorf("resolved %+v, facts %+v", r, f)
	}
}

func TestMirrorsGiveOneKey(t *testing.T) {
	data := sourceTar(t)
	a := newSite(t, map[string][]byte{"/pg-1.0.tar.gz": data})
	b := newSite(t, map[string][]byte{"/other/name.tgz": data})
	opt := Options{SHA256: sha256Of(data)}
	one, two := resolved(t, opt, a.URL+"/pg-1.0.tar.gz"), resolved(t, opt, b.URL+"/other/name.tgz")
	if one.Content() != two.Content() || one.Content() != "sha256:"+sha256Of(data) {
		t.Errorf("contents %q and %q", one.Content(), two.Content())
	}
	sub := resolved(t, opt, a.URL+"/pg-1.0.tar.gz//src")
	if sub.Content() == one.Content() {
		t.Error("a part has the same content as the whole")
	}
}

func TestMirrorIsTried(t *testing.T) {
	data := sourceTar(t)
	gone := newSite(t, nil)
	wrong := newSite(t, map[string][]byte{"/pg.tar.gz": []byte("<html>\n<title>Please log in</title>")})
	good := newSite(t, map[string][]byte{"/pg.tar.gz": data})
	_, f, dest := bring(t, Options{SHA256: sha256Of(data)}, gone.URL+"/pg.tar.gz", wrong.URL+"/pg.tar.gz", good.URL+"/pg.tar.gz")
	wantFiles(t, dest, sourceTarFiles...)
	notes := strings.Join(f.Notes, "\n")
	for _, want := range []string{gone.URL + "/pg.tar.gz was not used", "404 Not Found", wrong.URL + "/pg.tar.gz was not used"} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes lack %q:\n%s", want, notes)
		}
	}
	if f.Address != good.URL+"/pg.tar.gz" {
		t.Errorf("address %q", f.Address)
	}
	// Without a checksum the first that answers is pinned.
	r := resolved(t, Options{}, gone.URL+"/pg.tar.gz", good.URL+"/pg.tar.gz")
	if r.Address != good.URL+"/pg.tar.gz" || !strings.Contains(strings.Join(r.Notes, " "), "was not used") {
		t.Errorf("resolved %+v", r)
	}
}

func TestWrongFile(t *testing.T) {
	page := []byte("<!DOCTYPE html>\n<html>")
	s := newSite(t, map[string][]byte{"/pg.tar.gz": page})
	base, want := t.TempDir(), sha256Of(sourceTar(t))
	dest := filepath.Join(t.TempDir(), "dest")
	addr := strings.Replace(s.URL, "http://", "http://user:hunter22@", 1) + "/pg.tar.gz"
	opt := Options{SHA256: want, Base: base}
	_, err := Fetch(context.Background(), resolved(t, opt, addr), dest, Options{SHA256: want, Base: base, Mirrors: []string{addr}})
	byHand := filepath.Join(base, "distfiles", "pg.tar.gz")
	wantError(t, err, "http://user:***@", want, sha256Of(page), byHand, "<!DOCTYPE html>", "says the experiment")
	if strings.Contains(err.Error(), "hunter22") {
		t.Errorf("the error has the password:\n%v", err)
	}
	var sum *ChecksumError
	if !errors.As(err, &sum) {
		t.Errorf("%T is no ChecksumError", err)
	}
	wantFiles(t, dest)

	// The advice works.
	if err := os.MkdirAll(filepath.Dir(byHand), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(byHand, sourceTar(t), 0o644); err != nil {
		t.Fatal(err)
	}
	_, f, dest := bring(t, opt, addr)
	wantFiles(t, dest, sourceTarFiles...)
	if f.Address != byHand {
		t.Errorf("address %q, want %q", f.Address, byHand)
	}
}

func TestChecksumInAddress(t *testing.T) {
	data := sourceTar(t)
	md5sum := md5.Sum(data)
	weak := hex.EncodeToString(md5sum[:])
	s := newSite(t, map[string][]byte{
		"/pg.tar.gz": data,
		"/SHA256":    []byte(sha256Of([]byte("x")) + "  other.tar.gz\n" + sha256Of(data) + " *pg.tar.gz\n"),
	})
	for _, c := range []struct{ query, verified, fails string }{
		{"?checksum=sha256:" + sha256Of(data), "sha256 of checksum= in the address", ""},
		{"?checksum=file:" + s.URL + "/SHA256", "sha256 of " + s.URL + "/SHA256", ""},
		{"?checksum=md5:" + weak, "md5 of checksum= in the address", ""},
		{"?checksum=" + weak, "md5 of checksum= in the address", ""},
		{"?checksum=md5:" + strings.Repeat("0", 32), "", "is not the file that is wanted"},
		{"?checksum=file:" + s.URL + "/gone", "", "checksum file"},
		{"?checksum=sha256:abc", "", "not a hexadecimal number"},
		{"?checksum=crc32:abcd", "", "unknown algorithm"},
	} {
		t.Run(c.query, func(t *testing.T) {
			addr := s.URL + "/pg.tar.gz" + c.query
			if c.fails != "" {
				_, err := Resolve(context.Background(), []string{addr}, Options{})
				wantError(t, err, c.fails)
				return
			}
			r, f, _ := bring(t, Options{}, addr)
			if r.SHA256 != sha256Of(data) || f.Verified != c.verified {
				t.Errorf("sha256 %s, verified %q, want %q", r.SHA256, f.Verified, c.verified)
			}
		})
	}
}

func TestServerTroubles(t *testing.T) {
	data := sourceTar(t)
	var asked atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("/busy.tar.gz", func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			http.Error(w, "later", http.StatusServiceUnavailable)
			return
		}
		w.Write(data)
	})
	mux.HandleFunc("/cut.tar.gz", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		w.Write(data[:len(data)/2])
	})
	mux.HandleFunc("/down", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+r.Host+"/busy.tar.gz", http.StatusFound)
	})
	s := httptest.NewServer(mux)
	defer s.Close()

	if _, _, dest := bring(t, Options{}, s.URL+"/busy.tar.gz"); len(files(t, dest)) == 0 {
		t.Error("nothing came after the server was busy once")
	}
	scratch, dest := t.TempDir(), filepath.Join(t.TempDir(), "dest")
	r := Resolved{Address: s.URL + "/cut.tar.gz", SHA256: sha256Of(data)}
	_, err := Fetch(context.Background(), r, dest, Options{Scratch: scratch})
	wantError(t, err, "unexpected EOF")
	wantFiles(t, dest)
	wantFiles(t, scratch)

	safe := httptest.NewTLSServer(mux)
	defer safe.Close()
	req, err := http.NewRequest(http.MethodGet, safe.URL+"/down", nil)
	if err != nil {
		t.Fatal(err)
	}
	client := newHTTPClient(http.ProxyFromEnvironment)
	client.Transport = safe.Client().Transport
	_, err = client.Do(req)
	wantError(t, err, "redirects from https to http")
}

func TestCancelledFetch(t *testing.T) {
	started := make(chan struct{})
	stop := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000000")
		w.Write(make([]byte, 1000))
		w.(http.Flusher).Flush()
		close(started)
		<-stop
	}))
	defer s.Close()
	defer close(stop)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-started
		cancel()
	}()
	scratch, dest := t.TempDir(), filepath.Join(t.TempDir(), "dest")
	_, err := Fetch(ctx, Resolved{Address: s.URL + "/pg.tar.gz", SHA256: strings.Repeat("0", 64)}, dest, Options{Scratch: scratch})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	wantFiles(t, dest)
	wantFiles(t, scratch)
}

func TestSecretsAreMasked(t *testing.T) {
	data := sourceTar(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if user != "me" || password != "correct horse" || r.URL.Query().Get("token") != "t0psecret" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		w.Write(data)
	}))
	defer s.Close()
	addr := strings.Replace(s.URL, "http://", "http://me:correct%20horse@", 1) + "/pg.tar.gz?z=1&token=t0psecret"
	var log strings.Builder
	r, f, dest := bring(t, Options{Log: &log}, addr)
	wantFiles(t, dest, sourceTarFiles...)
	shown := r.Address + f.Address + log.String() + strings.Join(append(r.Notes, f.Notes...), " ")
	for _, secret := range []string{"correct", "horse", "t0psecret"} {
		if strings.Contains(shown, secret) {
			t.Errorf("%q is shown in %s", secret, shown)
		}
	}
	_, err := Resolve(context.Background(), []string{"git::" + strings.Replace(addr, "pg.tar.gz?z=1", "gone.git?ref=x", 1)}, Options{Log: &log})
	wantError(t, err, "git: exit status")
	if text := err.Error() + log.String(); strings.Contains(text, "horse") || strings.Contains(text, "t0psecret") {
		t.Errorf("git's error has a secret: %s", text)
	}
	_, err = Fetch(context.Background(), r, t.TempDir(), Options{})
	wantError(t, err, "403") // masked, and nobody says what is behind the mask
}

func TestAddressesThatAreRefused(t *testing.T) {
	for addr, want := range map[string]string{
		"":                                      "empty",
		"https://example.org/":                  "names no file",
		"https://example.org/pg.git":            "git::",
		"ext::sh -c id":                         "unknown kind",
		"hg::https://example.org/x":             "unknown kind",
		"s3::https://example.org/x":             "unknown kind",
		"https://example.org/a\nb":              "control characters",
		"https://example.org/x.tgz//../..":      `".."`,
		"https://example.org/x?archive=rar":     "not a format",
		"no/such/folder":                        "no such file",
		"example.org/pg.tar.gz":                 "https://example.org/pg.tar.gz",
		"git::ext::sh -c id":                    "not an address of a repository",
		"git::-oProxyCommand=id":                "does not appear to be a git repository",
		"git::ssh://-oProxyCommand=id/x":        "dash",
		"git::ftp://example.org/x":              "scheme",
		"git::https://example.org/x?ref=--help": "not the name of a branch",
		"git::https://example.org/x?ref=a..b":   "not the name of a branch",
		"git::https://example.org/x?ref=a%20b":  "not the name of a branch",
		"git::https://example.org/x?sshkey=abc": "private key",
		"apt::--help":                           "not the name of a source package",
		"apt::postgresql-15=$(id)":              "not a version",
		"apt::postgresql-15?suite=../x":         "not the name of a suite",
		"npm::--help":                           "not the name of an npm package",
		"npm::x@>1 <2":                          "not a version",
		"npm::../x":                             "not the name of an npm package",
		"system::gcc":                           "postgresql-MAJOR",
		"system::/nonexistent":                  "no server is installed there",
		"system::postgresql-7":                  "apt-get install postgresql-7",
	} {
		t.Run(addr, func(t *testing.T) {
			_, err := Resolve(context.Background(), []string{addr}, Options{Base: t.TempDir()})
			wantError(t, err, want)
		})
	}
}
