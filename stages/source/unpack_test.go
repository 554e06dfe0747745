package source

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// unpackBytes unpacks data the way a fetch does, the check of links included, into a folder with a neighbour that must
// not be touched.
func unpackBytes(t testing.TB, data []byte, limits Limits) (string, error) {
	t.Helper()
	outer := t.TempDir()
	write(t, filepath.Join(outer, "secret"), "untouched")
	file := filepath.Join(t.TempDir(), "archive")
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	dir := filepath.Join(outer, "dest")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	tr, err := newTree(dir, limits)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.close()
	err = unpack(context.Background(), tr, f, "archive.txt")
	if err == nil {
		err = checkLinks(dir)
	}
	if text, _ := os.ReadFile(filepath.Join(outer, "secret")); string(text) != "untouched" {
		t.Errorf("the neighbour was overwritten: %q", text)
	}
	if got := files(t, outer); err == nil && len(got) > 0 {
		for _, name := range got {
			if name != "secret" && !strings.HasPrefix(name, "dest/") {
				t.Errorf("%s was written outside", name)
			}
		}
	}
	return dir, err
}

var escapes = []struct {
	name    string
	entries []entry
	want    string
}{
	{"parent", []entry{{name: "../secret", body: "x"}}, `".."`},
	{"parent inside", []entry{{name: "a/../../secret", body: "x"}}, `".."`},
	{"absolute", []entry{{name: "/tmp/secret", body: "x"}}, "absolute name"},
	{"empty name", []entry{{name: "", body: "x"}}, "empty or broken name"},
	{"file for the folder itself", []entry{{name: ".", body: "x"}}, "file without a name"},
	{"too deep", []entry{{name: strings.Repeat("d/", 200) + "f", body: "x"}}, "too deep"},
	{"absolute link", []entry{{name: "l", kind: tar.TypeSymlink, link: "/etc/passwd"}}, "absolute path"},
	{"link to the parent", []entry{{name: "l", kind: tar.TypeSymlink, link: "../secret"}}, "outside the folder"},
	{"link out of a subfolder", []entry{{name: "a/l", kind: tar.TypeSymlink, link: "../../secret"}}, "outside the folder"},
	{"link without target", []entry{{name: "l", kind: tar.TypeSymlink}}, "broken target"},
	{"file through a link", []entry{
		{name: "a/", kind: tar.TypeDir}, {name: "l", kind: tar.TypeSymlink, link: "a"}, {name: "l/f", body: "x"}}, "used as a folder"},
	{"link through a link", []entry{
		{name: "x/y/up", kind: tar.TypeSymlink, link: "../.."},
		{name: "x/y/up/out", kind: tar.TypeSymlink, link: "../../secret"}}, "used as a folder"},
	{"folder replaced by a link", []entry{
		{name: "a/f", body: "x"}, {name: "a", kind: tar.TypeSymlink, link: "."}}, "replaces a folder"},
	{"links that lead out together", []entry{
		{name: "p/q/up", kind: tar.TypeSymlink, link: "../.."},
		{name: "p/q/out", kind: tar.TypeSymlink, link: "up/../secret"}}, "leads out of the folder"},
	{"link in a circle", []entry{
		{name: "a", kind: tar.TypeSymlink, link: "b"}, {name: "b", kind: tar.TypeSymlink, link: "a"}}, "in a circle"},
	{"hard link to the parent", []entry{{name: "h", kind: tar.TypeLink, link: "../secret"}}, "outside the folder"},
	{"absolute hard link", []entry{{name: "h", kind: tar.TypeLink, link: "/etc/passwd"}}, "outside the folder"},
	{"hard link to nothing", []entry{{name: "h", kind: tar.TypeLink, link: "gone"}}, "no file of the archive"},
	{"hard link to a link", []entry{
		{name: "f", body: "x"}, {name: "l", kind: tar.TypeSymlink, link: "f"}, {name: "h", kind: tar.TypeLink, link: "l"}}, "no file of the archive"},
	{"hard link through a link", []entry{
		{name: "a/f", body: "x"}, {name: "l", kind: tar.TypeSymlink, link: "a"}, {name: "h", kind: tar.TypeLink, link: "l/f"}}, "no file of the archive"},
	{"character device", []entry{{name: "null", kind: tar.TypeChar}}, "is a device"},
	{"block device", []entry{{name: "disk", kind: tar.TypeBlock}}, "is a device"},
	{"named pipe", []entry{{name: "pipe", kind: tar.TypeFifo}}, "named pipe"},
}

