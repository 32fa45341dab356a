package chat

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/demo"
	"github.com/mcpchain/mcpchain/internal/check"
)

// Variables of the environment that make the test binary the program, or a server.
const (
	asProgram = "CHATBOT_TEST_PROGRAM"
	asServer  = "CHATBOT_TEST_SERVER"
	impatient = "CHATBOT_TEST_IMPATIENT" // the program starts without slow servers
)

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(asServer) != "":
		serveBadly(os.Getenv(asServer))
	case len(os.Args) > 1 && os.Args[1] == demo.Name: // a server does not get the environment
		os.Exit(demo.Command().Main(os.Args[2:]))
	case os.Getenv(asProgram) != "":
		if os.Getenv(impatient) == "" {
			startPatience = patience
		}
		os.Exit(Main(os.Args[1:]))
	default:
		waitTogether()
		os.Exit(m.Run())
	}
}

// waitTogether runs more tests at once than there are processors, because they wait for programs most of the time.
func waitTogether() {
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		_ = parallel.Value.Set("8")
	}
}

// patience bounds every wait for the program.
const patience = 3 * time.Minute

type program struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout chan string // lines
	stderr chan string
}

func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), check.Value(os.Executable())(t), args...)
	cmd.Env = []string{asProgram + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TERM=xterm"}
	return cmd
}

func start(t *testing.T, args ...string) *program {
	t.Helper()
	p := &program{t: t, cmd: command(t, args...), stdout: make(chan string, 1000), stderr: make(chan string, 1000)}
	p.stdin = check.Value(p.cmd.StdinPipe())(t)
	stdout := check.Value(p.cmd.StdoutPipe())(t)
	stderr := check.Value(p.cmd.StderrPipe())(t)
	check.Must(t, p.cmd.Start())
	go scan(stdout, p.stdout)
	go scan(stderr, p.stderr)
	return p
}

func scan(r io.Reader, lines chan<- string) {
	defer close(lines)
	for s := bufio.NewScanner(r); s.Scan(); {
		lines <- s.Text()
	}
}

func (p *program) say(line string) {
	p.t.Helper()
	check.Must(p.t, check.Err(io.WriteString(p.stdin, line+"\n")))
}

func (p *program) await(lines <-chan string, text string) string {
	p.t.Helper()
	deadline := time.After(patience)
	var seen []string
	for {
		select {
		case line, ok := <-lines:
			if seen = append(seen, line); strings.Contains(line, text) && ok {
				return line
			}
			if !ok {
				p.t.Fatalf("the output ended without %q:\n%s", text, strings.Join(seen, "\n"))
			}
		case <-deadline:
			p.t.Fatalf("no line with %q:\n%s", text, strings.Join(seen, "\n"))
		}
	}
}

func (p *program) ask(line string, output <-chan string, text string) {
	p.t.Helper()
	p.say(line)
	p.await(output, text)
}

func (p *program) close() {
	p.t.Helper()
	check.Must(p.t, p.stdin.Close())
}

// wait drops the remaining output, and checks the exit status.
func (p *program) wait(want int) {
	p.t.Helper()
	timer := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	for range p.stdout {
	}
	for range p.stderr {
	}
	_ = p.cmd.Wait() // see ProcessState
	check.Equal(p.t, "status", p.cmd.ProcessState.ExitCode(), want)
}

type outcome struct {
	stdout, stderr string
	status         int
}

func converse(t *testing.T, input string, args ...string) outcome {
	t.Helper()
	return finish(t, command(t, args...), input)
}

func finish(t *testing.T, cmd *exec.Cmd, input string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &stdout, &stderr
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	_ = cmd.Run() // see ProcessState
	return outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// check compares the answers and the status, and looks for texts on stderr.
func (o outcome) check(t *testing.T, stdout string, status int, stderr ...string) {
	t.Helper()
	check.That(t, o.stdout == stdout && o.status == status,
		"got status %d and\n%swant status %d and\n%sstandard error:\n%s", o.status, o.stdout, status, stdout, o.stderr)
	for _, want := range stderr {
		check.That(t, strings.Contains(o.stderr, want), "standard error lacks %q:\n%s", want, o.stderr)
	}
}

func put(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	check.Must(t, os.WriteFile(path, []byte(text), mode))
}

// write writes a file in a new folder of the test, and returns its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	put(t, path, text, 0o600)
	return path
}

// entry returns the entry of a test server of a kind. env are pairs of further variables.
func entry(t *testing.T, kind string, env ...string) string {
	t.Helper()
	self := check.Value(os.Executable())(t)
	vars := map[string]string{asServer: kind}
	for pair := range slices.Chunk(env, 2) {
		vars[pair[0]] = pair[1]
	}
	return string(check.Value(json.Marshal(map[string]any{"command": self, "env": vars}))(t))
}

// entries returns a file of servers, each on a line of its own: KIND or NAME=KIND for a test server, or NAME=!TEXT for
// another entry.
func entries(t *testing.T, servers ...string) string {
	t.Helper()
	var lines []string
	for _, server := range servers {
		name, kind, named := strings.Cut(server, "=")
		if !named {
			kind = name
		}
		text, other := strings.CutPrefix(kind, "!")
		if !other {
			text = entry(t, kind)
		}
		lines = append(lines, fmt.Sprintf("%q: %s", name, text))
	}
	return "{\"mcpServers\": {\n" + strings.Join(lines, ",\n") + "\n}}\n"
}

// configure writes a file of servers in a new folder, and returns its path.
func configure(t *testing.T, servers ...string) string {
	t.Helper()
	return write(t, "mcp.json", entries(t, servers...))
}
