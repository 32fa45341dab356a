package child

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
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

func TestExcerpt(t *testing.T) {
	line := strings.Repeat("a", 99) + "\n"
	lines := func(n int) string { return strings.TrimSpace(strings.Repeat(line, n)) }
	stack := "Error: no binding\n" + strings.Repeat(line, 30) + "Node.js v22"
	for _, test := range []struct {
		name   string
		writes []string // with a pause before each that begins with "…"
		want   string
	}{
		{"nothing", nil, ""},
		{"short", []string{"one\n", "two\n"}, "one\ntwo"},
		{"no newline at the end", []string{"one\ntw", "o"}, "one\ntwo"},
		{"much at once", []string{stack}, "Error: no binding\n" + lines(10) + "\n…\n" + lines(10) + "\nNode.js v22"},
		{"in small pieces", strings.SplitAfter(stack, "\n"), "Error: no binding\n" + lines(10) + "\n…\n" + lines(10) + "\nNode.js v22"},
		{"much after a pause", []string{"Listening\n", "…" + stack}, "Error: no binding\n" + lines(10) + "\n…\n" + lines(10) + "\nNode.js v22"},
		{"little after a pause", []string{"first\n" + strings.Repeat(line, 30), "…last"}, lines(20) + "\nlast"},
		{"one long line", []string{strings.Repeat("b", 3*maxExcerpt)}, strings.Repeat("b", maxHead) + "\n…\n" + strings.Repeat("b", maxExcerpt-maxHead-5)},
		{"control characters", []string{"\x1b[31mred\x07\r\n\tok"}, "[31mred\n\tok"},
		{"broken UTF-8", []string{"a\xffb"}, "ab"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var e excerpt
			now := time.Now()
			for _, w := range test.writes {
				text, paused := strings.CutPrefix(w, "…")
				if now = now.Add(time.Millisecond); paused {
					now = now.Add(2 * stderrPause)
				}
				e.write([]byte(text), now)
			}
			got := e.String()
			check.That(t, got == test.want, "got %d bytes %.90q, want %d bytes %.90q", len(got), got, len(test.want), test.want)
			check.That(t, cap(e.tail) <= 8*maxExcerpt && cap(e.head) <= 2*maxHead,
				"the buffers grew to %d and %d bytes", cap(e.tail), cap(e.head))
		})
	}
}

// A stalled writer costs one wait, then output is dropped; after it has caught up, a notice comes before further output.
func TestForwarderStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got bytes.Buffer
		release := make(chan struct{})
		f := newForwarder(writerFunc(func(b []byte) (int, error) { <-release; return got.Write(b) }))
		began := time.Now()
		chunk := bytes.Repeat([]byte("x"), 100)
		for range forwardQueue + 1 {
			f.forward(chunk)
			synctest.Wait()
		}
		check.Equal(t, "filling the queue", time.Since(began), 0)
		for range 5 {
			f.forward(chunk)
		}
		check.Equal(t, "a stalled writer cost", time.Since(began), stallTimeout)
		close(release)
		synctest.Wait()
		f.forward([]byte("end"))
		f.close(time.Minute)
		want := strings.Repeat("x", 100*(forwardQueue+1)) + "\n[500 bytes of stderr lost: the writer is too slow]\nend"
		check.Equal(t, "", got.String(), want)
	})
}
