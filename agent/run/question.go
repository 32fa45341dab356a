package run

import (
	"encoding/json"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// QuestionKind is the subject of a [Question].
type QuestionKind string

// The kinds of questions.
const (
	QuestionApproval QuestionKind = "approval" // whether a call may run
	QuestionForm     QuestionKind = "form"     // a server's form (elicitation)
	QuestionURL      QuestionKind = "url"      // a server's URL to visit (elicitation)
	QuestionSampling QuestionKind = "sampling" // whether a server gets a completion of the model
	QuestionDoubt    QuestionKind = "doubt"    // whether a call ran whose process died
	QuestionSignIn   QuestionKind = "sign_in"  // authorization for a server
)

// Question is a question of a run to a person. A [Reply] repeats its ID. The methods Accept, Allow, Decline
// and Deny make the usual replies.
type Question struct {
	ID     string       `json:"id"`
	Kind   QuestionKind `json:"kind"`
	Call   string       `json:"call,omitzero"` // id of the tool call that waits for the reply
	Server string       `json:"server,omitzero"`
	Tool   string       `json:"tool,omitzero"`  // as the model knows it
	Path   []string     `json:"path,omitempty"` // names of the sub-agents that ask, outermost first

	// ServerKey is the server's key for the request or, if Repeats is true, a hash of the question.
	ServerKey string `json:"key,omitzero"`

	Arguments  json.RawMessage          `json:"arguments,omitzero"`   // approval or doubt: the arguments as they are sent
	Definition *mcp.Tool                `json:"definition,omitempty"` // the tool, as models see it
	Elicit     *mcp.ElicitParams        `json:"elicit,omitempty"`     // form or URL: the server's request
	URL        string                   `json:"url,omitzero"`         // sign-in: where the person signs in
	Sampling   *mcp.CreateMessageParams `json:"sampling,omitempty"`   // sampling request: as it goes to the model
	Model      string                   `json:"model,omitzero"`       // sampling request: the model; "" if unknown

	// Tries and Sent belong to a doubt: how often the call was sent, continuations of rounds
	// included, and when it was last sent.
	Tries int       `json:"tries,omitzero"`
	Sent  time.Time `json:"sent,omitzero"`

	// Survives is true if the question outlives the process that asks it. A question of a
	// legacy server ends with the connection.
	Survives bool `json:"survives"`

	// Repeats is true if the call is made again once the reply is there: the server asked during
	// the call and was told that the person cancelled. Only runs of earlier versions have such questions.
	Repeats bool `json:"parked,omitzero"`

	Created time.Time `json:"created,omitzero"`
	Expires time.Time `json:"expires,omitzero"` // zero: never

	Unknown jsontext.Value `json:",embed"` // members of a later version
}

// Action is the decision of a [Reply].
type Action string

// The actions for each kind of question.
const (
	// For an approval or a sampling request.
	ActionAllow Action = "allow"
	ActionDeny  Action = "deny"

	// For a form, a URL or a sign-in.
	ActionAccept  Action = "accept"
	ActionDecline Action = "decline" // an explicit no
	ActionCancel  Action = "cancel"  // dismissed without a decision

	// For a doubt.
	ActionRan    Action = "ran"     // the call ran; the model is told
	ActionNotRun Action = "not_run" // the call did not run; it is sent again
	ActionKnown  Action = "known"   // the call ran, and Reason has its result; without one as ActionRan
)

// Reply is the reply to a [Question]. Only the first reply to a question counts.
type Reply struct {
	Question  string          `json:"ask"` // its ID
	Action    Action          `json:"action"`
	Reason    string          `json:"reason,omitzero"`    // for the model; with ActionKnown the result of the call
	Arguments json.RawMessage `json:"arguments,omitzero"` // replace those of an approved call, or Question.Sampling
	Content   json.RawMessage `json:"content,omitzero"`   // an accepted form's values
	Scope     string          `json:"scope,omitzero"`     // approval: "", ScopeArguments, ScopeTool or ScopeServer
	By        string          `json:"by,omitzero"`        // who replied
	At        time.Time       `json:"at,omitzero"`        // when

	Unknown jsontext.Value `json:",embed"` // members of a later version
}
