package ledger

import (
	"encoding/json"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// CallAt is the state of a [Call].
type CallAt string

// A call is proposed by the model, ready when it may run, and sent when its intent is recorded:
// from then on it may have had an effect. Its last state is done.
const (
	CallProposed CallAt = "proposed"
	CallAsked    CallAt = "asked" // it waits for approval
	CallReady    CallAt = "ready"
	CallSent     CallAt = "sent"
	CallInRound  CallAt = "round"   // the server needs input before it can continue
	CallTasked   CallAt = "task"    // the server runs it as a task
	CallInDoubt  CallAt = "doubt"   // a person is asked whether it ran
	CallAtSignIn CallAt = "sign_in" // it was refused until a person signs in
	CallParked   CallAt = "parked"  // it was abandoned until a person answers, and will be made again
	CallOfChild  CallAt = "child"   // a sub-agent works on it
	CallDone     CallAt = "done"
)

// Call is a tool call of the current turn.
type Call struct {
	ID      string `json:"id"`               // id in the model's message
	Key     string `json:"key"`              // idempotency key: the same for all attempts; sent to servers that honour one
	Name    string `json:"name"`             // name of the tool, as the model knows it
	Server  string `json:"server,omitzero"`  // the host's label
	Tool    string `json:"tool,omitzero"`    // the server's own name of the tool, "" when no tool has that name
	Def     string `json:"def,omitzero"`     // fingerprint of the tool definition that the model was offered
	Wrapped bool   `json:"wrapped,omitzero"` // the model was asked for all arguments in one property

	Asked  string          `json:"asked"`           // the arguments as the model wrote them
	Args   json.RawMessage `json:"args,omitzero"`   // arguments to send
	Edited bool            `json:"edited,omitzero"` // the person who approved the call has edited Args

	At       CallAt     `json:"at"`
	Tries    int        `json:"tries,omitzero"`   // how often it was sent, including continuations of a round
	Sent     time.Time  `json:"sent,omitzero"`    // when it was last sent
	Lost     bool       `json:"lost,omitzero"`    // an earlier attempt has no outcome, and may have had an effect
	Reply    *run.Reply `json:"answer,omitempty"` // reply of a person, to the approval or to the doubt
	Approved *Decision  `json:"approved,omitempty"`

	Round   json.RawMessage            `json:"round,omitzero"`    // an mcp.InputRequired
	Replies map[string]json.RawMessage `json:"answers,omitempty"` // replies by the keys of the round, or of a parked call's questions
	Reviews map[string]Review          `json:"reviews,omitempty"` // reviews of sampling requests of the round, by its keys
	Task    *Task                      `json:"task,omitempty"`
	Child   *State                     `json:"child,omitempty"` // the run of another agent

	Result *run.Part `json:"result,omitempty"` // set when it is done
	Stop   *string   `json:"stop,omitempty"`   // the answer with which the run ends after this turn

	Unknown jsontext.Value `json:",embed"`
}

// Decision is the outcome of an approval.
type Decision struct {
	Allow     bool            `json:"allow"`
	Reason    string          `json:"reason,omitzero"`    // reason for a denial; the model is told
	Arguments json.RawMessage `json:"arguments,omitzero"` // replace the model's
	Scope     string          `json:"scope,omitzero"`     // later calls for which it holds, such as run.ScopeTool
	By        string          `json:"by,omitzero"`        // who decided
	When      time.Time       `json:"when,omitzero"`

	Unknown jsontext.Value `json:",embed"`
}

// Review is a person's decision about a sampling request.
type Review struct {
	Reply    run.Reply                `json:"answer"`
	Sampling *mcp.CreateMessageParams `json:"sampling,omitempty"` // the request as it was allowed
	Model    string                   `json:"model,omitzero"`
}

// Task is a call that the server runs as a task.
type Task struct {
	ID      string    `json:"id"`               // secret: it gives access to the task
	Expires time.Time `json:"expires,omitzero"` // when the server may discard it

	Unknown jsontext.Value `json:",embed"`
}
