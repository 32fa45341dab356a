package child

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

// TestMain makes this program the child process of its own tests.
func TestMain(m *testing.M) { testenv.Main(m, roles) }

var roles = map[string]func() int{
	"echo": func() int {
		_, _ = io.Copy(os.Stdout, os.Stdin)
		return 0
	},
	"fail": func() int {
		fmt.Fprintln(os.Stderr, "config.json: no such file")
		return 3
	},
	"deaf": func() int { // ignores its stdin, ends at SIGTERM
		fmt.Println("ready")
		return testenv.Stay()
	},
	"stubborn": func() int {
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready")
		return testenv.Stay()
	},
	"chatty": func() int { // writes all that before it reads its stdin
		fmt.Println("ready")
		fmt.Print(strings.Repeat("x", 1<<20))
		_, _ = io.Copy(io.Discard, os.Stdin)
		return 5
	},
	"burst": func() int {
		fmt.Print(strings.Repeat("x", burst))
		return 0
	},
	"stderr": func() int {
		for i := range 1 << 14 {
			fmt.Fprintf(os.Stderr, "line %058d\n", i)
		}
		return 0
	},
	"greet": func() int {
		fmt.Fprintln(os.Stderr, "hello")
		_, _ = io.Copy(os.Stdout, os.Stdin)
		return 0
	},
	"mute": func() int { // closes its stderr long before it ends
		_ = os.Stderr.Close()
		_, _ = io.Copy(os.Stdout, os.Stdin)
		return 4
	},
	"environment": func() int {
		dir, _ := os.Getwd()
		fmt.Printf("%s %s %s", os.Getenv("A"), filepath.Base(dir), os.Args[1:])
		return 0
	},
}

// burst is the size of a write that a pipe takes at once, on Windows, too.
const burst = 4 << 10

// start runs this program in a role, and checks at the end that no process is left.
func start(t *testing.T, role string, change ...func(*Spec)) *Process {
	t.Helper()
	s := Spec{Path: os.Args[0], Env: append(os.Environ(), testenv.Role(role)), StopTimeout: 5 * time.Second}
	for _, f := range change {
		f(&s)
	}
	p := check.Value(Start(s))(t)
	t.Cleanup(func() {
		check.NoError(t, p.Stop(), "stop")
		left := members(t, p.Pid())
		check.That(t, len(left) == 0, "processes %q of group %d are alive after Stop", left, p.Pid())
	})
	return p
}

// within runs f and fails if it takes longer than d.
func within(t *testing.T, d time.Duration, what string, f func()) {
	t.Helper()
	start := time.Now()
	f()
	took := time.Since(start)
	check.That(t, took <= d, "%s took %v, want at most %v", what, took, d)
}

func readLine(t *testing.T, r io.Reader) string {
	t.Helper()
	return strings.TrimSpace(check.Value(bufio.NewReader(r).ReadString('\n'))(t))
}

func readAll(t *testing.T, p *Process) string {
	t.Helper()
	return string(check.Value(io.ReadAll(p.Stdout()))(t))
}

func TestExitByItself(t *testing.T) {
	p := start(t, "fail")
	check.Equal(t, "output", readAll(t, p), "")
	<-p.Done()
	check.Equal(t, "status", p.Status(), "exit status 3")
	check.Equal(t, "stderr", p.StderrExcerpt(), "config.json: no such file")
	check.Fails(t, check.Err(p.Stdin().Write([]byte("x"))), "writing to a dead process")
}

func TestStopSteps(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no signals on Windows")
	}
	const step = 300 * time.Millisecond
	for _, test := range []struct {
		role, status string
		steps        time.Duration
	}{
		{"deaf", "signal: terminated", 1},
		{"stubborn", "signal: killed", 2},
	} {
		t.Run(test.role, func(t *testing.T) {
			p := start(t, test.role, func(s *Spec) { s.StopTimeout = step })
			readLine(t, p.Stdout())
			began := time.Now()
			check.Must(t, p.Stop())
			took := time.Since(began)
			check.That(t, took >= test.steps*step, "Stop took %v, want at least %d steps of %v", took, test.steps, step)
			check.Equal(t, "status", p.Status(), test.status)
		})
	}
}

func TestKill(t *testing.T) {
	for name, kill := range map[string]func(*Process){
		"before Stop":  func(p *Process) { p.Kill() },
		"during Stop":  func(p *Process) { go p.Kill() },
		"without Stop": func(p *Process) { p.Kill(); <-p.Done() },
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, "stubborn", func(s *Spec) { s.StopTimeout = time.Hour })
			readLine(t, p.Stdout())
			within(t, testenv.Patience, "the end", func() {
				kill(p)
				check.NoError(t, p.Stop())
			})
			check.That(t, runtime.GOOS == "windows" || p.Status() == "signal: killed", "got status %q, want signal: killed", p.Status())
		})
	}
}

