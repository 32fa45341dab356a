//go:build unix

package child

import (
	"os"
	"syscall"
	"testing"
)

// Offer writes nothing to a pipe whose writes always wait.
func TestOfferToBlockingPipe(t *testing.T) {
	var fds [2]int
	if err := syscall.Pipe(fds[:]); err != nil {
		t.Fatal(err)
	}
	r, w := os.NewFile(uintptr(fds[0]), "r"), os.NewFile(uintptr(fds[1]), "w")
	defer func() { _ = r.Close() }()
	defer func() { _ = w.Close() }()
	in := &Input{file: w}
	if n := in.Offer([]byte("x")); n != 0 {
		t.Errorf("took %d bytes, want none", n)
	}
	if _, err := in.Write([]byte("x")); err != nil {
		t.Error(err)
	}
}
