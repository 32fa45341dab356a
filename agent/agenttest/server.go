package agenttest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// NewServer returns an MCP server in this process, to which clients connect. It calls itself
// "agenttest" and speaks revision 2025-11-25, in which a tool may ask the person and the model
// while it runs. A tool without a name or a function is an error of Dial.
func NewServer(tools ...Tool) mcpclient.Transport { return &server{tools} }

type server struct{ tools []Tool }

// Tool is a tool of a server.
type Tool struct {
	Name, Description string

	// Schema is the JSON Schema of the arguments. Default: any object.
	Schema string

	// ReadOnly is true if the tool changes nothing.
	ReadOnly bool

	// Run returns the text of the result, or an error, which becomes a result with isError. Calls
	// may overlap.
	Run func(ctx context.Context, c *Call) (string, error)
}

// Call is a call of a tool.
type Call struct {
	Arguments json.RawMessage

	conn *connection
}

// Elicit asks the person to fill in a form. schema is the JSON Schema of its fields. If the person
// declines or cancels, the error is nil and the Action of the result says so.
func (c *Call) Elicit(ctx context.Context, message, schema string) (*mcp.ElicitResult, error) {
	var result mcp.ElicitResult
	params := map[string]any{"mode": "form", "message": message, "requestedSchema": json.RawMessage(schema)}
	err := c.conn.ask(ctx, "elicitation/create", params, &result)
	return &result, err
}

// Sample asks the model that the program lends, and returns the text of its answer, "" for an
// answer without text. It is an error if the client of the server has no
// [mcpclient.Options.Sampling].
func (c *Call) Sample(ctx context.Context, question string, maxTokens int) (string, error) {
	content := map[string]any{"type": "text", "text": question}
	params := map[string]any{"maxTokens": maxTokens, "messages": []any{map[string]any{"role": "user", "content": content}}}
	var result struct{ Content struct{ Text string } }
	err := c.conn.ask(ctx, "sampling/createMessage", params, &result)
	return result.Content.Text, err
}

// Dial implements [mcpclient.Transport]. The server's goroutines end with the connection.
func (s *server) Dial(ctx context.Context) (transport.Conn, error) {
	for i, t := range s.tools {
		switch {
		case t.Name == "":
			return nil, fmt.Errorf("agenttest: tool %d has no Name", i)
		case t.Run == nil:
			return nil, fmt.Errorf("agenttest: tool %d, %q, has no Run", i, t.Name)
		}
	}
	transport, conn := mcpclient.Pipe()
	client, err := transport.Dial(ctx)
	if err != nil {
		return nil, err
	}
	c := &connection{server: s, conn: conn, waiting: make(map[string]chan message), running: make(map[string]context.CancelFunc)}
	go func() {
		ctx, end := context.WithCancel(context.Background())
		defer conn.Close()
		defer c.calls.Wait()
		defer end()
		c.receive(ctx)
	}()
	return client, nil
}

// connection is a connection of a client to a server.
type connection struct {
	server *server
	conn   transport.Conn
	calls  sync.WaitGroup

	mu      sync.Mutex // guards the following fields
	asked   int
	waiting map[string]chan message       // by the id of the request to the client
	running map[string]context.CancelFunc // by the id of the client's request
}

// message is a JSON-RPC message.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *mcp.RPCError   `json:"error,omitempty"`
}

func (c *connection) receive(ctx context.Context) {
	for {
		data, err := c.conn.Recv()
		if err != nil {
			return
		}
		var m message
		switch err := json.Unmarshal(data, &m); {
		case err != nil:
			return // the client of this module does not send this
		case m.Method == "":
			c.deliver(m)
		case m.ID != nil:
			ctx := c.begin(ctx, string(m.ID))
			c.calls.Go(func() { c.serve(ctx, m) })
		case m.Method == "notifications/cancelled":
			var params struct{ RequestID json.RawMessage }
			if json.Unmarshal(m.Params, &params) == nil {
				c.end(string(params.RequestID))
			}
		}
	}
}

