package ledger

import (
	"encoding/json"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// CallAt says how far a [Call] is.
type CallAt string

// A call is proposed by the model, ready once it may run, and sent once its intent is
// recorded: from then on it may have had its effect. It ends as done.
const (
	CallProposed CallAt = "proposed"
	CallAsked    CallAt = "asked" // its approval is asked for
	CallReady    CallAt = "ready"
	CallSent     CallAt = "sent"
	CallInRound  CallAt = "round"   // the server asks for input before it continues
	CallTasked   CallAt = "task"    // the server continues it by itself
	CallInDoubt  CallAt = "doubt"   // a person is asked whether it ran
	CallAtSignIn CallAt = "sign_in" // it was not taken: a person has to sign in first
	CallParked   CallAt = "parked"  // it was given up for a person's answer, and is made again
	CallOfChild  CallAt = "child"   // another agent works on it
	CallDone     CallAt = "done"
)

// Call is a tool call of the present turn.
type Call struct {
	ID      string `json:"id"`               // as the model's message has it
	Key     string `json:"key"`              // of idempotency: the same for all attempts, given to servers that honour one
	Name    string `json:"name"`             // of the tool, as the model knows it
	Server  string `json:"server,omitzero"`  // the host's label
	Tool    string `json:"tool,omitzero"`    // the server's own name of the tool, "" when no tool has that name
	Def     string `json:"def,omitzero"`     // fingerprint of the tool that the model was offered
	Wrapped bool   `json:"wrapped,omitzero"` // the model was asked for all arguments in one property

	Asked  string          `json:"asked"`           // the arguments as the model wrote them
	Args   json.RawMessage `json:"args,omitzero"`   // as they are sent
	Edited bool            `json:"edited,omitzero"` // by whoever approved the call

	At       CallAt     `json:"at"`
	Tries    int        `json:"tries,omitzero"`   // how often it was sent, with answers to a round or without
	Sent     time.Time  `json:"sent,omitzero"`    // when it was sent last
	Reply    *run.Reply `json:"answer,omitempty"` // of a person, to its approval or doubt
	Approved *Decision  `json:"approved,omitempty"`

	Round   json.RawMessage            `json:"round,omitzero"`    // an mcp.InputRequired
	Replies map[string]json.RawMessage `json:"answers,omitempty"` // to the round, by its keys; of a parked call, by the keys of its questions
	Reviews map[string]Review          `json:"reviews,omitempty"` // of sampling requests of the round, by its keys
	Task    *Task                      `json:"task,omitempty"`
	Child   *State                     `json:"child,omitempty"` // the run of another agent

	Result *run.Part `json:"result,omitempty"` // once it is done
	Stop   *string   `json:"stop,omitempty"`   // the answer with which the run ends after this turn

	Unknown jsontext.Value `json:",embed"`
}

// Decision is what was decided on a call.
type Decision struct {
	Allow     bool            `json:"allow"`
	Reason    string          `json:"reason,omitzero"`    // of a denial, told to the model
	Arguments json.RawMessage `json:"arguments,omitzero"` // instead of the model's
	Scope     string          `json:"scope,omitzero"`     // for which later calls it holds: "", run.ScopeArguments, ScopeTool or ScopeServer
	By        string          `json:"by,omitzero"`        // who decided
	When      time.Time       `json:"when,omitzero"`

	Unknown jsontext.Value `json:",embed"`
}

// Review is what a person has said of a sampling request.
type Review struct {
	Reply    run.Reply                `json:"answer"`
	Sampling *mcp.CreateMessageParams `json:"sampling,omitempty"` // that was allowed
	Model    string                   `json:"model,omitzero"`
}

// Task is a call that a server continues by itself.
type Task struct {
	ID      string    `json:"id"`               // a secret of the server
	Expires time.Time `json:"expires,omitzero"` // when the server may forget it

	Unknown jsontext.Value `json:",embed"`
}
