package adapter

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/mcpclient"
)

// pipe is one end of a connection inside this process as a transport of the
// official SDK.
type pipe struct{ conn mcpclient.Conn }

func (p pipe) Connect(context.Context) (sdk.Connection, error) { return pipeConn(p), nil }

type pipeConn struct{ conn mcpclient.Conn }

func (p pipeConn) Read(context.Context) (jsonrpc.Message, error) {
	data, err := p.conn.Recv()
	if err != nil {
		return nil, err
	}
	return jsonrpc.DecodeMessage(data)
}

func (p pipeConn) Write(ctx context.Context, m jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	return p.conn.Send(ctx, data)
}

func (p pipeConn) Close() error      { return p.conn.Close() }
func (p pipeConn) SessionID() string { return "" }
