// Package testenv starts what tests need: their own program in roles, MCP servers that a function answers, programs of
// npm packages, a Postgres server. Its flag -soak makes tests try all their cases.
package testenv

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// Patience bounds waits for events that need a moment, also on a busy machine.
const Patience = 2 * time.Minute

const roleVariable = "MCPCHAIN_TEST_ROLE"

// Main is the TestMain of a package whose tests start their own program as a process in one
// of these roles. The role returns the exit status.
func Main(m *testing.M, roles map[string]func() (status int)) {
	role := os.Getenv(roleVariable)
	if role == "" {
		os.Exit(m.Run())
	}
	status := roles[role]()
	discardCoverage()
	os.Exit(status)
}

// discardCoverage makes a process of a test with -cover write its counts to a temporary folder: without a folder it
// writes a warning to stderr, which tests read.
func discardCoverage() {
	if testing.CoverMode() == "" {
		return
	}
	dir := filepath.Join(os.TempDir(), "mcpchain-coverage")
	if os.MkdirAll(dir, 0o700) == nil {
		_ = os.Setenv("GOCOVERDIR", dir)
	}
}

// Role returns the environment variable that gives a process of os.Args[0] a role.
func Role(name string) string { return roleVariable + "=" + name }

// Stay is a role that waits to be killed, for an hour.
func Stay() (status int) {
	<-time.After(time.Hour)
	return 0
}

// NoGoroutines fails if a goroutine with one of these functions does not end. A goroutine
// that has done its work may take a moment to end.
func NoGoroutines(t testing.TB, functions ...string) {
	t.Helper()
	buf := make([]byte, 1<<20)
	for deadline := time.Now().Add(Patience); ; time.Sleep(time.Millisecond) {
		stacks := string(buf[:runtime.Stack(buf, true)])
		if !slices.ContainsFunc(functions, func(f string) bool { return strings.Contains(stacks, f) }) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("goroutines are left:\n%s", stacks)
		}
	}
}

// Message is a message of a client of an MCP server.
type Message struct {
	ID, Params json.RawMessage
	Method     string
}

// Conn is the server's end of a connection.
type Conn interface {
	Send(ctx context.Context, message []byte) error
	Recv() ([]byte, error)
}

// Answer is a server: it answers the requests on a connection until that ends, with the member that answer returns,
// such as "result":{}, or not at all for "". Notifications are passed to answer, too; they have no ID.
func Answer(conn Conn, answer func(m *Message) string) {
	for {
		raw, err := conn.Recv()
		if err != nil {
			return
		}
		m := new(Message)
		if json.Unmarshal(raw, m) != nil {
			return
		}
		if member := answer(m); member != "" && m.ID != nil {
			_ = conn.Send(context.Background(), fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, member))
		}
	}
}

// FreeAddress returns a loopback address at which nothing listens. Other programs get ports of
// 127.0.0.1, so on Linux, where all of 127/8 is loopback, none of them takes the address by chance.
func FreeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.%d:0", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254)))
	if err != nil {
		l, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}
