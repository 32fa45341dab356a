package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpchain/mcpchain/agent/run"
)

// Version is the version of the JSON of states and records. A reader accepts every version up to its own.
const Version = 1

// MaxDepth bounds how deep sub-agents may be nested in a run.
const MaxDepth = 32

// Phase is the next step of a running run.
type Phase string

// A turn is one model call and the tool calls that the reply asks for.
const (
	PhaseModel Phase = "model"
	PhaseCalls Phase = "calls"
)

// State is the state of a run: the fold of its records, with which it shares memory. Only
// [Apply] may change it. Goroutines may read it concurrently while no record is applied.
type State struct {
	V        int       `json:"v"`
	ID       string    `json:"id"`
	Tenant   string    `json:"tenant,omitzero"`
	Agent    AgentName `json:"agent,omitzero"`
	Seq      uint64    `json:"seq"`               // number of the last record
	Snapshot uint64    `json:"snapshot,omitzero"` // number of the last snapshot, 0 if there is none
	Created  time.Time `json:"created,omitzero"`
	Updated  time.Time `json:"updated,omitzero"`

	Status run.Status `json:"status"`
	Phase  Phase      `json:"phase,omitzero"`
	Turn   int        `json:"turn,omitzero"`  // starts at 1 with each input
	Wake   time.Time  `json:"wake,omitzero"`  // when a waiting run continues without a reply
	Final  string     `json:"final,omitzero"` // the limit that forces an answer without tools

	History   []run.Message     `json:"history,omitempty"`
	Archived  int               `json:"archived,omitzero"`  // messages that compaction has removed
	Model     *Request          `json:"model,omitempty"`    // the current model call
	Last      LastCall          `json:"last,omitempty"`     // the previous model call
	Sampling  map[string]Amount `json:"sampling,omitempty"` // reservations for current completions, by their keys
	Calls     []*Call           `json:"calls,omitempty"`    // calls of the current turn
	Questions []*run.Question   `json:"asks,omitempty"`     // open questions

	Discovery Discovery     `json:"discovery,omitzero"` // how the model finds tools
	Directory string        `json:"directory,omitzero"` // the overview of tools that the model gets, with Discovery
	Offered   []OfferedTool `json:"offered,omitempty"`  // tools that were added for the model, in order

	Limits   run.Limits `json:"limits,omitempty"`
	Spent    run.Usage  `json:"spent,omitempty"`   // usage of all inputs
	Before   run.Usage  `json:"before,omitempty"`  // the part of Spent that earlier inputs used
	Failures int        `json:"failures,omitzero"` // consecutive turns in which every call failed
	Repairs  int        `json:"repairs,omitzero"`  // attempts to correct the structured output

	// Kept lists the results that are stored beside the records, in the order of their calls.
	Kept []*run.Kept `json:"kept,omitempty"`

	Schema     json.RawMessage `json:"schema,omitzero"` // schema of the structured output, if one is wanted
	Output     string          `json:"answer,omitzero"` // the text of the last message
	Structured json.RawMessage `json:"output,omitzero"`
	Stop       string          `json:"stop,omitzero"`   // why the run ended, see agent.Result.StopReason
	Finish     string          `json:"finish,omitzero"` // the provider's reason for the end of the last message
	Error      string          `json:"error,omitzero"`  // error of a failed run

	// Endpoint is the API of the model's host that sent the first reply that names one. The run
	// stays with it, because the form of reasoning differs between APIs.
	Endpoint string `json:"endpoint,omitzero"`

	// Takeovers counts the consecutive processes that took over the run and died without
	// progress: an input, a reply of the model, a result, a question of a server, or a reply to one.
	Takeovers int `json:"takeovers,omitzero"`

	Vars  map[string]json.RawMessage `json:"vars,omitempty"`  // variables of the host's hooks
	Trace map[string]string          `json:"trace,omitempty"` // trace context of the last span, to link to

	Unknown jsontext.Value `json:",embed"` // members of a later version

	lastChanged int // index in Calls of the call that was changed last
}

// AgentName identifies the agent to which a run belongs.
type AgentName struct {
	Name string `json:"name,omitzero"`
	Rev  string `json:"rev,omitzero"` // revision of its instructions; only in old records

	Unknown jsontext.Value `json:",embed"`
}

// Request is the current model call.
type Request struct {
	Attempt  int    `json:"attempt"`            // starts at 1; each lost reply adds one
	Reserved Amount `json:"reserved,omitempty"` // the most that it may use, if the run has such limits

	Unknown jsontext.Value `json:",embed"`
}

// LastCall describes the last model call whose tokens are known. Limits and compaction estimate
// the size of the next call from it.
type LastCall struct {
	Input     int64 `json:"input,omitzero"` // tokens
	Output    int64 `json:"output,omitzero"`
	Reasoning int64 `json:"reasoning,omitzero"` // part of Output
	Estimated bool  `json:"estimated,omitzero"` // the provider reported none

	Size     int64 `json:"size,omitzero"`     // bytes of text of the call, 0 if unknown
	Messages int   `json:"messages,omitzero"` // length of History including the reply, 0 after a compaction

	Unknown jsontext.Value `json:",embed"`
}

