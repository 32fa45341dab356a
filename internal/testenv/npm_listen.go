package testenv

import (
	"bufio"
	"context"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Listen runs Node.js with the arguments until the test ends. It waits for the first line of output that matches, for a
// minute, and returns the first group of the pattern. If the test fails, it logs the output.
func (s *NPM) Listen(t testing.TB, ready *regexp.Regexp, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, s.node, args...)
	out, err := cmd.StdoutPipe()
	cmd.Stderr = cmd.Stdout
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	found, ended := make(chan string, 1), make(chan struct{})
	var output strings.Builder
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(out); lines.Scan(); { // to the end: the program must not block on a full pipe
			output.WriteString(lines.Text() + "\n")
			if m := ready.FindStringSubmatch(lines.Text()); m != nil {
				select {
				case found <- m[1]:
				default: // another line matches
				}
			}
		}
		_, _ = io.Copy(io.Discard, out) // the scanner gives up at a line of 64 KiB
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		_ = cmd.Wait() // it was killed
		if t.Failed() {
			t.Logf("node %q:\n%s", args, output.String())
		}
	})
	late := time.AfterFunc(time.Minute, cancel)
	defer late.Stop()
	select {
	case address := <-found:
		return address
	case <-ended:
		t.Fatalf("node %q did not listen", args)
	}
	return ""
}
