package testenv

import (
	"context"
	"encoding/json"
	"fmt"
)

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

// Answer is a server: it answers the requests on a connection until that ends, with the member that
// answer returns, such as "result":{}, or not at all for "". Notifications are passed to answer,
// too; they have no ID.
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
