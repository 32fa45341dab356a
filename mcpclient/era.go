package mcpclient

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

var (
	modernRevisions = [...]string{mcp.Revision20260728}
	legacyRevisions = [...]string{mcp.Revision20251125, mcp.Revision20250618, mcp.Revision20250326, mcp.Revision20241105}
)

func isModern(revision string) bool { return slices.Contains(modernRevisions[:], revision) }
func isLegacy(revision string) bool { return slices.Contains(legacyRevisions[:], revision) }

// Revisions lists the revisions that a client speaks, the newest first: what
// [Protocol.Revision] may be.
func Revisions() []string { return append(modernRevisions[:], legacyRevisions[:]...) }

// versionHeader says the revision in the header of a request.
const versionHeader = "Mcp-Protocol-Version"

// era is all that differs between the legacy era (a handshake, then requests in
// both directions) and the modern one (every request stands alone, and what the
// server asks comes as the result of a request).
type era interface {
	name() string // the revision

	// encode appends the message of a request. Without entries of _meta that the
	// caller asked for it takes about room bytes.
	encode(b []byte, id int64, r *request, o *callOptions) []byte
	room(r *request) int

	// header is what stands in the HTTP header of a request or of a notification, or of
	// what is neither when r is nil. It is shared: not to be changed.
	header(r *request) http.Header

	// inputRequired reads what the server wants before it gives a result; nil if this
	// is the result. quote shows what the server wrote, in errors.
	inputRequired(r *request, result json.RawMessage, quote func([]byte) string) (*inputRound, error)

	// cancels reports whether a notice tells the server of a cancelled request.
	cancels(r *request, overHTTP bool) bool

	// taskable reports why a tool cannot be called as a task, by what each side declares.
	// undeclared has what the server does not declare count as declared.
	taskable(tool *mcp.Tool, ours *offers, server *mcp.ServerCapabilities, undeclared bool) error

	// taskRequest makes r one whose result may be a task.
	taskRequest(r *request, ttl time.Duration) *request

	// created reads the task that a result is, if it is one.
	created(result json.RawMessage) (state mcp.TaskState, isTask bool, err error)

	// polled reads the result of tasks/get, once for all that is in it.
	polled(result json.RawMessage) (polledTask, error)

	pingMethod() string
	mirrors() bool       // over HTTP, headers repeat arguments of tool calls
	answers() bool       // the server sends requests, which are answered
	severalBlocks() bool // a sampling result may have several blocks
	has(feature) bool
}

// feature is something that some revisions have and others do not.
type feature int

const (
	standaloneStreams    feature = iota // over HTTP the server sends all but responses on a separate stream
	listenStreams                       // a subscription is a stream of its own
	completionCapability                // a server declares completions
	completionContext                   // the other arguments go with a completion
	audioContent                        // a block may be audio
	cacheHints                          // results say how long they hold
	coreTasks                           // tasks are part of the core
	sessionCursors                      // a cursor is of the session that it comes from
	sessionLevel                        // the log level is set for the session
	urlElicitationErrors                // an error may ask a person to visit URLs, which have ids
)

// offers is what the installed handlers can do, as they said when the client
// connected. Nil is not offered.
type offers struct {
	sampling    *mcp.SamplingCapability
	elicitation *mcp.ElicitationCapability
	roots       bool
	quietRoots  bool // that they change is not notified
	tasks       bool // the extension of the modern era

	base  json.RawMessage // declared beside all that; nil for none
	exact json.RawMessage // declared instead of all that; nil for none
}

func (o *Options) offers() offers {
	out := offers{roots: o.givesRoots(), tasks: true}
	if o.Sampling != nil {
		c := inquiry.SamplingCapabilityOf(o.Sampling)
		out.sampling = &c
	}
	if o.Elicitation != nil {
		c := inquiry.ElicitationCapabilityOf(o.Elicitation)
		out.elicitation = &c
	}
	return out
}

func (f *offers) check() error {
	if f.elicitation != nil && !f.elicitation.Form && !f.elicitation.URL {
		return errors.New("Options.Elicitation: its capability has no mode: want forms, URLs or both")
	}
	return nil
}

// cancelledParams is the params of notifications/cancelled.
func cancelledParams(id int64, reason string) ([]byte, error) {
	return jsonrpc.Marshal(struct {
		RequestID int64  `json:"requestId"`
		Reason    string `json:"reason,omitempty"`
	}{id, reason})
}

// tellCancelled sends notifications/cancelled for a request.
func (w *roundTripper) tellCancelled(l *link, flight *inFlight, reason string) {
	const method = "notifications/cancelled"
	if !w.peer.current().cancels(flight.request, l.exchange != nil) {
		return
	}
	params, err := cancelledParams(flight.ID, excerpt.Cut(reason))
	if err != nil {
		return
	}
	header := w.peer.current().header(&request{method: method})
	l.postAsync(asyncPost{session: flight.session(l).session, what: method, body: jsonrpc.AppendNotification(nil, method, params), header: header})
}

// envelope is about what a request takes around its method and its params, in
// bytes.
const envelope = 80

// appendMeta appends the entries of _meta that a caller asked for, each with a
// comma after it.
func appendMeta(b []byte, id int64, o *callOptions) []byte {
	if o.token {
		b = jsonrpc.AppendString(b, "progressToken")
		b = append(strconv.AppendInt(append(b, ':'), id, 10), ',')
	}
	for key, value := range o.meta {
		b = jsonrpc.AppendMember(b, key, value)
	}
	return b
}
