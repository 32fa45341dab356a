package otelmcp

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"

	"go.opentelemetry.io/otel/attribute"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// The attributes of the conventions.
const (
	keyMethod          = attribute.Key("mcp.method.name")
	keyRevision        = attribute.Key("mcp.protocol.version")
	keyResource        = attribute.Key("mcp.resource.uri")
	keyTool            = attribute.Key("gen_ai.tool.name")
	keyPrompt          = attribute.Key("gen_ai.prompt.name")
	keyOperation       = attribute.Key("gen_ai.operation.name")
	keyRequestID       = attribute.Key("jsonrpc.request.id")
	keyStatusCode      = attribute.Key("rpc.response.status_code")
	keyErrorType       = attribute.Key("error.type")
	keyTransport       = attribute.Key("network.transport")
	keyNetworkProtocol = attribute.Key("network.protocol.name")
	keyServerAddress   = attribute.Key("server.address")
	keyServerPort      = attribute.Key("server.port")
)

// spanName returns the method, with the name of a tool or prompt. Resources are too many for that.
func spanName(r *mcpclient.Request) string {
	if r.Name != "" && (r.Method == "tools/call" || r.Method == "prompts/get") {
		return r.Method + " " + r.Name
	}
	return r.Method
}

// serverMethod returns the method of a server's request, _OTHER for an unknown one: the server may
// send any text, and each would be a metric series of its own.
func serverMethod(method string) string {
	switch method {
	case "sampling/createMessage", "elicitation/create", "roots/list":
		return method
	}
	return "_OTHER"
}

// requestAttributes returns the attributes of a client's request: its method and its target.
func requestAttributes(r *mcpclient.Request) []attribute.KeyValue {
	out := append(make([]attribute.KeyValue, 0, 12), keyMethod.String(r.Method))
	switch r.Method {
	case "tools/call":
		out = append(out, keyTool.String(r.Name), keyOperation.String("execute_tool"))
	case "prompts/get":
		out = append(out, keyPrompt.String(r.Name))
	}
	return out
}

// resourceURI returns the URI of a request's resource. ok is false without one.
func resourceURI(r *mcpclient.Request) (uri attribute.KeyValue, ok bool) {
	switch r.Method {
	case "resources/read", "resources/subscribe", "resources/unsubscribe":
		return keyResource.String(r.Name), true
	}
	return attribute.KeyValue{}, false
}

// connectionAttributes returns the attributes of the connection, with its revision.
func connectionAttributes(c *mcpclient.Client) []attribute.KeyValue {
	var out []attribute.KeyValue
	if revision := c.Server().Revision; revision != "" {
		out = append(out, keyRevision.String(revision))
	}
	switch t := c.Transport().(type) {
	case *mcpclient.HTTP:
		out = append(out, endpointAttributes(t.URL)...)
	case *mcpclient.Command, *mcpclient.IO:
		out = append(out, keyTransport.String("pipe"))
	}
	return out
}

// endpointAttributes returns the attributes of a server's URL, without its secrets.
func endpointAttributes(raw string) []attribute.KeyValue {
	out := []attribute.KeyValue{keyTransport.String("tcp"), keyNetworkProtocol.String("http")}
	u, err := url.Parse(raw)
	if err != nil {
		return out
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		port = map[string]int{"http": 80, "https": 443}[u.Scheme]
	}
	return append(out, keyServerAddress.String(u.Hostname()), keyServerPort.Int(port))
}

// idText returns the id of a server's request as text, without the quotes of a string.
func idText(id json.RawMessage) string {
	var text string
	if json.Unmarshal(id, &text) == nil {
		return text
	}
	return string(id)
}

// failure is a request's failure; the zero value is success.
type failure struct {
	kind string // error.type
	code string // the code of a JSON-RPC error
}

// attributes returns none for success.
func (f failure) attributes() []attribute.KeyValue {
	var out []attribute.KeyValue
	if f.kind != "" {
		out = append(out, keyErrorType.String(f.kind))
	}
	if f.code != "" {
		out = append(out, keyStatusCode.String(f.code))
	}
	return out
}