func TestUnpackRefusesEscapes(t *testing.T) {
	for _, c := range escapes {
		t.Run(c.name, func(t *testing.T) {
			_, err := unpackBytes(t, gzipped(t, tarOf(t, c.entries...)), Limits{})
			wantError(t, err, c.want)
			var escape *EscapeError
			if !errors.As(err, &escape) {
				t.Errorf("%T is no EscapeError", err)
			}
		})
	}
}

// zipOf makes a zip file; the mode tells links and devices.
func zipOf(t testing.TB, name, body string, mode fs.FileMode) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	h := &zip.FileHeader{Name: name, Method: zip.Deflate}
	h.SetMode(mode)
	f, err := w.CreateHeader(h)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(body)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestUnzipRefusesEscapes(t *testing.T) {
	for _, c := range []struct {
		name, body string
		mode       fs.FileMode
		want       string
	}{
		{"../secret", "x", 0o644, `".."`},
		{"/tmp/secret", "x", 0o644, "absolute name"},
		{"l", "../secret", fs.ModeSymlink | 0o777, "outside the folder"},
		{"l", "/etc/passwd", fs.ModeSymlink | 0o777, "absolute path"},
		{"l", strings.Repeat("x", 5000), fs.ModeSymlink | 0o777, "broken target"},
		{"dev", "", fs.ModeDevice | 0o644, "device"},
		{"pipe", "", fs.ModeNamedPipe | 0o644, "pipe"},
	} {
		t.Run(c.name+" "+c.mode.String(), func(t *testing.T) {
			_, err := unpackBytes(t, zipOf(t, c.name, c.body, c.mode), Limits{})
			wantError(t, err, c.want)
		})
	}
}

func TestUnpackLimits(t *testing.T) {
	zeros := strings.Repeat("\x00", 1<<20)
	many := make([]entry, 50)
	for i := range many {
		many[i] = entry{name: strings.Repeat("f", i+1)}
	}
	trailing := append(tarOf(t, entry{name: "f", body: "x"}), zeros...)
	for _, c := range []struct {
		name   string
		data   []byte
		limits Limits
		want   string
	}{
		{"tar bytes", gzipped(t, tarOf(t, entry{name: "f", body: zeros})), Limits{Bytes: 1000}, "more than 1000 bytes"},
		{"tar bytes together", gzipped(t, tarOf(t, entry{name: "a", body: zeros}, entry{name: "b", body: zeros})), Limits{Bytes: 3 << 19}, "archive bomb"},
		{"tar entries", gzipped(t, tarOf(t, many...)), Limits{Entries: 49}, "more than 49 entries"},
		{"bytes after the end", gzipped(t, trailing), Limits{Bytes: 5000}, "archive bomb"},
		{"zip bytes", zipOf(t, "f", zeros, 0o644), Limits{Bytes: 1000}, "more than 1000 bytes"},
		{"plain gzip", gzipped(t, []byte(zeros)), Limits{Bytes: 1000}, "more than 1000 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := unpackBytes(t, c.data, c.limits)
			wantError(t, err, c.want)
		})
	}
}

