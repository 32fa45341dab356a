package interop

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/proctest"
)

// nodeAt starts a program that serves HTTP, waits until it listens, and returns
// its URL without a path. testdata/listen.mjs gives it a free port.
func nodeAt(t *testing.T, set *proctest.NPM, program string, args ...string) string {
	t.Helper()
	listen, err := filepath.Abs(filepath.FromSlash("testdata/listen.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, set.Node(), append([]string{"--import", "file://" + filepath.ToSlash(listen), program}, args...)...)
	cmd.Env = os.Environ()
	errs, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	drained := make(chan struct{})
	t.Cleanup(func() {
		cancel()
		<-drained
		_ = cmd.Wait() // it was killed
	})
	port, said := listening(errs, cancel)
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, errs)
	}()
	if port == "" {
		t.Fatalf("%s did not listen:\n%s", program, said)
	}
	return "http://127.0.0.1:" + port
}

// listening reads a program's output up to its port, "" for none. After 20 s it
// calls kill.
func listening(errs io.Reader, kill func()) (port, said string) {
	slow := time.AfterFunc(20*time.Second, kill)
	defer slow.Stop()
	r := bufio.NewReader(errs)
	for {
		line, err := r.ReadString('\n')
		if port, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on "); ok {
			return port, said
		}
		said += line
		if err != nil {
			return "", said
		}
	}
}
