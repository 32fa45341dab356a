package testenv

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// Message is a message of a client of an MCP server: a request, a notification, which has no ID, or a response, which
// has no Method.
type Message struct {
	ID, Params json.RawMessage
	Method     string
}

// Conn is the server's end of a connection.
type Conn interface {
	Send(ctx context.Context, message []byte) error
	Recv() ([]byte, error)
}

// Serve is a server: it answers the requests on a connection with the member that answer returns, such as
// "result":{}, or not at all for "". Notifications and responses are passed to answer, too. Serve returns when the
// connection ends, or after a message that is not a JSON object.
func Serve(conn Conn, answer func(m *Message) string) {
	for {
		raw, err := conn.Recv()
		if err != nil {
			return
		}
		m := new(Message)
		if json.Unmarshal(raw, m) != nil {
			return
		}
		if member := answer(m); member != "" && m.ID != nil && m.Method != "" {
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
