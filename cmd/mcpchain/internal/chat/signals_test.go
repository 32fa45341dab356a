//go:build unix

package chat

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/demo"
	"github.com/mcpchain/mcpchain/internal/check"
)

func (p *program) signal(s os.Signal) {
	p.t.Helper()
	check.Must(p.t, p.cmd.Process.Signal(s))
}

// startCounting runs the program until a tool call is under way, and returns the process id of the server.
func startCounting(t *testing.T, server string) (p *program, pid int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pid")
	p = start(t, "-yes", "-config", configure(t, "one=!"+entry(t, server, pidFile, file)))
	p.ask("Count to 1000", p.stderr, "count 1/1000")
	pid = pidOf(t, file)
	check.Require(t, syscall.Kill(pid, 0) == nil, "the server does not run")
	return p, pid
}

func pidOf(t *testing.T, file string) int {
	t.Helper()
	text := check.Value(os.ReadFile(file))(t)
	return check.Value(strconv.Atoi(string(text)))(t)
}

// ended checks the exit status, and that the server ends with the program. On a slow machine the
// system takes it away a moment later.
func (p *program) ended(want, pid int) {
	p.t.Helper()
	p.wait(want)
	for until := time.Now().Add(patience); syscall.Kill(pid, 0) != syscall.ESRCH; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			p.t.Errorf("the server %d survived", pid)
			return
		}
	}
}

// again is a second Ctrl-C. On a slow machine it may come too late: the program says so, and wants one more.
func (p *program) again() {
	p.t.Helper()
	p.signal(os.Interrupt)
	timer := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	for line := range p.stderr {
		if strings.Contains(line, "press Ctrl-C again") {
			p.signal(os.Interrupt)
		}
	}
}

func TestInterruptEndsTheTurn(t *testing.T) {
	t.Parallel()
	p, pid := startCounting(t, "good")
	p.signal(os.Interrupt)
	for {
		line := p.await(p.stderr, "")
		check.That(t, !strings.Contains(line, "cancel"), "got %q, want the words of a person", line)
		if line == "interrupted; Ctrl-C again leaves" {
			break
		}
	}
	p.ask("What is 1 plus 2?", p.stdout, "The result: 1 + 2 = 3.")
	p.close()
	p.ended(0, pid)
}

// /usage says that the tokens of an interrupted call are not known.
func TestUsageOfAnInterruptedCall(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
			http.NotFound(w, r)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body) // or the server does not see that the client has gone
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	defer server.Close()
	p := start(t, "-base-url", server.URL+"/v1", "-model", "slow", "-config", "none")
	p.say("hello")
	<-asked
	p.signal(os.Interrupt)
	p.await(p.stderr, "interrupted")
	p.ask("/usage", p.stdout, "the last turn:    0 model calls, 0 tokens in, 0 out; what 1 interrupted call took is not known")
	p.await(p.stdout, "the conversation: 0 model calls, 0 tokens in, 0 out; what 1 interrupted call took is not known")
	p.close()
	p.wait(0)
}

// A second Ctrl-C ends the program, and kills a server that does not end by itself. Another signal ends it at once.
func TestSignalsEndTheProgram(t *testing.T) {
	for _, server := range []string{"good", "stubborn"} {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			p, pid := startCounting(t, server)
			p.signal(os.Interrupt)
			p.await(p.stderr, "interrupted")
			p.again()
			p.ended(130, pid)
			p, pid = startCounting(t, server)
			p.signal(syscall.SIGTERM)
			p.ended(143, pid)
		})
	}
}

func TestInterruptOfPrompt(t *testing.T) {
	t.Parallel()
	p := start(t, "-yes", "-prompt", "Count to 1000")
	p.await(p.stderr, "count 1/1000")
	p.signal(os.Interrupt)
	for line := range p.stderr {
		check.That(t, !strings.Contains(line, "again"), "got %q, although one Ctrl-C was enough", line)
	}
	p.wait(130)
}

// The demo model serves other programs until it is interrupted.
func TestDemoModel(t *testing.T) {
	t.Parallel()
	p := start(t, demo.Name, "model")
	exported := p.await(p.stdout, "export OPENAI_BASE_URL=")
	fields := strings.Fields(exported)
	check.Require(t, len(fields) == 4 && fields[2] == "OPENAI_MODEL=demo", "got %q, want three variables", exported)
	url := strings.TrimPrefix(fields[1], "OPENAI_BASE_URL=")
	converse(t, "What is 1 plus 2?\n", "-demo", "-yes", "-base-url", url, "-model", "demo").check(t, "The result: 1 + 2 = 3.\n", 0)
	p.signal(os.Interrupt)
	p.wait(0)
}

// Ctrl-C ends the program while it waits for a silent server.
func TestInterruptWhileStarting(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pid")
	check.Must(t, syscall.Mkfifo(file, 0o600))
	p := start(t, "-config", configure(t, "mute=!"+entry(t, "mute", pidFile, file)))
	pid := pidOf(t, file) // waits for the server
	p.signal(syscall.SIGTERM)
	p.ended(143, pid)
}
