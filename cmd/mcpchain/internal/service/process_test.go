//go:build unix

package service

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/database"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

type process struct {
	cmd  *exec.Cmd
	over chan error
	log  strings.Builder // complete when it is over
}

var listens = regexp.MustCompile(`url=(\S+)`)

func launch(t *testing.T, file string, lease time.Duration, flags ...string) (*process, string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), testenv.Role("service"), fmt.Sprintf("SERVICE_FLAGS=-listen 127.0.0.1:0 -lease %v -store %s ", lease, file)+strings.Join(append(byTemporal(file), flags...), " "))
	out, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	check.Must(t, err)
	p := &process{cmd: cmd, over: make(chan error, 1)}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-p.over // its files are closed
	})
	url := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			p.log.WriteString(lines.Text() + "\n")
			if m := listens.FindStringSubmatch(lines.Text()); m != nil && len(url) == 0 {
				url <- m[1]
			}
		}
		p.over <- cmd.Wait()
		close(p.over)
		close(url)
	}()
	select {
	case at := <-url:
		check.Require(t, at != "", "the service has ended")
		return p, at
	case <-time.After(time.Minute):
		t.Fatal("the service does not listen")
	}
	return nil, ""
}

func (p *process) end(t *testing.T, sig os.Signal) error {
	t.Helper()
	check.Must(t, p.cmd.Process.Signal(sig))
	select {
	case err := <-p.over:
		return err
	case <-time.After(time.Minute):
		t.Fatalf("the service has not ended after %v", sig)
	}
	return nil
}

// counting begins a run that calls a tool for a while, and returns once the call is under way, with the events up to there.
func (p person) counting() (id string, events []event) {
	p.t.Helper()
	for range 20 {
		id = p.run("Count to 60")
		events = p.follow(id, "", is("tool_start"))
		if p.state(id).Status == run.StatusRunning {
			return id, events
		}
	}
	p.t.Fatal("each run is over before it is looked at")
	return "", nil
}

// drained reads the events of a run until the stream ends, and then gives the error of that, nil if the service ended it.
func (p person) drained(id string) <-chan error {
	p.t.Helper()
	resp := p.request(context.Background(), "GET", "/runs/"+id+"/events", "")
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		ended <- err
	}()
	return ended
}

// TestRestart ends the process while one run calls a tool and another waits for a person. Both continue in the next
// process, and so does the stream. A process that is stopped lets its runs go, whatever their leases; it ends the stream.
func TestRestart(t *testing.T) {
	for sig, lease := range map[os.Signal]time.Duration{syscall.SIGTERM: time.Hour, syscall.SIGKILL: 3 * time.Second} {
		t.Run(sig.String(), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "runs.db")
			first, url := launch(t, file, lease)
			p := person{t, url, "demo-ada"}
			asking := p.run("Book a table for 4 at Luigi")
			q := p.settled(asking).Asks[0]
			counting, before := p.counting()
			stream := p.drained(counting)
			err := first.end(t, sig)
			check.That(t, (err == nil) == (sig == syscall.SIGTERM), "the process ended with %v", err)
			check.Equal(t, "the stream ended without an error", <-stream == nil, sig == syscall.SIGTERM)
			_, p.url = launch(t, file, lease)
			got := p.state(asking)
			check.That(t, got.Status == run.StatusWaiting && got.Asks[0].ID == q.ID, "got %s with %v, want the question as it was", got.Status, got.Asks)
			p.answer(asking, q.ID, `"action":"deny","reason":"too late"`)
			p.follow(asking, "", is("answer"))
			got = p.state(asking)
			check.That(t, got.Status == run.StatusFinished, "got %s, want a run that continues after the answer", got.Status)
			last := strings.Fields(ids(before))
			after := p.follow(counting, last[len(last)-1], is("answer"))
			got = p.state(counting)
			check.That(t, got.Status == run.StatusFinished, "got %s, want a run that continues", got.Status)
			check.Equal(t, "events of the stream", ids(before)+" "+ids(after), ids(p.follow(counting, "", is("answer"))))
		})
	}
}

