package service

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/sse"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/mcpclient"
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
	return check.Value(parse(flags, io.Discard))(t)
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

func start(t testing.TB, o *options, change func(*service)) string {
	t.Helper()
	return startLogging(t, o, slog.New(slog.DiscardHandler), change)
}

// startLogging is start with a log, and changes of the service.
func startLogging(t testing.TB, o *options, log *slog.Logger, changes ...func(*service)) string {
	t.Helper()
	s := check.Value(assemble(t.Context(), o, log))(t)
	t.Cleanup(s.close)
	for _, change := range changes {
		if change != nil {
			change(s)
		}
	}
	listener := check.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.serve(ctx, listener, o.connections) }()
	t.Cleanup(func() {
		stop()
		check.NoError(t, <-done, "the service ended with")
	})
	return "http://" + listener.Addr().String()
}

type person struct {
	t          testing.TB
	url, token string
}

// request sends a request with headers, given as names and values, and returns the response.
func (p person) request(ctx context.Context, method, path, body string, headers ...string) *http.Response {
	p.t.Helper()
	req := check.Value(http.NewRequestWithContext(ctx, method, p.url+path, strings.NewReader(body)))(p.t)
	req.Header.Set("Authorization", "Bearer "+p.token)
	for pair := range slices.Chunk(headers, 2) {
		req.Header.Set(pair[0], pair[1])
	}
	return check.Value(http.DefaultClient.Do(req))(p.t)
}

// do sends a request, and reads the response into out if there is one.
func (p person) do(method, path, body string, out any, headers ...string) (code int, head http.Header) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	resp := p.request(ctx, method, path, body, headers...)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err == nil && out != nil {
		err = json.Unmarshal(data, out)
	}
	check.Require(p.t, err == nil, "%s %s: %s %q: %v", method, path, resp.Status, data, err)
	if out == nil {
		p.t.Logf("%s %s: %s %.200s", method, path, resp.Status, data)
	}
	return resp.StatusCode, resp.Header
}

func (p person) code(method, path, body string) int {
	p.t.Helper()
	code, _ := p.do(method, path, body, nil)
	return code
}

// answer answers a question of a run with what follows "ask" in the JSON.
func (p person) answer(id, ask, answer string) (code int) {
	p.t.Helper()
	return p.code("POST", "/runs/"+id+"/answers", fmt.Sprintf(`[{"ask":%q,%s}]`, ask, answer))
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

func (p person) run(input string) (id string) {
	p.t.Helper()
	var begun struct{ Run, Error string }
	code, _ := p.do("POST", "/runs", fmt.Sprintf(`{"input":%q}`, input), &begun)
	check.Require(p.t, code == http.StatusCreated, "begin a run: got %d %s", code, begun.Error)
	return begun.Run
}

func (p person) state(id string) (v runJSON) {
	p.t.Helper()
	code, _ := p.do("GET", "/runs/"+id, "", &v)
	check.Require(p.t, code == http.StatusOK, "show run %s: got %d", id, code)
	return v
}

type event struct{ id, data, Type string }

// follow reads the events of a run after one, until a condition holds.
func (p person) follow(id, last string, until func(event) bool) (all []event) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	resp := p.request(ctx, "GET", "/runs/"+id+"/events", "", "Last-Event-ID", last)
	defer resp.Body.Close()
	for stream := sse.NewReader(resp.Body, 1<<20); ; {
		next, err := stream.Next()
		check.Require(p.t, err == nil, "the stream of run %s ended after %v: %s %v", id, all, resp.Status, err)
		if next.Data == nil {
			continue
		}
		e := event{id: next.ID, data: string(next.Data)}
		check.Must(p.t, json.Unmarshal(next.Data, &e))
		if all = append(all, e); until(e) {
			return all
		}
	}
}

func is(name string) func(event) bool { return func(e event) bool { return e.Type == name } }

func (p person) settled(id string) runJSON {
	p.t.Helper()
	var v runJSON
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
	var all []string
	for _, e := range events {
		if e.id != "" {
			all = append(all, e.id)
		}
	}
	return strings.Join(all, " ")
}

func inFile(t *testing.T, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	check.Must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// demoServer returns the address of a demo server: the demo, or the desk.
func demoServer(t *testing.T, n int) string {
	t.Helper()
	servers, end, err := hosting.DemoServers()
	check.Must(t, err)
	t.Cleanup(func() { _ = end() })
	return servers[n].Transport.(*mcpclient.HTTP).URL
}

// assembled is a service that nobody serves, with its log.
func assembled(t *testing.T, o *options) (*service, *bytes.Buffer) {
	t.Helper()
	log := new(bytes.Buffer)
	s := check.Value(assemble(t.Context(), o, slog.New(slog.NewTextHandler(log, nil))))(t)
	t.Cleanup(s.close)
	return s, log
}

// recorded is the response to a request of demo user Ada, without a network.
func (s *service) recorded(t *testing.T, method, url, body string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer demo-ada")
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	s.routes().ServeHTTP(w, r)
	return w
}
