// Package suite describes the tasks of an agent, and the conditions under which a task counts as done.
//
// A suite is YAML, see [Parse], or a Go value. It has servers and tasks; each trial of a task
// has servers and a directory of its own.
package suite

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// Suite is a set of tasks.
type Suite struct {
	Name    string             `json:"name" jsonschema:"names the suite in results"`
	About   string             `json:"about,omitempty"`
	Servers map[string]*Server `json:"servers,omitempty" jsonschema:"the servers by the labels that the agent knows them by"`
	Tasks   []*Task            `json:"tasks"`

	// Folder has the programs of servers whose path begins with ./ or ../. Default: the directory of the trial.
	Folder string `json:"-"`
}

// Server is a server of each trial. Exactly one of InProcess, Command, URL and Dial says how to
// reach it. A process runs in the directory of the trial, which is ${DIR} in Command and Env. A
// word of Command that begins with ./ or ../ is relative to the folder of the suite.
type Server struct {
	InProcess string                     `json:"inprocess,omitempty" enum:"files,people,bank,many,stub" jsonschema:"a server of package world"`
	Command   []string                   `json:"command,omitempty" jsonschema:"a program and its arguments; what begins with ./ or ../ is a path from the folder of the suite"`
	Env       map[string]string          `json:"env,omitempty"`
	URL       string                     `json:"url,omitempty" jsonschema:"of a server over HTTP, which the trials share"`
	Seed      map[string]json.RawMessage `json:"seed,omitempty" jsonschema:"what the server has at the beginning"`
	Era       string                     `json:"era,omitempty" enum:"legacy,modern"`
	Tools     int                        `json:"tools,omitempty" minimum:"0" jsonschema:"how many tools the server many has"`
	Faults    []Fault                    `json:"faults,omitempty"`

	// Dial connects to a server of the program, for suites that are Go values. dir is the
	// directory of the trial, and close ends the server afterwards.
	Dial func(ctx context.Context, dir string) (t mcpclient.Transport, close func() error, err error) `json:"-"`

	// As has further settings of the server that Dial connects: which tools it offers, its revision, its policy.
	As adapter.Server `json:"-"`
}

// Fault is a fault of a tool of an in-process server.
type Fault struct {
	Tool string `json:"tool" jsonschema:"the tool's name, * for all"`
	Kind string `json:"kind" enum:"fail,error,slow,huge,inject,change,remove" jsonschema:"fail: the result is a failure; error: the request is refused; slow: the result comes late; huge: the result is long; inject: the result has Text at its end; change, remove: the tool has another schema or is gone after the call"`

	Times  int    `json:"times,omitempty" minimum:"0" jsonschema:"how many calls have the fault, from the first; by default all"`
	Millis int    `json:"millis,omitempty" minimum:"0" jsonschema:"how late a slow result comes"`
	Bytes  int    `json:"bytes,omitempty" minimum:"0" jsonschema:"how long a huge result is"`
	Text   string `json:"text,omitempty" jsonschema:"of the failure, or what is injected"`
}

// Task is one thing to do.
type Task struct {
	ID    string `json:"id"`
	About string `json:"about,omitempty"`

	Servers []string `json:"servers,omitzero" jsonschema:"labels of the servers that the agent has; by default all, [] for none"`
	Allow   []string `json:"allow,omitempty" jsonschema:"tools that are offered, by default all; * stands for any text"`
	Deny    []string `json:"deny,omitempty"`

	System string   `json:"system,omitempty"`
	Prompt string   `json:"prompt"`
	Turns  []string `json:"turns,omitempty" jsonschema:"what the person says after each answer"`

	Limits Limits `json:"limits,omitzero"`
	People People `json:"people,omitzero"`

	Script []Step `json:"script,omitempty" jsonschema:"what the scripted model does"`
	Expect Expect `json:"expect"`
}

// Limits bound a trial.
type Limits struct {
	Turns    int `json:"turns,omitempty"`
	Calls    int `json:"calls,omitempty"`
	Failures int `json:"failures,omitempty"`
	Result   int `json:"result,omitempty" jsonschema:"bytes of one result"`
	Millis   int `json:"millis,omitempty" jsonschema:"of one call of a tool; by default only the trial is bounded"`
	Seconds  int `json:"seconds,omitempty" minimum:"0" jsonschema:"of the trial; by default 60, of a live model 600"`
}

// People specifies what people answer. The first matching entry counts.
type People struct {
	Approve  []Approval `json:"approve,omitempty" jsonschema:"who approves calls; without it all calls are allowed"`
	Forms    []Form     `json:"forms,omitempty"`
	URLs     []Form     `json:"urls,omitempty"`
	Sampling []Sampled  `json:"sampling,omitempty" jsonschema:"what the model says if a server asks it"`
}

