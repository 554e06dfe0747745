package source

import (
	"bufio"
	"compress/bzip2"
	"io"
)

func newBzip2Reader(f io.Reader) io.ReadCloser {
	return io.NopCloser(bzip2.NewReader(bufio.NewReaderSize(f, 1<<18)))
}