func TestUnpackKeepsWhatCounts(t *testing.T) {
	dir, err := unpackBytes(t, tarOf(t,
		entry{name: "./top/bin/run", body: "run", mode: 0o4755},
		entry{name: "top/data", body: "first", mode: 0o600},
		entry{name: "top/same", kind: tar.TypeLink, link: "./top/data"},
		entry{name: "top/data", body: "second", mode: 0o666},
		entry{name: "top/lib/l.so", kind: tar.TypeSymlink, link: "../bin/run"},
		entry{name: "top/lib/gone", kind: tar.TypeSymlink, link: "nothing"},
	), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	wantFiles(t, dir, "top/bin/run", "top/data", "top/same", "top/lib/l.so", "top/lib/gone")
	for name, want := range map[string]fs.FileMode{"top/bin/run": 0o755, "top/data": 0o644} {
		if st, err := os.Stat(filepath.Join(dir, name)); err != nil || st.Mode() != want {
			t.Errorf("%s: mode %v, want %v (%v)", name, st.Mode(), want, err)
		}
	}
	// The later entry replaces the name and does not write into the file that the hard link shares.
	for name, want := range map[string]string{"top/data": "second", "top/same": "first", "top/lib/l.so": "run"} {
		if text, _ := os.ReadFile(filepath.Join(dir, name)); string(text) != want {
			t.Errorf("%s has %q, want %q", name, text, want)
		}
	}
}

func TestUnpackFormats(t *testing.T) {
	plainTar := tarOf(t, entry{name: "d/f", body: strings.Repeat("text ", 5000)})
	for _, c := range []struct{ name, program string }{{"bz2", "bzip2"}, {"xz", "xz"}, {"zst", "zstd"}, {"gz", "gzip"}} {
		t.Run(c.name, func(t *testing.T) {
			packed := pack(t, c.program, plainTar)
			dir, err := unpackBytes(t, packed, Limits{})
			if err != nil {
				t.Fatal(err)
			}
			wantFiles(t, dir, "d/f")
			_, err = unpackBytes(t, packed[:len(packed)-len(packed)/4], Limits{})
			if err == nil {
				t.Error("a truncated archive was taken for whole")
			}
			broken := bytes.Clone(packed)
			broken[len(broken)/2] ^= 0x55
			if _, err = unpackBytes(t, broken, Limits{}); err == nil {
				t.Error("a damaged archive was taken for whole")
			}
		})
	}
}

// TestDecodeWithoutPrograms: what stands in for programs that a machine does not have.
func TestDecodeWithoutPrograms(t *testing.T) {
	text := []byte(strings.Repeat("text ", 5000))
	for form, program := range map[format]string{xzFormat: "xz", bz2Format: "bzip2", gzFormat: "gzip"} {
		packed := pack(t, program, text)
		r, err := decodeHere(bytes.NewReader(packed), form)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err = errors.Join(err, r.Close()); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s: %d bytes (%v)", form, len(got), err)
		}
	}
	_, err := decodeHere(nil, zstFormat)
	wantError(t, err, "apt-get install zstd")
}

// BenchmarkUnpack unpacks the archive in $SOURCE_SAMPLE, such as a PostgreSQL source archive; without it, a small one.
func BenchmarkUnpack(b *testing.B) {
	name := os.Getenv("SOURCE_SAMPLE")
	if name == "" {
		name = write(b, filepath.Join(b.TempDir(), "small.tar.gz"), string(sourceTar(b)))
	}
	for b.Loop() {
		f, err := os.Open(name)
		if err != nil {
			b.Fatal(err)
		}
		t, err := newTree(b.TempDir(), Limits{})
		if err != nil {
			b.Fatal(err)
		}
		if err := unpack(context.Background(), t, f, "sample"); err != nil {
			b.Fatal(err)
		}
		b.SetBytes(t.bytes)
		t.close()
		f.Close()
	}
}

// pack compresses with a program of the system, which is what archives are made with.
func pack(t testing.TB, program string, data []byte) []byte {
	t.Helper()
	cmd := exec.Command(program, "-c")
	cmd.Stdin = bytes.NewReader(data)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", program, err)
	}
	return out
}

func TestUnpackSingleFile(t *testing.T) {
	dir, err := unpackBytes(t, []byte("just text"), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	wantFiles(t, dir, "archive.txt")
	dir, err = unpackBytes(t, gzipped(t, []byte("packed text")), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	wantFiles(t, dir, "archive")
}

// FuzzUnpack gives the unpacker anything that may be taken for an archive: it must return, and stay in its folder.
func FuzzUnpack(f *testing.F) {
	for _, c := range escapes {
		f.Add(tarOf(f, c.entries...))
	}
	f.Add(sourceTar(f))
	f.Add(zipOf(f, "a/b", "text", 0o644))
	f.Add(zipOf(f, "l", "a", fs.ModeSymlink|0o777))
	f.Add(pack(f, "bzip2", tarOf(f, entry{name: "f", body: "x"})))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		dir, err := unpackBytes(t, data, Limits{Bytes: 1 << 20, Entries: 200})
		if err != nil {
			return
		}
		files, bytes, err := count(dir)
		if err != nil || files > 200 || bytes > 1<<20 {
			t.Errorf("%d files of %d bytes (%v): over the limits", files, bytes, err)
		}
	})
}
