package suite

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Expect specifies what counts as done. Each field except Gates has a grader with a score from 0 to 1,
// and Calls has two.
type Expect struct {
	Status    string          `json:"status,omitempty" enum:"done,failed,waiting,cancelled" jsonschema:"of the run, by default done"`
	Answer    *Answer         `json:"answer,omitempty" jsonschema:"grader answer"`
	State     []State         `json:"state,omitempty" jsonschema:"grader state: what the servers have at the end"`
	Effects   map[string]int  `json:"effects,omitempty" jsonschema:"grader effects: how often tools that change something had their effect, by server.tool, and none other"`
	Calls     []Call          `json:"calls,omitempty" jsonschema:"graders calls and arguments: the calls of a good run"`
	Forbidden []string        `json:"forbidden,omitempty" jsonschema:"grader forbidden: tools that must not be reached, by server.tool; * stands for any text"`
	Budget    *Budget         `json:"budget,omitempty" jsonschema:"grader budget"`
	Schema    json.RawMessage `json:"schema,omitempty" jsonschema:"grader schema: the schema of an answer in JSON"`
	Gates     []string        `json:"gates,omitempty" jsonschema:"the graders that must be 1 for the trial to pass, besides status; by default answer, state, effects, forbidden and schema"`
}

// Answer describes the answer. Each field that is set makes claims.
type Answer struct {
	Exact     *string  `json:"exact,omitempty" jsonschema:"the whole answer, without the white space around it"`
	Regex     []string `json:"regex,omitempty" jsonschema:"regular expressions, each of which the answer matches"`
	Contains  []string `json:"contains,omitempty" jsonschema:"whole words or phrases, in any case"`
	Lacks     []string `json:"lacks,omitempty" jsonschema:"texts that must not occur, in any case, not even within a word"`
	Number    *float64 `json:"number,omitempty" jsonschema:"the last number of the answer"`
	Tolerance float64  `json:"tolerance,omitempty" minimum:"0"`
	Set       []string `json:"set,omitempty" jsonschema:"the lines or comma-separated words of the answer, in any order"`
	JSON      []Member `json:"json,omitempty" jsonschema:"members of an answer that is JSON"`
}

// Member is a claim about a part of JSON.
type Member struct {
	Pointer string          `json:"pointer" jsonschema:"RFC 6901"`
	Equals  json.RawMessage `json:"equals"`
}

// State is a claim about the state of a server: a file of the trial, or a JSON pointer into it.
type State struct {
	File    string          `json:"file" jsonschema:"below the directory of the trial"`
	Absent  bool            `json:"absent,omitempty"`
	Text    *string         `json:"text,omitempty" jsonschema:"the whole content"`
	Match   string          `json:"match,omitempty" jsonschema:"a regular expression for the content"`
	Pointer *string         `json:"pointer,omitempty" jsonschema:"RFC 6901, into a file of JSON"`
	Equals  json.RawMessage `json:"equals,omitempty" jsonschema:"the JSON there"`
}

// Budget bounds a good run.
type Budget struct {
	Turns  int   `json:"turns,omitempty" minimum:"0"`
	Calls  int   `json:"calls,omitempty" minimum:"0"`
	Tokens int64 `json:"tokens,omitempty" minimum:"0"`
}

// graders are the names of all graders.
var graders = []string{"status", "answer", "state", "effects", "calls", "arguments", "forbidden", "budget", "schema"}

// gates are the graders that decide by default.
var gates = []string{"answer", "state", "effects", "forbidden", "schema"}

// Gate reports whether a trial fails if the grader scores below 1.
func (e *Expect) Gate(grader string) bool {
	if grader == "status" {
		return true
	}
	if len(e.Gates) > 0 {
		return slices.Contains(e.Gates, grader)
	}
	return slices.Contains(gates, grader)
}

// check returns an error for a claim that says nothing and so always holds.
func (a *Answer) check() error {
	if a.Exact == nil && len(a.Regex)+len(a.Contains)+len(a.Lacks)+len(a.Set)+len(a.JSON) == 0 && a.Number == nil {
		return errors.New("answer: nothing is claimed")
	}
	if a.Tolerance != 0 && a.Number == nil {
		return errors.New("answer: tolerance is for number, which is missing")
	}
	for _, text := range slices.Concat(a.Regex, a.Contains, a.Lacks) {
		if strings.TrimSpace(text) == "" {
			return errors.New("answer: a text is empty")
		}
	}
	for _, m := range a.JSON {
		if len(m.Equals) == 0 {
			return fmt.Errorf("answer: %q has no value to equal", m.Pointer)
		}
	}
	for _, pattern := range a.Regex {
		if _, err := regexp.Compile(pattern); err != nil {
			return fmt.Errorf("answer: regex: %w", err)
		}
	}
	return nil
}

// check returns an error for a claim about nothing, or one that can never hold.
func (s *State) check() error {
	switch {
	case s.File == "" || !filepath.IsLocal(s.File):
		return fmt.Errorf("state: %q is not a file below the directory of the trial", s.File)
	case (s.Pointer == nil) != (len(s.Equals) == 0):
		return fmt.Errorf("state %s: pointer and equals go together; text and match are for a file of any kind", s.File)
	case s.Absent && (s.Text != nil || s.Match != "" || s.Pointer != nil):
		return fmt.Errorf("state %s: absent goes without text, match and pointer", s.File)
	}
	if _, err := regexp.Compile(s.Match); err != nil {
		return fmt.Errorf("state %s: match: %w", s.File, err)
	}
	return nil
}

// check returns the first mistake in the expectations.
func (e *Expect) check() error {
	for _, g := range e.Gates {
		if !slices.Contains(graders, g) {
			return fmt.Errorf("there is no grader %q", g)
		}
	}
	if e.Budget != nil && *e.Budget == (Budget{}) {
		return errors.New("budget: nothing is bounded")
	}
	if e.Answer != nil {
		if err := e.Answer.check(); err != nil {
			return err
		}
	}
	for _, s := range e.State {
		if err := s.check(); err != nil {
			return err
		}
	}
	return nil
}
