package child

import (
	"bufio"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

// goroutines returns the stacks of goroutines that run for processes.
func goroutines() (stacks []string) {
	buf := make([]byte, 1<<20)
	for _, stack := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(stack, "/stdio/child.") && strings.Contains(stack, "(*Process)") && !strings.Contains(stack, "testing.") {
			stacks = append(stacks, stack)
		}
	}
	return stacks
}

func eventually(t *testing.T, claim string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(testenv.Patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not so after %v; goroutines:\n%s", claim, testenv.Patience, strings.Join(goroutines(), "\n\n"))
		}
	}
}

// echo sends a line to the process and waits for it to come back, so that the process has begun.
func echo(t *testing.T, p *Process) {
	t.Helper()
	check.Must(t, check.Err(io.WriteString(p.Stdin(), "ready\n")))
	line, err := bufio.NewReader(p.Stdout()).ReadString('\n')
	check.Require(t, line == "ready\n", "got %q and error %v, want %q", line, err, "ready\n")
}

func TestManyExitAtOnce(t *testing.T) {
	for range 2 {
		var all []*Process
		for range 24 {
			all = append(all, start(t, "greet"))
		}
		for _, p := range all {
			check.Must(t, p.Stdin().Close())
		}
		for _, p := range all {
			<-p.Done()
			check.Equal(t, "status", p.Status(), "exit status 0")
			check.Equal(t, "stderr", p.StderrExcerpt(), "hello")
			check.NoError(t, p.Stop())
		}
		eventually(t, "no goroutine is left", func() bool { return len(goroutines()) == 0 })
	}
}

// The end of stderr is not the end of the process.
func TestStderrClosedEarly(t *testing.T) {
	p := start(t, "mute")
	echo(t, p)
	check.Equal(t, "status while running", p.Status(), "")
	check.Must(t, p.Stop())
	check.Equal(t, "status", p.Status(), "exit status 4")
}

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
	got, most := o.late.Load(), int64(maxLate+64<<10)
	check.That(t, got <= most, "read %d bytes when its time was over, want at most %d", got, most)
	r.Close()
	<-ended
	w.Close()
}
