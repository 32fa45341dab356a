// Package results has the results of trials: lines of JSON in a file, and the scores of a suite.
//
// A file gets a line for each trial when the trial has ended. A program that is started again skips trials that have a
// line, unless it is void.
package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Mode specifies where the replies of the model came from. Scores of different modes cannot be compared, so no table
// mixes them.
type Mode string

// The modes.
const (
	Scripted Mode = "scripted" // replies from the suite, for tests of the agent and its servers
	Recorded Mode = "recorded" // replies from a cassette
	Live     Mode = "live"     // replies from an endpoint
	Demo     Mode = "demo"     // replies from the demo model, which follows fixed rules
)

// Outcome is the outcome of a trial.
type Outcome string

// The outcomes. A void trial says nothing about the agent.
const (
	Pass Outcome = "pass"
	Fail Outcome = "fail"
	Void Outcome = "void"
)

// Score is the score of a grader.
type Score struct {
	Grader string  `json:"grader"`
	Value  float64 `json:"value"` // score from 0 to 1
	Gate   bool    `json:"gate,omitempty"`
	Why    string  `json:"why,omitempty"`
}

// Version specifies what ran: a version of a suite, with a model, by a version of the program.
type Version struct {
	Suite     string `json:"suite"`
	SuiteHash string `json:"suite_hash"`
	Mode      Mode   `json:"mode"`
	Model     string `json:"model"`
	Config    string `json:"config"`  // hash of the model and its settings
	Program   string `json:"program"` // hash of the program that ran the trial
}

// Line is the result of a trial.
type Line struct {
	Version
	Task  string    `json:"task"`
	Trial int       `json:"trial"` // starts at 0
	Date  time.Time `json:"date"`

	Outcome  Outcome          `json:"outcome"`
	Cause    string           `json:"cause,omitempty"`  // cause of a void trial: harness or infra
	Reason   string           `json:"reason,omitempty"` // reason why a trial did not pass
	Scores   []Score          `json:"scores,omitempty"`
	Turns    int              `json:"turns"`
	Calls    int              `json:"calls"`
	Tokens   int64            `json:"tokens"`
	Reported bool             `json:"tokens_reported"`  // the model's provider has counted the tokens
	Cost     map[string]int64 `json:"cost,omitempty"`   // micro-units by currency; absent without prices
	Prices   string           `json:"prices,omitempty"` // their date

	Duration   time.Duration `json:"duration_ns"`
	Transcript []Entry       `json:"transcript,omitempty"`
}

// Entry is an entry of a transcript.
type Entry struct {
	Who   string `json:"who"` // a role, or the label of a server
	Kind  string `json:"kind"`
	Name  string `json:"name,omitempty"` // name of a tool
	Text  string `json:"text,omitempty"`
	Error bool   `json:"error,omitempty"`
}

// Key identifies a trial in a file: of a task in a version of its suite, with a model, by a version of the program.
type Key struct {
	SuiteHash, Task string
	Trial           int
	Config, Program string
}

// Key returns the key of the trial.
func (l *Line) Key() Key { return Key{l.SuiteHash, l.Task, l.Trial, l.Config, l.Program} }

// Parse parses lines of JSON. The error names the number of a line that is not a result.
func Parse(data []byte) (lines []*Line, err error) {
	n := 0
	for text := range bytes.Lines(data) {
		n++
		l := &Line{}
		if err := json.Unmarshal(text, l); err != nil {
			return nil, fmt.Errorf("line %d is not a result of a trial: %w", n, err)
		}
		if l.Suite == "" || !slices.Contains([]Outcome{Pass, Fail, Void}, l.Outcome) {
			return nil, fmt.Errorf("line %d is not a result of a trial", n)
		}
		lines = append(lines, l)
	}
	return lines, nil
}
