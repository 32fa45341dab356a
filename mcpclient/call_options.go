package mcpclient

import (
	"context"
	"encoding/json"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// CallOption is an option of one call.
type CallOption func(*callOptions)

type callOptions struct {
	progress        func(mcp.Progress)
	meta            map[string]json.RawMessage
	idle            limit // of silence
	whole           limit // of the call with all its requests
	token           bool  // ask for progress notifications
	countsProgress  bool  // progress ends the silence, also on the standalone stream
	logLevel        mcp.LogLevel
	noCache         bool
	manual          bool       // the caller answers input rounds
	rounds          int        // input rounds before a call of Continue
	noDefaultLimits bool       // it lasts as long as a task: defaults do not bound it
	noCancelNotice  bool       // the server is not notified of cancellation
	check           *sendCheck // see WithSendCheck; or nil

	outputTool  *mcp.Tool                 // the tool whose output schema is checked
	validator   Validator                 // nil: the validator of Options
	task        *mcp.Tool                 // the tool that may run as a task
	taskStarted func(mcp.TaskState) error // gets the task, or nil

	follower        *follower   // follows the task that the call becomes, or nil
	listening       *listening  // only of subscriptions/listen
	messageID       *int64      // receives the id of the message; nil without Options.Middleware
	responseSession *sessionRef // receives the session of the response, or nil
}

// with returns o with the options applied, without checks. Only a changed copy takes an allocation.
func (o callOptions) with(opts []CallOption) callOptions {
	if len(opts) == 0 {
		return o
	}
	changed := o
	changed.apply(opts)
	return changed
}

func (o *callOptions) apply(opts []CallOption) {
	for _, opt := range opts {
		if opt != nil {
			opt(o)
		}
	}
}

// WithProgress asks for progress notifications. fn runs on the goroutine that made the call,
// one notification at a time, always before the call returns. If notifications arrive faster
// than fn handles them, the oldest are dropped.
func WithProgress(fn func(mcp.Progress)) CallOption {
	return func(o *callOptions) { o.progress = fn }
}

// WithMeta adds an entry to the request's _meta. The call fails for keys of the protocol itself
// (progressToken, io.modelcontextprotocol/… and others whose prefix has the second label mcp or
// modelcontextprotocol) and invalid keys: use letters and digits, -_. between them, and a prefix
// such as com.example/ to avoid collisions.
func WithMeta(key string, value json.RawMessage) CallOption {
	return func(o *callOptions) {
		if o.meta == nil {
			o.meta = map[string]json.RawMessage{}
		}
		o.meta[key] = value
	}
}

// WithLogLevel asks for log messages of this request only. It has an effect only in the modern era.
func WithLogLevel(level mcp.LogLevel) CallOption {
	return func(o *callOptions) { o.logLevel = level }
}

// WithSendCheck calls fn just before each request of the call is sent, including repetitions. After
// an error the request is not sent, and the call fails with an error that matches it. [Unsent] is
// true for that error if no earlier request of the call was sent. fn runs on the goroutine of the
// call, and while a call [WithTask] that reports progress waits for its task, on another one.
func WithSendCheck(fn func(context.Context) error) CallOption {
	return func(o *callOptions) { o.check = &sendCheck{allow: fn} }
}

// sendCheck decides on the requests of one call.
type sendCheck struct {
	allow func(context.Context) error
	sent  bool // a request was sent
}

// run returns the error of a request that must not be sent. A call sends one request at a time.
func (c *sendCheck) run(ctx context.Context) error {
	if c == nil || c.allow == nil {
		return nil
	}
	err := c.allow(ctx)
	switch {
	case err == nil:
		return nil
	case c.sent:
		return &begunError{err}
	}
	return &unsentError{err}
}
