package report

import (
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// FuzzHistogram: a record on disk may be damaged; its histogram is then left out, and nothing worse.
func FuzzHistogram(f *testing.F) {
	h := hdrhistogram.New(1, 1e9, 2)
	_ = h.RecordValue(1234)
	text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add("HISTFAAAAA==")
	f.Add("not base64 at all")
	f.Fuzz(func(t *testing.T, encoded string) {
		var o MergedOp
		if o.mergeHistogram(nil, encoded); encoded != "" && o.Rejected == 0 {
			if _, err := hdrhistogram.Decode([]byte(encoded)); err != nil {
				t.Errorf("%q was taken: %v", encoded, err)
			}
		}
	})
}