func TestStopConcurrently(t *testing.T) {
	p := start(t, "echo")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			check.NoError(t, p.Stop())
			check.That(t, p.Status() != "", "Stop returned before the end of the process")
		})
	}
	wg.Wait()
}

// A server with a full output pipe reads its input only after its output is read.
func TestStopReadsOutput(t *testing.T) {
	p := start(t, "chatty")
	check.Must(t, check.Err(io.ReadFull(p.Stdout(), make([]byte, 6))))
	check.Must(t, p.Stop())
	check.Equal(t, "status", p.Status(), "exit status 5")
}

// members returns the processes of a group without zombies, where there is /proc. Wine shows that of its host: other numbers.
func members(t *testing.T, group int) (pids []string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		return nil
	}
	for _, path := range check.Value(filepath.Glob("/proc/[0-9]*/stat"))(t) {
		pid := filepath.Base(filepath.Dir(path))
		if f := stat(pid); len(f) > 2 && f[2] == strconv.Itoa(group) && f[0] != "Z" {
			pids = append(pids, pid)
		}
	}
	return pids
}

// stat returns the state, parent, group, … of a process: proc_pid_stat(5).
func stat(pid string) []string {
	data, _ := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	i := bytes.LastIndexByte(data, ')') // end of the name; the name may hold anything
	return strings.Fields(string(data[i+1:]))
}

// A reader that comes after drainTimeout still gets the output.
func TestLateReader(t *testing.T) {
	p := start(t, "burst")
	<-p.Done()
	err := p.stdout.file.SetReadDeadline(time.Now().Add(-time.Second))
	check.Require(t, err == nil || runtime.GOOS == "windows", "%v", err)
	check.Equal(t, "bytes of output", len(readAll(t, p)), burst)
}

func TestStderrForwarded(t *testing.T) {
	var w strings.Builder // Stop comes before reading it
	p := start(t, "stderr", func(s *Spec) { s.Stderr = &w })
	<-p.Done()
	check.Must(t, p.Stop())
	check.Equal(t, "bytes of stderr", w.Len(), 1<<20)
	got := p.StderrExcerpt()
	check.That(t, len(got) <= maxExcerpt && strings.HasPrefix(got, "line ") && strings.Contains(got, "\n…\nline ") && strings.HasSuffix(got, "16383"),
		"got %d bytes, %.20q to %q, want whole lines up to 16383", len(got), got, got[max(0, len(got)-20):])
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// A process that writes more to its stderr than a pipe holds is not delayed, without Spec.Stderr and by one that fails.
func TestStderrUnread(t *testing.T) {
	calls := 0
	fails := writerFunc(func([]byte) (int, error) { calls++; return 0, io.ErrShortWrite })
	for _, stderr := range []io.Writer{nil, fails} {
		p := start(t, "stderr", func(s *Spec) { s.Stderr = stderr })
		within(t, testenv.Patience, "the end of the process", func() { <-p.Done() })
		check.Must(t, p.Stop())
		got, want := p.StderrExcerpt(), fmt.Sprintf("line %058d", 1<<14-1)
		check.That(t, strings.HasSuffix(got, want), "stderr ends with %q, want %q", got[max(0, len(got)-len(want)):], want)
	}
	check.Equal(t, "calls of the writer", calls, 1)
}

func TestStderrWriterStuck(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	p := start(t, "stderr", func(s *Spec) {
		s.StopTimeout = 100 * time.Millisecond
		s.Stderr = writerFunc(func(b []byte) (int, error) { <-release; return len(b), nil })
	})
	within(t, testenv.Patience, "the end of the process", func() { <-p.exited })
	within(t, testenv.Patience, "Stop", func() { check.NoError(t, p.Stop()) })
	check.Equal(t, "status", p.Status(), "exit status 0")
}

func TestEnvironmentDirectoryArguments(t *testing.T) {
	t.Setenv("A", "outer")
	dir := t.TempDir()
	p := start(t, "environment", func(s *Spec) {
		s.Path, _ = filepath.Abs(s.Path)
		s.Args = []string{"one", "two words"}
		s.Dir, s.Env = dir, append(s.Env, "A=first", "A=last")
	})
	check.Equal(t, "", readAll(t, p), "last "+filepath.Base(dir)+" [one two words]")
}

func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	script, text := filepath.Join(dir, "script"), filepath.Join(dir, "text")
	check.Must(t, os.WriteFile(script, []byte("#!/no/such/interpreter\n"), 0o755))
	check.Must(t, os.WriteFile(text, nil, 0o644))
	t.Setenv("PATH", dir)
	t.Chdir(t.TempDir())
	check.Must(t, os.Mkdir("script", 0o755)) // not the one in PATH
	for _, test := range []struct {
		name string
		spec Spec
		want string
		is   error
	}{
		{"home", Spec{Path: "~/server"}, "no shell expands ~ or $ here", fs.ErrNotExist},
		{"variable", Spec{Path: "$NOWHERE/server"}, "no shell expands ~ or $ here", fs.ErrNotExist},
		{"directory", Spec{Path: dir}, "it is a directory", nil},
		{"not to be run", Spec{Path: text}, "use chmod +x", nil},
		{"not in PATH", Spec{Path: "no-such-mcp-server"}, `start "no-such-mcp-server": executable file not found in`, exec.ErrNotFound},
		{"no such file", Spec{Path: filepath.Join(dir, "gone")}, "gone", fs.ErrNotExist},
		{"no directory", Spec{Path: os.Args[0], Dir: filepath.Join(dir, "nowhere")}, "working directory: ", fs.ErrNotExist},
		{"relative", Spec{Path: "./gone", Dir: dir}, "a relative path starts from the working directory", fs.ErrNotExist},
		{"no interpreter", Spec{Path: script}, "the file exists", nil},
		{"no interpreter in PATH", Spec{Path: "script"}, "the file exists", nil},
		{"empty", Spec{}, `start ""`, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			switch {
			case runtime.GOOS == "windows" && test.name == "not to be run":
				test.want, test.is = "Windows cannot run files of this kind", fs.ErrNotExist
			case runtime.GOOS == "windows" && test.name == "no interpreter in PATH":
				test.want, test.is = "install it", exec.ErrNotFound
			}
			p, err := Start(test.spec)
			if err == nil {
				_ = p.Stop()
				t.Fatal("the program started")
			}
			if check.Contains(t, "", err.Error(), test.want); test.is != nil {
				check.Is(t, err, test.is)
			}
		})
	}
}

