package run

import (
	"encoding/json"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// QuestionKind says what a [Question] is about.
type QuestionKind string

// The kinds of questions.
const (
	QuestionApproval QuestionKind = "approval" // whether a call may run
	QuestionForm     QuestionKind = "form"     // a server's form (elicitation)
	QuestionURL      QuestionKind = "url"      // a server's URL to visit (elicitation)
	QuestionSampling QuestionKind = "sampling" // whether a server may have a completion of the model
	QuestionDoubt    QuestionKind = "doubt"    // whether a call ran that was under way when its process ended
	QuestionSignIn   QuestionKind = "sign_in"  // authorization for a server
)

// Question is a question of a run to a person. Give its id back in a [Reply].
type Question struct {
	ID     string       `json:"id"`
	Kind   QuestionKind `json:"kind"`
	Call   string       `json:"call,omitzero"` // id of the tool call that waits
	Server string       `json:"server,omitzero"`
	Tool   string       `json:"tool,omitzero"`  // as the model knows it
	Path   []string     `json:"path,omitempty"` // the sub-agents that ask, outermost first

	Key        string                   `json:"key,omitzero"`         // of the round's request; of a parked call's question, its hash
	Arguments  json.RawMessage          `json:"arguments,omitzero"`   // of an approval or a doubt: as they are sent
	Definition *mcp.Tool                `json:"definition,omitempty"` // of the tool, as models see it
	Elicit     *mcp.ElicitParams        `json:"elicit,omitempty"`     // of a form or a URL: as the server asks
	URL        string                   `json:"url,omitzero"`         // of a sign-in: where the person signs in
	Sampling   *mcp.CreateMessageParams `json:"sampling,omitempty"`   // of a server's request: as they go to the model
	Model      string                   `json:"model,omitzero"`       // that completes them, "" if the handler does not say

	// Tries and Sent are of a doubt: how often the call was sent, continued rounds included, and
	// when it was sent last.
	Tries int       `json:"tries,omitzero"`
	Sent  time.Time `json:"sent,omitzero"`

	// Survives says that the question outlives its process. One of a server of the
	// legacy era ends with the connection.
	Survives bool `json:"survives"`

	// Parked says that the call is made again for the answer: it asked in an open call,
	// and was told that the person has not decided.
	Parked bool `json:"parked,omitzero"`

	Created time.Time `json:"created,omitzero"`
	Expires time.Time `json:"expires,omitzero"` // zero: it does not

	Unknown jsontext.Value `json:",embed"`
}

// Action is the gist of a [Reply].
type Action string

// The actions. An approval takes ActionAllow and ActionDeny; a form, a URL and a sign-in take
// ActionAccept, ActionDecline and ActionCancel; a sampling review ActionAllow and ActionDeny; a doubt ActionRan, ActionNotRun and
// ActionKnown.
const (
	ActionAllow   Action = "allow"
	ActionDeny    Action = "deny"
	ActionAccept  Action = "accept"
	ActionDecline Action = "decline"
	ActionCancel  Action = "cancel"
	ActionRan     Action = "ran"     // it ran; the model is told
	ActionNotRun  Action = "not_run" // it did not run, and is sent again
	ActionKnown   Action = "known"   // it ran with the result in Reason
)

// Reply answers a [Question]. The first reply to a question counts.
type Reply struct {
	Question  string          `json:"ask"`
	Action    Action          `json:"action"`
	Reason    string          `json:"reason,omitzero"`    // told to the model; with ActionKnown the result of the call
	Arguments json.RawMessage `json:"arguments,omitzero"` // replace those of an approved call, or Question.Sampling
	Content   json.RawMessage `json:"content,omitzero"`   // of an accepted form
	Scope     string          `json:"scope,omitzero"`     // of an approval: "", ScopeArguments, ScopeTool or ScopeServer
	By        string          `json:"by,omitzero"`        // who answers
	At        time.Time       `json:"at,omitzero"`

	Unknown jsontext.Value `json:",embed"`
}
