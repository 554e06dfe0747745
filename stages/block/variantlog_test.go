package block

import (
	"errors"
	"strings"
	"testing"
)

func TestVariantLog(t *testing.T) {
	var b strings.Builder
	l := newVariantLog("a18", &b)
	for _, part := range []string{"LOG:  checkpoint", " complete\n\tbuffers: 3\n", "LOG:  half", " a line\nLOG:  an", " end that never comes"} {
		if n, err := l.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
	}
	if want := "a18| LOG:  checkpoint complete\na18| \tbuffers: 3\na18| LOG:  half a line\n"; b.String() != want {
		t.Errorf("log %q, want %q", b.String(), want)
	}
	if _, err := newVariantLog("a18", full{}).Write([]byte("x\n")); err == nil {
		t.Error("the error of the log below is lost")
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space") }
