package browsertest_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

// patience is how long a test waits for what has to come.
const patience = time.Minute

// built is the program, built once for all tests.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "web")
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "web")
	cmd := exec.Command("go", "build", "-o", binary, ".")
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return binary, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	closeBrowser()
	if binary, err := built(); err == nil {
		_ = os.RemoveAll(filepath.Dir(binary))
	}
	os.Exit(code)
}

type program struct {
	url  string
	args []string
	cmd  *exec.Cmd
	done chan struct{}
	log  chan string // its last lines
}

var address = regexp.MustCompile(`http://\S+:\d+`)

// start runs the program with a new database until the test ends.
func start(t *testing.T, args ...string) *program {
	t.Helper()
	p := &program{log: make(chan string, 1000), args: []string{
		"serve", "-listen", testenv.FreeAddress(t), "-store", filepath.Join(t.TempDir(), "web.db"), "-demo-users", "Ada,Grace", "-views", "127.0.0.1:0",
	}}
	p.args = append(p.args, args...)
	t.Cleanup(func() { p.end(t, syscall.SIGTERM) })
	p.run(t)
	return p
}

func (p *program) run(t *testing.T, more ...string) {
	t.Helper()
	binary := check.Value(built())(t)
	p.cmd = exec.Command(binary, append(slices.Clip(p.args), more...)...)
	p.cmd.Env = append(os.Environ(), "OPENAI_BASE_URL=", "OPENAI_MODEL=", "OPENAI_API_KEY=none")
	stderr := check.Value(p.cmd.StderrPipe())(t)
	check.Must(t, p.cmd.Start())
	found, done := make(chan string, 1), make(chan struct{})
	p.done = done
	go func() {
		defer close(done)
		for lines := bufio.NewReader(stderr); ; {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			line = strings.TrimSuffix(line, "\n")
			if url := address.FindString(line); strings.HasPrefix(line, "The page is at") {
				found <- url
				continue
			}
			t.Log(line)
			select {
			case p.log <- line:
			default: // nobody waits for a line
			}
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	select {
	case p.url = <-found:
	case <-done:
		t.Fatal("the program has ended")
	case <-ctx.Done():
		t.Fatal("the program does not say where it listens")
	}
}

func (p *program) logs(t *testing.T, text string) {
	t.Helper()
	late := time.After(patience)
	for {
		select {
		case line := <-p.log:
			if strings.Contains(line, text) {
				return
			}
		case <-late:
			t.Fatalf("the log has no line with %q", text)
		}
	}
}

func (p *program) again(t *testing.T) {
	t.Helper()
	p.run(t, "-listen", strings.TrimPrefix(p.url, "http://"))
}

func (p *program) end(t *testing.T, how syscall.Signal) {
	t.Helper()
	if p.cmd == nil || p.cmd.Process == nil || p.cmd.Process.Signal(how) != nil {
		return // it has not begun, or has ended
	}
	select {
	case <-p.done:
	case <-time.After(patience):
		t.Error("the program does not end")
		_ = p.cmd.Process.Kill()
		<-p.done
	}
	_ = p.cmd.Wait()
}