// Approval is a decision on calls.
type Approval struct {
	Tool      string          `json:"tool" jsonschema:"as the model knows it; * stands for any text"`
	Allow     bool            `json:"allow"`
	Reason    string          `json:"reason,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty" jsonschema:"instead of the model's"`
}

// Form is an answer to a question of a server.
type Form struct {
	Message string         `json:"message,omitempty" jsonschema:"a part of the question"`
	Action  string         `json:"action" enum:"accept,decline,cancel"`
	Content map[string]any `json:"content,omitempty"`
}

// Sampled is a completion for a server.
type Sampled struct {
	Message string `json:"message,omitempty" jsonschema:"a part of the request"`
	Text    string `json:"text,omitempty"`
	Refuse  bool   `json:"refuse,omitempty"`
}

// Step is a reply of the scripted model: calls, or text.
type Step struct {
	Sees  []string `json:"sees,omitempty" jsonschema:"what must be in the messages since the step before; otherwise the model fails"`
	Calls []Call   `json:"calls,omitempty"`
	Say   string   `json:"say,omitempty"`
}

// Call is a call of a tool.
type Call struct {
	Tool string          `json:"tool" jsonschema:"as the model knows it"`
	Args json.RawMessage `json:"args,omitempty"`
}

// Hash identifies the content of the suite, except for servers that are Go values.
func (s *Suite) Hash() string { return Hash(s) }

// Hash identifies a value by its JSON, which it must have.
func Hash(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:6])
}

// Check returns an error for an invalid suite.
func (s *Suite) Check() error {
	if s.Name == "" || len(s.Tasks) == 0 {
		return &placeError{"", errors.New("a suite has a name and at least one task")}
	}
	if _, err := json.Marshal(s); err != nil {
		return err
	}
	for _, label := range slices.Sorted(maps.Keys(s.Servers)) {
		if server := s.Servers[label]; server == nil || server.ways() != 1 {
			return &placeError{"/servers/" + pointerToken(label), fmt.Errorf("server %q: want one of inprocess, command and url", label)}
		}
	}
	seen := map[string]bool{}
	for i, t := range s.Tasks {
		place := fmt.Sprintf("/tasks/%d", i)
		switch {
		case t.ID == "":
			return &placeError{place, fmt.Errorf("tasks[%d] has no id", i)}
		case seen[t.ID]:
			return &placeError{place, fmt.Errorf("task %q: the id is used twice; each task needs its own", t.ID)}
		}
		seen[t.ID] = true
		if err := s.checkTask(t); err != nil {
			return &placeError{place, fmt.Errorf("task %q: %w", t.ID, err)}
		}
	}
	return nil
}

// placeError is the error of the value at a JSON pointer.
type placeError struct {
	pointer string
	error
}

func (e *placeError) Unwrap() error { return e.error }

func (s *Server) ways() (n int) {
	for _, has := range []bool{s.InProcess != "", len(s.Command) > 0, s.URL != "", s.Dial != nil} {
		if has {
			n++
		}
	}
	return n
}

// checkTask returns the first mistake in a task.
func (s *Suite) checkTask(t *Task) error {
	labels := t.Servers
	for _, label := range labels {
		if s.Servers[label] == nil && len(s.Servers) > 0 { // without any, the host has its own
			return fmt.Errorf("there is no server %q", label)
		}
	}
	if t.Prompt == "" {
		return errors.New("there is no prompt")
	}
	for _, a := range t.People.Approve {
		if _, err := path.Match(a.Tool, ""); err != nil {
			return fmt.Errorf("approve %q: %w", a.Tool, err)
		}
	}
	if labels == nil { // all
		labels = slices.Sorted(maps.Keys(s.Servers))
	}
	if err := s.checkLedger(&t.Expect, labels); err != nil {
		return err
	}
	return t.Expect.check()
}

// checkLedger refuses claims that need the ledger of servers that have none, and invalid patterns.
func (s *Suite) checkLedger(e *Expect, labels []string) error {
	for _, label := range labels {
		if server := s.Servers[label]; server == nil || server.InProcess != "" {
			continue
		}
		if e.Effects != nil {
			return fmt.Errorf("effects: only servers in process count them, and server %q does not run in process: use state or calls", label)
		}
		for _, pattern := range e.Forbidden {
			of, _, _ := strings.Cut(pattern, ".")
			if reaches, err := path.Match(of, label); reaches || err != nil {
				return fmt.Errorf("forbidden %q: only servers in process record the calls that reach them, and server %q does not run in process: use deny of the task", pattern, label)
			}
		}
	}
	for _, pattern := range e.Forbidden {
		if _, err := path.Match(pattern, ""); err != nil {
			return fmt.Errorf("forbidden %q: %w", pattern, err)
		}
	}
	return nil
}