func TestFlags(t *testing.T) {
	for flags, want := range map[string]string{
		"": "", "-listen localhost:1": "", "-listen [::1]:1": "", "-listen :8080": "-users",
		"-listen 0.0.0.0:8080": "-users", "-listen example.com:8080": "-users", "-listen 8080": "-listen",
		"-listen :1 -users tokens": "", "-role queen": "-role",
		"-role worker":                    "needs -temporal and a Postgres database in -store:",
		"-role front -store postgres://p": "needs -temporal:",
		"-role front -temporal t:1":       "needs a Postgres database in -store:", "-listen :8080 -config mcp.json": "-users",
		"-grace -1s": "-grace", "-grace 6m": "-grace", "-grace 0": "",
		"-role worker -temporal t:1 -store postgres://p": "",
		"-role front -temporal t:1 -store f":             "a Postgres database in -store", "-search-attributes": "-temporal",
		"-keep 0": "-keep has to be above 0", "-running 0": "-running has to be above 0",
		"-rate -1": "-rate has to be above 0", "extra": "extra",
	} {
		_, err := parse(strings.Fields(flags), new(strings.Builder))
		check.That(t, (want != "" || err == nil) && (want == "" || err != nil && strings.Contains(err.Error(), want)),
			"%s: got %v, want an error with %q", flags, err, want)
	}
}

// TestWarningOfDemoUsers has servers of a file without users of a file.
func TestWarningOfDemoUsers(t *testing.T) {
	file := inFile(t, "mcp.json", fmt.Sprintf(`{"mcpServers":{"real":{"url":%q}}}`, demoServer(t, 0)))
	process, _ := launch(t, filepath.Join(t.TempDir(), "runs.db"), time.Minute, "-config", file)
	check.NoError(t, process.end(t, syscall.SIGTERM))
	want := `level=WARN msg="the users are a demo: everybody knows their tokens" tokens="[demo-ada demo-bob]" "they may call the servers of"=` + file
	check.Contains(t, "the log", process.log.String(), want)
}

// TestBusyPort names the flag for another address before servers start.
func TestBusyPort(t *testing.T) {
	busy := check.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer busy.Close()
	o := &options{Hosting: cli.Hosting{Listen: busy.Addr().String()}, role: both} // without a store, so that assemble would fail
	check.Text(t, o.run(t.Context(), slog.New(slog.DiscardHandler)), "; -listen names another address", "")
}

// TestGrace stops a process with a call under way, which ends within the grace or is cut. The log says what becomes of runs.
func TestGrace(t *testing.T) {
	for name, tt := range map[string]struct {
		grace    string
		outcomes int
	}{"long enough": {"1m", 1}, "too short": {"1ms", 0}} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "runs.db")
			process, url := launch(t, file, time.Hour, "-grace", tt.grace)
			p := person{t, url, "demo-ada"}
			stopped, _ := p.counting()
			check.Equal(t, "a stop", p.code("DELETE", "/runs/"+stopped, ""), http.StatusAccepted)
			p.settled(p.run("Book a table for 4 at Luigi"))
			id, _ := p.counting()
			check.NoError(t, process.end(t, syscall.SIGTERM))
			log := process.log.String()
			for _, want := range []string{
				`level=WARN msg="the model is a demo`, `msg="a server can be used" server=demo`, `msg="the service drives runs"`,
				`msg="the service stops, and its runs continue later" runs=1 "calls under way"=1`,
			} {
				check.Contains(t, "the log", log, want)
			}
			check.Equal(t, "warns of calls in doubt", strings.Contains(log, `level=WARN msg="calls under way are interrupted, and in doubt" run=`), tt.outcomes == 0)
			db := check.Value(database.Open(t.Context(), file))(t)
			defer db.Close()
			kept := check.Value(db.Runs.Load(t.Context(), p.key(id)))(t)
			outcomes := 0
			for _, r := range kept.Records {
				if _, ok := ledger.ChangeOf(r).(*ledger.Outcome); ok {
					outcomes++
				}
			}
			check.Equal(t, "results of the call", outcomes, tt.outcomes)
		})
	}
}
