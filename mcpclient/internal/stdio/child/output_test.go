package child

import (
	"io"
	"os"
	"runtime"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

// Reading ends even if a descendant of the process continues to write.
func TestOutputAfterlife(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no deadlines there")
	}
	r, w, err := os.Pipe()
	check.Must(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for block := make([]byte, 64<<10); err == nil; {
			_, err = w.Write(block)
		}
	}()
	o := &output{file: r}
	o.expire()
	within(t, testenv.Patience, "reading", func() { _, _ = io.Copy(io.Discard, o) })
	if got, most := o.late.Load(), int64(maxLate+64<<10); got > most {
		t.Errorf("read %d bytes when its time was over, want at most %d", got, most)
	}
	r.Close()
	<-ended
	w.Close()
}