// Stop waits for killed processes, and reports a process that does not end.
func TestAwaitEnd(t *testing.T) {
	for name, test := range map[string]struct {
		exits bool
		runs  time.Duration
		want  string
	}{
		"all has ended":      {true, 0, "<nil>"},
		"a slow descendant":  {true, killTimeout - time.Second, "<nil>"},
		"a descendant stays": {true, time.Hour, "descendant did not end within 5s of being killed"},
		"the process stays":  {false, 0, "did not end within 5s of being killed"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				exited := make(chan struct{})
				if test.exits {
					close(exited)
				}
				start := time.Now()
				check.Equal(t, "", fmt.Sprint(awaitEnd(exited, func() bool { return time.Since(start) < test.runs })), test.want)
			})
		})
	}
}

// stuck is our end of a pipe of Windows, whose Close waits for a Read or Write that began at the same time.
type stuck struct{ release chan struct{} }

func (s stuck) Read([]byte) (int, error)        { <-s.release; return 0, io.EOF }
func (s stuck) Write([]byte) (int, error)       { <-s.release; return 0, io.ErrClosedPipe }
func (s stuck) Close() error                    { <-s.release; return nil }
func (s stuck) SetReadDeadline(time.Time) error { return os.ErrNoDeadline }

// A pipe that cannot be closed keeps no process alive, and holds up no caller of Stop.
func TestStopLeavesStuckPipes(t *testing.T) {
	real := start(t, "deaf")
	readLine(t, real.Stdout())
	end := stuck{make(chan struct{})}
	defer close(end.release)
	p := &Process{
		process: real.process, group: real.group, exited: real.exited, done: real.done, stopTimeout: 100 * time.Millisecond,
		stdin: end, stdout: output{file: end}, stderr: output{file: end}, noWait: make(chan struct{}), stopped: make(chan struct{}),
	}
	p.wg.Go(func() { p.drain(nil, make(chan struct{})) })
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() { check.NoError(t, p.Stop()) })
	}
	within(t, testenv.Patience, "Stop", all.Wait)
	check.That(t, real.Status() != "", "the process has not ended")
}

// A Write that blocks ends with Stop, also if it begins at the same moment.
func TestStopWhileWriting(t *testing.T) {
	for range 5 {
		p := start(t, "stubborn", func(s *Spec) { s.StopTimeout = 20 * time.Millisecond })
		wrote := make(chan error)
		go func() {
			for {
				if _, err := p.Stdin().Write(make([]byte, 1<<10)); err != nil {
					wrote <- err
					return
				}
			}
		}()
		within(t, testenv.Patience, "Stop", func() { check.NoError(t, p.Stop()) })
		within(t, testenv.Patience, "Write", func() { <-wrote })
	}
}
