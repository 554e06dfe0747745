package bzip2

import (
	"bytes"
	stdlib "compress/bzip2"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func pack(t testing.TB, data []byte, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("bzip2", append(args, "-c")...)
	cmd.Stdin = bytes.NewReader(data)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("bzip2 (apt-get install bzip2): %v", err)
	}
	return out
}

func unpack(data []byte) ([]byte, error) {
	r := NewReader(bytes.NewReader(data))
	defer r.Close()
	return io.ReadAll(r)
}

// samples are texts of every kind that the format treats differently.
func samples() map[string][]byte {
	rng := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 3_000_000)
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	words := strings.Fields("select insert update delete from where and or order by group having limit")
	var text bytes.Buffer
	for text.Len() < 4_000_000 {
		text.WriteString(words[rng.IntN(len(words))])
		text.WriteByte(" \n"[rng.IntN(2)])
	}
	var runs bytes.Buffer
	for n := range 700 {
		runs.Write(bytes.Repeat([]byte{byte(n % 3)}, n))
		runs.WriteByte('x')
	}
	return map[string][]byte{
		"empty": {}, "one": []byte("a"), "four": []byte("aaaa"), "five": []byte("aaaaa"), "two hundred and sixty": bytes.Repeat([]byte("a"), 260),
		"noise": noise, "text": text.Bytes(), "runs": runs.Bytes(), "zeros": make([]byte, 50_000_000), "periodic": bytes.Repeat([]byte("ab"), 600_000),
	}
}

func TestRoundTrip(t *testing.T) {
	for name, data := range samples() {
		for _, level := range []string{"-1", "-9"} {
			got, err := unpack(pack(t, data, level))
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("%s %s: %d bytes became %d (%v)", name, level, len(data), len(got), err)
			}
		}
	}
}

func TestSeveralStreams(t *testing.T) {
	got, err := unpack(append(pack(t, []byte("one ")), pack(t, []byte("two"))...))
	if err != nil || string(got) != "one two" {
		t.Errorf("got %q (%v)", got, err)
	}
}

// TestDamage flips bits and cuts the end: whatever happens, wrong data must not come out as right.
func TestDamage(t *testing.T) {
	data := samples()["text"][:300_000]
	packed := pack(t, data, "-1")
	for i := 0; i < len(packed); i += 97 {
		broken := bytes.Clone(packed)
		broken[i] ^= 1 << (i % 8)
		if got, err := unpack(broken); err == nil && !bytes.Equal(got, data) {
			t.Errorf("bit %d of byte %d: %d bytes of wrong data without an error", i%8, i, len(got))
		}
		if _, err := unpack(packed[:i]); err == nil {
			t.Errorf("cut at %d: no error", i)
		}
	}
	for name, text := range map[string]string{"garbage": "not bzip2 at all", "garbage behind": string(packed) + "garbage", "level": "BZh0", "nothing": ""} {
		if _, err := unpack([]byte(text)); err == nil || name != "nothing" && !errors.Is(err, ErrFormat) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// errReader fails after its data.
type errReader struct {
	data []byte
	err  error
}

func (r *errReader) Read(p []byte) (int, error) {
	if len(r.data) == 0 {
		return 0, r.err
	}
	n := copy(p[:1], r.data)
	r.data = r.data[n:]
	return n, nil
}

func TestReadError(t *testing.T) {
	packed := pack(t, samples()["runs"])
	broken := errors.New("the disk is gone")
	r := NewReader(&errReader{packed[:len(packed)/2], broken})
	defer r.Close()
	if _, err := io.ReadAll(r); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	r = NewReader(&errReader{packed, io.EOF}) // one byte at a time
	defer r.Close()
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, samples()["runs"]) {
		t.Errorf("%d bytes (%v)", len(got), err)
	}
}

func TestCloseEarly(t *testing.T) {
	packed := pack(t, samples()["noise"], "-1")
	r := NewReader(bytes.NewReader(packed))
	if _, err := io.ReadFull(r, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	r.Close() // returns: nothing waits for a reader that is gone
	r.Close()
	NewReader(bytes.NewReader(packed)).Close()
}

// FuzzReader compares with the standard library: what it accepts, and as what.
func FuzzReader(f *testing.F) {
	for _, data := range []string{"", "a", strings.Repeat("ab", 300), strings.Repeat("z", 2000)} {
		f.Add(pack(f, []byte(data), "-1"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const most = 1 << 22
		want, wantErr := io.ReadAll(io.LimitReader(stdlib.NewReader(bytes.NewReader(data)), most))
		r := NewReader(bytes.NewReader(data))
		defer r.Close()
		got, err := io.ReadAll(io.LimitReader(r, most))
		if err == nil && wantErr == nil && !bytes.Equal(got, want) {
			t.Errorf("%d bytes, the standard library has %d", len(got), len(want))
		}
		if err != nil && wantErr == nil {
			t.Errorf("refused with %v what the standard library accepts", err)
		}
	})
}

// BenchmarkDecoders compares the ways to unpack the archive in $BZIP2_SAMPLE, such as a PostgreSQL source archive; without
// it, a text that compresses like one.
func BenchmarkDecoders(b *testing.B) {
	packed := pack(b, samples()["text"])
	if name := os.Getenv("BZIP2_SAMPLE"); name != "" {
		var err error
		if packed, err = os.ReadFile(name); err != nil {
			b.Fatal(err)
		}
	}
	run := func(name string, f func() (int64, error)) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				n, err := f()
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(n)
			}
		})
	}
	run("ours", func() (int64, error) {
		r := NewReader(bytes.NewReader(packed))
		defer r.Close()
		return io.Copy(io.Discard, r)
	})
	run("program", func() (int64, error) {
		cmd := exec.Command("bzip2", "-dc")
		cmd.Stdin = bytes.NewReader(packed)
		out, err := cmd.StdoutPipe()
		if err != nil {
			return 0, err
		}
		if err := cmd.Start(); err != nil {
			return 0, err
		}
		n, err := io.Copy(io.Discard, out)
		return n, errors.Join(err, cmd.Wait())
	})
	run("standard library", func() (int64, error) {
		return io.Copy(io.Discard, stdlib.NewReader(bytes.NewReader(packed)))
	})
}
