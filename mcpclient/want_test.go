package mcpclient_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// errOf returns the error of a call that also has a result.
func errOf(_ any, err error) error { return err }

// must stops the test at an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// noError reports an error; of says which, if the line does not.
func noError(t testing.TB, err error, of ...string) {
	t.Helper()
	if err != nil {
		t.Errorf("%s%v", about(of), err)
	}
}

// wantIs checks what an error is.
func wantIs(t testing.TB, err, want error, of ...string) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%sgot %v, want %v", about(of), err, want)
	}
}

// wantText checks for a part of the text of an error.
func wantText(t testing.TB, err error, want string, of ...string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%sgot %v, want %q in it", about(of), err, want)
	}
}

// equal compares two values.
func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%sgot %v, want %v", about([]string{what}), got, want)
	}
}

// same compares two values by their parts.
func same(t testing.TB, what string, got, want any, opts ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, opts...); diff != "" {
		t.Errorf("%sgot +, want -:\n%s", about([]string{what}), diff)
	}
}

// about begins a message.
func about(what []string) string {
	if text := strings.Join(what, ", "); text != "" {
		return text + ": "
	}
	return ""
}

// wantBoth is wantIs and wantText.
func wantBoth(t testing.TB, err, want error, text string, of ...string) {
	t.Helper()
	if !errors.Is(err, want) || !strings.Contains(err.Error(), text) {
		t.Errorf("%sgot %.1000v, want %v and %q in it", about(of), err, want, text)
	}
}

// wantCode checks the code of a server's error.
func wantCode(t testing.TB, err error, want int) {
	t.Helper()
	if rpc, ok := errors.AsType[*mcp.RPCError](err); !ok || rpc.Code != want {
		t.Errorf("got %v (%T), want code %d", err, err, want)
	}
}

// wantStatus checks the status of an HTTP error.
func wantStatus(t testing.TB, err error, want int) {
	t.Helper()
	if e, ok := errors.AsType[*transport.HTTPError](err); !ok || e.Status != want {
		t.Errorf("got %v (%T), want status %d", err, err, want)
	}
}

// fails checks that there is an error.
func fails(t testing.TB, err error, what string) {
	t.Helper()
	if err == nil {
		t.Errorf("%sgot no error", about([]string{what}))
	}
}

// textOf returns the text of a result, or of the error.
func textOf(res *mcp.CallToolResult, err error) string {
	if err != nil {
		return err.Error()
	}
	return res.Text()
}

// isDone reports whether a client has ended.
func isDone(c *mcpclient.Client) bool {
	select {
	case <-c.Done():
		return true
	default:
		return false
	}
}

// background runs f on a goroutine and returns a channel that gets the error.
func background(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return done
}

// wrong reports a failure, if it is one.
func wrong(t testing.TB, bad bool, format string, args ...any) {
	t.Helper()
	if bad {
		t.Errorf(format, args...)
	}
}
