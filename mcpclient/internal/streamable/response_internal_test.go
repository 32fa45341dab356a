package streamable

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestReadSized(t *testing.T) {
	for _, size := range []int{0, 1, 511, trustedSize - 1, trustedSize, trustedSize + 1, 3 << 20, trustedRatio*trustedSize + 5} {
		want := bytes.Repeat([]byte("0123456789"), size/10+1)[:size]
		for name, r := range map[string]io.Reader{
			"whole":             bytes.NewReader(want),
			"end with the last": iotest.DataErrReader(bytes.NewReader(want)),
			"in halves":         iotest.HalfReader(bytes.NewReader(want)),
		} {
			got, err := readSized(r, size)
			check.That(t, err == nil && bytes.Equal(got, want), "%d bytes, %s: got %d, %v", size, name, len(got), err)
		}
	}
	check.Text(t, check.Err(readSized(strings.NewReader("0123456789"), 9)), "Content-Length of 9", "more than claimed")
}

// What a server claims costs no memory that it does not fill.
func TestClaimedSizeIsNotTrusted(t *testing.T) {
	cut := errors.New("cut")
	for _, sent := range []int{10, trustedSize + 1} {
		n := check.Allocated(func() {
			got, err := readSized(io.MultiReader(bytes.NewReader(make([]byte, sent)), iotest.ErrReader(cut)), 1<<30)
			check.Equal(t, sent, err, cut)
			check.Equal(t, "bytes", len(got), sent)
		})
		check.That(t, n <= uint64(trustedSize+trustedRatio*sent+sent+1<<18), "got %d bytes allocated for %d that came", n, sent)
	}
}
