package mcpclient

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

var (
	modernRevisions = [...]string{mcp.Revision20260728}
	legacyRevisions = [...]string{mcp.Revision20251125, mcp.Revision20250618, mcp.Revision20250326, mcp.Revision20241105}
)

func isModern(revision string) bool { return slices.Contains(modernRevisions[:], revision) }

func isLegacy(revision string) bool { return slices.Contains(legacyRevisions[:], revision) }

// Revisions returns the revisions that a client speaks, the newest first. They are the values
// of [Protocol.Revision].
func Revisions() []string { return append(modernRevisions[:], legacyRevisions[:]...) }

const versionHeader = "Mcp-Protocol-Version"

// era is what differs between the legacy era (a handshake, then requests in both directions)
// and the modern one (independent requests, and the server's questions as results).
type era interface {
	name() string // the revision

	// encode appends the message of a request.
	encode(b []byte, id int64, r *request, o *callOptions) []byte

	// header returns the HTTP header of a request or notification, or with nil the header of an
	// answer or of the standalone stream. It is shared: do not modify it.
	header(r *request) http.Header

	// inputRequired decodes the input that the server needs before it can return a result; it
	// returns nil for a result. quote quotes JSON of the server in errors.
	inputRequired(r *request, result json.RawMessage, quote func([]byte) string) (*inputRound, error)

	hasCancelNotice(r *request, overHTTP bool) bool

	// checkTask returns an error if a tool cannot be called as a task, according to what both
	// sides declare. With undeclared, what they do not declare counts as declared.
	checkTask(tool *mcp.Tool, ours *offers, server *mcp.ServerCapabilities, undeclared bool) error

	// taskRequest returns r as a request whose result may be a task, which the server keeps for
	// ttl, if that is positive and the era allows the client to choose. It may modify r.
	taskRequest(r *request, ttl time.Duration) *request

	decodeCreated(result json.RawMessage) (state mcp.TaskState, isTask bool, err error)

	decodePolled(result json.RawMessage) (polledTask, error)

	pingMethod() string
	has(feature) bool
}

type feature int

const (
	serverRequests       feature = iota // the server sends requests
	standaloneStreams                   // over HTTP the server sends everything but responses on a separate stream
	listenStreams                       // a subscription is a stream of its own
	paramHeaders                        // over HTTP, headers repeat arguments of tool calls
	completionCapability                // servers declare completions
	completionContext                   // a completion request has the other arguments
	audioContent                        // a block may be audio
	severalBlocks                       // a sampling result may have several blocks
	cacheHints                          // results say how long they may be cached
	coreTasks                           // tasks belong to the core protocol
	sessionCursors                      // a cursor belongs to its session
	sessionLevel                        // the log level belongs to the session
	urlElicitationErrors                // an error may ask a person to visit URLs, which have ids
)

// appendMeta appends the entries of _meta that a caller set, each followed by a comma.
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