// begin returns the context of a request, which ends with end or with the connection.
func (c *connection) begin(ctx context.Context, id string) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running[id] = cancel
	return ctx
}

// end ends the context of a request that is served.
func (c *connection) end(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.running[id]; cancel != nil {
		cancel()
		delete(c.running, id)
	}
}

// serve answers a request with its result or a JSON-RPC error.
func (c *connection) serve(ctx context.Context, m message) {
	defer c.end(string(m.ID))
	result, err := c.result(ctx, m)
	reply := message{Version: "2.0", ID: m.ID}
	if f, ok := errors.AsType[*mcp.RPCError](err); ok {
		reply.Error = f
	} else if reply.Result, err = json.Marshal(result); err != nil {
		reply.Error = &mcp.RPCError{Code: mcp.CodeInternalError, Message: err.Error()}
	}
	c.send(ctx, reply)
}

// result returns the result of a request, or an [*mcp.RPCError].
func (c *connection) result(ctx context.Context, m message) (any, error) {
	switch m.Method {
	case "initialize":
		return map[string]any{
			"protocolVersion": "2025-11-25", "capabilities": map[string]any{"tools": struct{}{}},
			"serverInfo": map[string]any{"name": "agenttest", "version": "1"},
		}, nil
	case "ping":
		return struct{}{}, nil
	case "tools/list":
		return map[string]any{"tools": c.server.list()}, nil
	case "tools/call":
		return c.call(ctx, m.Params)
	}
	return nil, &mcp.RPCError{Code: mcp.CodeMethodNotFound, Message: "unknown method " + m.Method}
}

func (s *server) list() []any {
	tools := []any{}
	for _, t := range s.tools {
		tools = append(tools, map[string]any{
			"name": t.Name, "description": t.Description, "inputSchema": json.RawMessage(cmp.Or(t.Schema, `{"type":"object"}`)),
			"annotations": map[string]any{"readOnlyHint": t.ReadOnly},
		})
	}
	return tools
}

// call calls a tool. Its error becomes a result, as models read it.
func (c *connection) call(ctx context.Context, raw json.RawMessage) (any, error) {
	var params struct {
		Name      string
		Arguments json.RawMessage
	}
	if err := json.Unmarshal(raw, &params); err != nil {
		return nil, &mcp.RPCError{Code: mcp.CodeInvalidParams, Message: err.Error()}
	}
	i := slices.IndexFunc(c.server.tools, func(t Tool) bool { return t.Name == params.Name })
	if i < 0 {
		return nil, &mcp.RPCError{Code: mcp.CodeInvalidParams, Message: "unknown tool " + params.Name}
	}
	text, err := c.server.tools[i].Run(ctx, &Call{params.Arguments, c})
	if err != nil {
		text = err.Error()
	}
	return map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}, "isError": err != nil}, nil
}

// ask sends a request to the client and decodes its answer. The error is the client's, or the cause
// of the context if that ends first.
func (c *connection) ask(ctx context.Context, method string, params, into any) error {
	encoded, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	c.mu.Lock()
	c.asked++
	id := fmt.Sprintf(`"q%d"`, c.asked)
	answer := make(chan message, 1)
	c.waiting[id] = answer
	c.mu.Unlock()
	c.send(ctx, message{Version: "2.0", ID: json.RawMessage(id), Method: method, Params: encoded})
	select {
	case m := <-answer:
		if m.Error != nil {
			return fmt.Errorf("%s: %s", method, m.Error.Message)
		}
		return json.Unmarshal(m.Result, into)
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", method, context.Cause(ctx))
	}
}

// deliver passes an answer of the client to the request that waits for it.
func (c *connection) deliver(m message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer := c.waiting[string(m.ID)]; answer != nil {
		answer <- m
		delete(c.waiting, string(m.ID))
	}
}

// send sends a message. It ignores errors: if the connection has ended, receive ends the server.
func (c *connection) send(ctx context.Context, m message) {
	if data, err := json.Marshal(m); err == nil {
		_ = c.conn.Send(ctx, data)
	}
}