const parseError = -32700 // of JSON-RPC

// knownCodes are the codes of JSON-RPC errors with a metric series of their own.
var knownCodes = []int{
	parseError, mcp.CodeInvalidRequest, mcp.CodeMethodNotFound,
	mcp.CodeInvalidParams, mcp.CodeInternalError, mcp.CodeResourceNotFound,
	mcp.CodeHeaderMismatch, mcp.CodeMissingCapability, mcp.CodeUnsupportedRevision,
	mcp.CodeURLElicitationNeeded,
}

// forMetrics returns the failure for metrics: _OTHER for an unknown code, since a server may send
// any number of codes.
func (f failure) forMetrics() failure {
	if code, err := strconv.Atoi(f.code); err == nil && !slices.Contains(knownCodes, code) {
		return failure{kind: "_OTHER"}
	}
	return f
}

// kinds are the errors with a name of their own, the most specific first.
var kinds = []struct {
	err  error
	kind string
}{
	{context.DeadlineExceeded, "timeout"},
	{context.Canceled, "canceled"},
	{mcp.ErrRejected, "rejected"},
	{mcpclient.ErrSessionLost, "session_lost"},
	{mcpclient.ErrConnectionLost, "connection_lost"},
	{mcpclient.ErrClosed, "connection_closed"},
	{transport.ErrMessageTooLarge, "message_too_large"},
	{mcpclient.ErrTooManyRounds, "too_many_rounds"},
	{mcp.ErrInvalidResult, "invalid_result"},
}

// newFailure returns the failure of a request, by its result or its error, and rpc, the JSON-RPC error
// that was sent or received. A question that is answered later, and a subscription that the client
// closed, are not failures.
func newFailure(r *mcpclient.Request, raw json.RawMessage, err error, rpc *mcp.RPCError) failure {
	if err == nil {
		if r.Method == "tools/call" && toolFailed(raw) {
			return failure{kind: "tool_error"}
		}
		return failure{}
	}
	if _, waits := errors.AsType[*mcp.InputRequired](err); waits {
		return failure{} // the caller answers
	}
	if errors.Is(err, mcp.ErrAnswerLater) {
		return failure{} // a person answers later
	}
	if r.Method == "subscriptions/listen" && (errors.Is(err, context.Canceled) || errors.Is(err, mcpclient.ErrClosed)) {
		return failure{} // the caller has closed it
	}
	if rpc != nil {
		code := strconv.Itoa(rpc.Code)
		return failure{kind: code, code: code}
	}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			return failure{kind: k.kind}
		}
	}
	if status, ok := errors.AsType[*transport.HTTPError](err); ok {
		return failure{kind: strconv.Itoa(status.Status)}
	}
	return failure{kind: "_OTHER"}
}

// sentError returns what a server gets of a handler's error, nil for an error that was not made for it: then it
// gets no more than that there was one.
func sentError(err error) *mcp.RPCError {
	switch made := err.(type) { // not errors.As: a wrapped one may come from another server
	case *mcp.RPCError:
		return made
	case interface{ RPCError() *mcp.RPCError }:
		return made.RPCError()
	}
	return nil
}

// toolFailed reports whether the result of a tool has isError.
func toolFailed(raw json.RawMessage) bool {
	failed, _ := jsonrpc.Boolean(jsonrpc.Lookup(raw, "isError"))
	return failed
}

// carrier is _meta for a propagator.
type carrier map[string]json.RawMessage

// Get returns a value, "" if it is not a string.
func (c carrier) Get(key string) string {
	var value string
	if json.Unmarshal(c[key], &value) != nil {
		return ""
	}
	return value
}

// Set sets a value.
func (c carrier) Set(key, value string) {
	c[key], _ = json.Marshal(value) // a string always marshals
}

// Keys lists the keys.
func (c carrier) Keys() []string {
	return slices.Collect(maps.Keys(c))
}
