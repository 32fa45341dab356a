package service

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.Main(m, map[string]func() int{"service": func() int {
		args := strings.Fields(os.Getenv("SERVICE_FLAGS"))
		if len(args) > 0 && args[0] == "runs" {
			return RunsCommand().Main(args[1:])
		}
		return Main(args)
	}})
}

// settings are the options of a service with a database of its own.
func settings(t testing.TB, flags ...string) *options {
	t.Helper()
	file := filepath.Join(t.TempDir(), "runs.db")
	flags = slices.Concat([]string{"-store", file, "-lease", "1m", "-grace", "1ms"}, byTemporal(file), flags)
	o, err := parse(flags, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// byTemporal are the flags that have a Temporal server drive the runs of a database, if the environment names
// one: evals/temporal has tests of this package run that way.
func byTemporal(database string) []string {
	at := os.Getenv("SERVICE_TEMPORAL")
	if at == "" {
		return nil
	}
	return []string{"-temporal", at, "-namespace", os.Getenv("SERVICE_NAMESPACE"), "-search-attributes", "-queue", strings.ReplaceAll(database, "/", "_")}
}

// start serves until the test ends, and returns the address.
func start(t testing.TB, o *options, change func(*service)) string {
	t.Helper()
	return startLogging(t, o, slog.New(slog.DiscardHandler), change)
}

// startLogging is start with a log, and changes of the service.
func startLogging(t testing.TB, o *options, log *slog.Logger, changes ...func(*service)) string {
	t.Helper()
	s, err := assemble(t.Context(), o, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	for _, change := range changes {
		if change != nil {
			change(s)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.serve(ctx, listener, o.max) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("the service ended with %v", err)
		}
	})
	return "http://" + listener.Addr().String()
}

// person is a user at a service.
type person struct {
	t     testing.TB
	url   string
	token string
}

// do sends a request, and reads the response into out if there is one.
func (p person) do(method, path, body string, out any) (code int, head http.Header) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, p.url+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+p.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err == nil && out != nil {
		err = json.Unmarshal(data, out)
	}
	if err != nil {
		p.t.Fatalf("%s %s: %s %q: %v", method, path, resp.Status, data, err)
	}
	return resp.StatusCode, resp.Header
}

// send sends a request, and returns the run of the response.
func (p person) send(req *http.Request) (code int, head http.Header, id string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(req.Context(), time.Minute)
	defer cancel()
	req.Header.Set("Authorization", "Bearer "+p.token)
	resp, err := http.DefaultClient.Do(req.WithContext(ctx))
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	var body struct{ Run string }
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
		p.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, body.Run
}

// aside is a test for goroutines other than its own: Fatal ends the goroutine.
type aside struct{ testing.TB }

func (a aside) Fatal(values ...any) {
	a.Helper()
	a.Error(values...)
	runtime.Goexit()
}

func (a aside) Fatalf(format string, values ...any) {
	a.Helper()
	a.Errorf(format, values...)
	runtime.Goexit()
}

// run begins a run.
func (p person) run(input string) (id string) {
	p.t.Helper()
	var begun struct{ Run, Error string }
	if code, _ := p.do("POST", "/runs", fmt.Sprintf(`{"input":%q}`, input), &begun); code != http.StatusCreated {
		p.t.Fatalf("begin a run: got %d %s", code, begun.Error)
	}
	return begun.Run
}

// state is the state of a run.
func (p person) state(id string) (v view) {
	p.t.Helper()
	if code, _ := p.do("GET", "/runs/"+id, "", &v); code != http.StatusOK {
		p.t.Fatalf("show run %s: got %d", id, code)
	}
	return v
}

// event is one of a stream.
type event struct {
	id   string
	data string
	Type string
}

// follow reads the events of a run after one, until a condition holds.
func (p person) follow(id, last string, until func(event) bool) (all []event) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", p.url+"/runs/"+id+"/events", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+p.token)
	req.Header.Set("Last-Event-ID", last)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	e := event{}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			e.id = id
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		e.data = data
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			p.t.Fatal(err)
		}
		if all = append(all, e); until(e) {
			return all
		}
		e = event{}
	}
	p.t.Fatalf("the stream of run %s ended after %v: %s %v", id, all, resp.Status, lines.Err())
	return nil
}

// is waits for an event of a type.
func is(name string) func(event) bool { return func(e event) bool { return e.Type == name } }

// settled waits until a run is over or waits, by its events.
func (p person) settled(id string) view {
	p.t.Helper()
	var v view
	p.follow(id, "", func(e event) bool {
		if e.Type != "refresh" && e.Type != "suspended" && e.Type != "answer" {
			return false
		}
		v = p.state(id)
		return v.Status != run.StatusRunning
	})
	return v
}

// ids are the numbers of events that have a record.
func ids(events []event) string {
	var b bytes.Buffer
	for _, e := range events {
		if e.id != "" {
			fmt.Fprintf(&b, "%s ", e.id)
		}
	}
	return strings.TrimSpace(b.String())
}