// Tokens returns the tokens of the call.
func (c LastCall) Tokens() int64 {
	return Amount{Tokens: c.Input}.plus(Amount{Tokens: c.Output}).Tokens
}

func (c LastCall) isNegative() bool {
	return min(c.Input, c.Output, c.Reasoning, c.Size, int64(c.Messages)) < 0
}

// Call returns the call of the current turn with that id, or nil.
func (s *State) Call(id string) *Call {
	for _, c := range s.Calls {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// callToChange is Call for a change. It begins at the call that was changed last, because the changes of a
// turn follow the order of its calls: with 64 of them, other searches take an eighth of the turn.
func (s *State) callToChange(id string) *Call {
	for n := range s.Calls {
		if i := (s.lastChanged + n) % len(s.Calls); s.Calls[i].ID == id {
			s.lastChanged = i
			return s.Calls[i]
		}
	}
	return nil
}

// Question returns the open question with that id, or nil.
func (s *State) Question(id string) *run.Question {
	for _, q := range s.Questions {
		if q.ID == id {
			return q
		}
	}
	return nil
}

// findQuestion returns an open question of the run or a sub-agent, or nil.
func (s *State) findQuestion(id string) *run.Question {
	if q := s.Question(id); q != nil {
		return q
	}
	for _, c := range s.Calls {
		if c.Child == nil {
			continue
		}
		if q := c.Child.findQuestion(id); q != nil {
			return q
		}
	}
	return nil
}

// checkVersion returns an error if this program cannot read version v.
func checkVersion(v int) error {
	switch {
	case v < 1:
		return errors.New("no version; is this the state of a run?")
	case v > Version:
		return fmt.Errorf("version %d, and this program reads versions up to %d; use a newer program", v, Version)
	}
	return nil
}

// drop removes the matching open questions. It modifies a copy of the slice, because callers may hold the slice.
func (s *State) drop(isMatch func(*run.Question) bool) {
	if slices.ContainsFunc(s.Questions, isMatch) {
		s.Questions = slices.DeleteFunc(slices.Clone(s.Questions), isMatch)
	}
}

// check refuses a state that no sequence of records produces. ids are the questions of the runs above.
func (s *State) check(ids map[string]bool) error {
	switch {
	case s.Status != run.StatusRunning && s.Status != run.StatusWaiting && !s.Status.Ended():
		return fmt.Errorf("run %q has the status %q", s.ID, s.Status)
	case hasNegative(s.Spent), hasNegative(s.Before), s.Last.isNegative(),
		min(s.Turn, s.Archived, s.Failures, s.Repairs) < 0:
		return fmt.Errorf("run %q has a count below 0", s.ID)
	case s.Phase == PhaseCalls && len(s.History) == 0:
		return fmt.Errorf("run %q has calls, and no message that asks for them", s.ID)
	case s.Model != nil && s.Model.Reserved.isNegative():
		return fmt.Errorf("run %q reserves less than nothing", s.ID)
	}
	for _, a := range s.Sampling {
		if a.isNegative() {
			return fmt.Errorf("run %q reserves less than nothing", s.ID)
		}
	}
	for _, q := range s.Questions {
		if q == nil || q.ID == "" || ids[q.ID] {
			return fmt.Errorf("run %q has a question without an id of its own", s.ID)
		}
		ids[q.ID] = true
	}
	names := make(map[string]bool, len(s.Offered))
	for i := range s.Offered {
		t := &s.Offered[i]
		if t.Tool == "" || t.Name == "" || names[t.Name] {
			return fmt.Errorf("run %q has an offered tool without a name of its own", s.ID)
		}
		names[t.Name] = true
	}
	return s.checkCalls(ids)
}

// checkCalls is the part of check for calls and the runs of sub-agents.
func (s *State) checkCalls(ids map[string]bool) error {
	known := make(map[string]bool, len(s.Calls))
	for _, c := range s.Calls {
		if c == nil || c.ID == "" || known[c.ID] {
			return fmt.Errorf("run %q has a call without an id of its own", s.ID)
		}
		if c.At == CallDone && c.Result == nil {
			return fmt.Errorf("run %q has a call %q that is done without a result", s.ID, c.ID)
		}
		known[c.ID] = true
		if c.Child != nil {
			if err := c.Child.check(ids); err != nil {
				return err
			}
		}
	}
	return nil
}

// Open returns the open questions of a run and its sub-agents. They belong to the state: do not modify them.
func Open(s *State) []*run.Question {
	questions := slices.Clone(s.Questions)
	for _, c := range s.Calls {
		if c.Child != nil {
			questions = append(questions, Open(c.Child)...)
		}
	}
	return questions
}

// DigestOf returns the digest of a result that is stored beside the records.
func DigestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// MaxBlob bounds a result that is stored beside the records of its run, in bytes.
const MaxBlob = 32 << 20

// CheckKept verifies the data that a store returned for a stored result.
func CheckKept(k *run.Kept, data []byte) error {
	if got := DigestOf(data); got != k.Digest {
		return fmt.Errorf("result %q has the digest %s and should have %s", k.Handle, got, k.Digest)
	}
	return nil
}
