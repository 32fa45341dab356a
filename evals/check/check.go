// Package check is what a check of this repository came to: a test of conformance, a measure of speed,
// a round of kills. A file of checks has one on each line, as JSON.
package check

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Outcome is what a check came to.
type Outcome string

// The outcomes. A measure has none.
const (
	Pass  Outcome = "pass"
	Fail  Outcome = "fail"
	Skip  Outcome = "skip"
	Error Outcome = "error" // it could not be told
)

// Check is one check.
type Check struct {
	Kind    string             `json:"kind"` // conformance, interop, bench, loop, chaos, agent or llama
	Name    string             `json:"name"`
	Subject string             `json:"subject,omitempty"` // of a measure: who was measured
	Outcome Outcome            `json:"outcome,omitempty"`
	Seconds float64            `json:"seconds,omitempty"`
	Values  map[string]float64 `json:"values,omitempty"`
	Text    string             `json:"text,omitempty"`   // of a failure
	Commit  string             `json:"commit,omitempty"` // what was checked; absent if it was not committed
}

// Parse reads a file of checks.
func Parse(data []byte) (all []*Check, err error) {
	for line := range bytes.Lines(data) {
		c := &Check{}
		if err := json.Unmarshal(line, c); err != nil {
			return nil, fmt.Errorf("line %d: %w", len(all)+1, err)
		}
		all = append(all, c)
	}
	return all, nil
}
